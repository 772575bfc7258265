"""The first part of the demonstration: the English parser on real sentences, beside their gold trees."""

from __future__ import annotations

from pathlib import Path

from treeformers.data.open_english import load_open_english
from treeformers.drawing import report, score_table, trees_beside_gold
from treeformers.metrics import ParsevalScore, parseval
from treeformers.tasks.parse.predictor import Parser
from treeformers.tasks.parse.score import parse_gold
from treeformers.trees.files import atomic_write

__all__ = ["SENTENCES", "score_open_english"]

SENTENCES = (
    "The old man the boats.",
    "Could you send me the slides before the meeting starts?",
    "She sold the house and he bought the boat that nobody had wanted.",
    "Mutations in this gene reduce the binding of insulin to its receptor.",
)
"""Our own sentences: a garden path, a question, coordination, biomedical text."""

NUM_TREES = 6  # trees of each corpus that the report draws
READABLE = range(5, 17)  # lengths of the sentences to draw, in words


def score_open_english(parser: Parser, path: Path) -> dict[str, ParsevalScore]:
    """Parse the embedded test set, score each corpus, and draw some trees beside gold.

    Args:
        parser: the parser.
        path: the HTML report to write.

    Raises:
        OSError: the report cannot be written.
    """
    scores, pairs = {}, []
    for name, gold in load_open_english().items():
        trees = parse_gold(parser, gold)
        scores[name] = parseval(gold, trees, missing="zero")
        readable = [pair for pair in zip(trees, gold, strict=True) if len(pair[1]) in READABLE]
        pairs += readable[:NUM_TREES]
    rows = [(name, score.f1, score.exact_match, score.sentences) for name, score in scores.items()]
    signature = next(iter(scores.values())).signature
    page = report(
        "English, parsed",
        [
            ("Scores", score_table(["corpus", "F1", "exact match", "sentences"], rows, signature)),
            ("Parsed trees beside gold", trees_beside_gold(pairs, ("parsed", "gold"))),
        ],
        "The parser read a hundred sentences that did not train it: fifty of many genres (masc) "
        "and fifty of biomedical articles (craft).",
    )
    with atomic_write(path) as file:
        file.write(page)
    return scores
