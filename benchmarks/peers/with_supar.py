"""SuPar's constituency parser with a CRF, with random weights: variant "lstm", or "bert" over BERT base.

The sizes are SuPar's defaults. Variant "lstm" is of the kind of its published `crf-con-en`. The published
`crf-con-roberta-en` reads RoBERTa large instead of BERT base.
"""

import logging
import random

import dill
import nltk
import torch
from supar import CRFConstituencyParser
from supar.utils.logging import logger

LABELS = 70
VECTORS = 400_000
"""Words with a GloVe vector."""

_load = torch.load
torch.load = lambda path, **rest: _load(path, **{"weights_only": False, "pickle_module": dill, **rest})
"""SuPar saves whole Python objects. PyTorch has refused to load them by default since version 2.6."""


def make(folder, variant, sentences, encoder):
    folder.mkdir(parents=True)
    chance = random.Random(1)
    torch.manual_seed(1)
    (folder / "trees.txt").write_text(
        "".join(f"(TOP {_tree(words, chance)})\n" for words in sentences), encoding="utf-8"
    )
    sizes = {"encoder": "bert", "bert": str(encoder), "feat": [], "embed": None, "lr": 5e-5}
    if variant == "lstm":
        names = [*sorted({word.lower() for words in sentences for word in words if word.lower() != "unk"})]
        names = ["unk", *names, *(f"word{number}" for number in range(VECTORS - len(names) - 1))]
        with (folder / "vectors.txt").open("w", encoding="utf-8") as file:
            for name, row in zip(names, torch.randn(VECTORS, 100).tolist(), strict=True):
                file.write(f"{name} {' '.join(f'{value:.3f}' for value in row)}\n")
        sizes = {"encoder": "lstm", "feat": ["char"], "bert": None, "embed": str(folder / "vectors.txt")}
    parser = CRFConstituencyParser.build(
        str(folder / "model"),
        train=str(folder / "trees.txt"),
        unk="unk",
        mbr=True,
        build=True,
        verbose=False,
        **sizes,
    )
    parser.save(str(folder / "model"))
    for name in ("trees.txt", "vectors.txt"):
        (folder / name).unlink(missing_ok=True)


def _tree(words, chance):
    """A random binary tree: SuPar reads its words and labels."""
    if len(words) == 1:
        return str(nltk.Tree("XX", [words[0].replace("(", "-LRB-").replace(")", "-RRB-")]))
    split = chance.randrange(1, len(words))
    label = f"L{chance.randrange(LABELS)}"
    return f"({label} {_tree(words[:split], chance)} {_tree(words[split:], chance)})"


def load(folder, variant):
    parser = CRFConstituencyParser.load(str(folder / "model"))
    logger.setLevel(logging.ERROR)

    def parse(sentences, batch_size):
        rows = [[(word, "XX") for word in row] for row in sentences]
        chunks = [[row] for row in rows] if batch_size == 1 else [rows]
        # SuPar counts the words of a batch, not its sentences.
        words = batch_size * sum(map(len, sentences)) // len(sentences)
        found = []
        for chunk in chunks:
            data = parser.predict(chunk, batch_size=words, verbose=False, prob=False)
            found += [tree.pformat(margin=10**9) for tree in data.trees]
        return found

    return parse
