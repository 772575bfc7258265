"""Our parser, greedy."""

from treeformers.tasks.parse.predictor import Parser


def load(folder, variant):
    parser = Parser.from_pretrained(folder, device="cpu")

    def parse(sentences, batch_size):
        return [str(tree) for tree in parser.parse(sentences, batch_size, beam=1)]

    return parse
