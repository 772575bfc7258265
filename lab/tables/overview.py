"""One table for newcomers: each thing that the library can do, with a metric and its control."""

from __future__ import annotations

from lab.tables.formatting import Results, rounded
from treeformers.drawing.markdown import markdown_table

HEAD = ("you want to", "on", "figure", "this library", "control")


def overview(results: Results) -> str:
    """The table of what the library can do. Rows without results are left out.

    Args:
        results: the results of all papers, by PAPER/ROW.
    """

    def mean(name: str, metric: str) -> str | None:
        row = results.get(name)
        return None if row is None else rounded(row, metric)

    inducer = results.get("wang2019/tree-l10-wsj-all", {})
    averaged = inducer.get("averaged_layers", {}).get("sentence_f1")
    right = inducer.get("baselines", {}).get("right", {}).get("sentence_f1")
    cells = [
        (
            "**induce** trees from raw text",
            "newswire",
            "sentence F1",
            None if averaged is None else f"{averaged:.1f}, five models averaged",
            None if right is None else f"{right:.1f}, right-branching trees",
        ),
        (
            "**parse**, trained on 3,396 trees",
            "newswire",
            "F1",
            _with_words(mean("ma2017/minilm", "f1_test"), "with a small pretrained encoder"),
            _with_words(mean("ma2017/modern", "f1_test"), "from scratch"),
        ),
        (
            "**classify** sentences by their trees",
            "SST-2",
            "accuracy",
            _with_words(mean("ahmed2019/sst-tree-lstm", "accuracy"), "Tree-LSTM"),
            _with_words(mean("ahmed2019/sst-transformer", "accuracy"), "Transformer without trees"),
        ),
        (
            "**compare** two sentences",
            "SICK, entailment",
            "accuracy",
            _with_words(mean("ahmed2019/sick-e-dtt", "accuracy"), "dependency tree attention"),
            _with_words(mean("encoders/sick-e-mean", "accuracy"), "mean of the same word embeddings"),
        ),
        (
            "**translate** from trees",
            "captions, English to German",
            "BLEU",
            _with_words(mean("nguyen2020/multi30k-en-de-tree", "bleu"), "with trees"),
            _with_words(mean("nguyen2020/multi30k-en-de-transformer", "bleu"), "without"),
        ),
    ]
    return markdown_table(HEAD, [row for row in cells if row[3] and row[4]], numbers=False)


def _with_words(value: str | None, words: str) -> str | None:
    return None if value is None else f"{value}, {words}"
