"""Data: grammars to sample from, corpora by name or path, and text for masked-word training."""
