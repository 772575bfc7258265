"""The five tasks: how each trains, predicts and is scored."""
