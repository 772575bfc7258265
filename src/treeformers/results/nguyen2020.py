"""The tables of Nguyen et al. 2020 beside ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from treeformers.results.tables import (
    Results,
    markdown_table,
    mean,
    millions,
    provenance,
    rounded,
    seed_count,
    tagged,
    value_or_none,
    welch,
    with_sd,
)


def table1(results: Results) -> str:
    """BLEU of translation, tree model and plain Transformer of the same sizes, steps and units."""
    cells = [
        (
            result["recipe"]["title"],
            seed_count(result),
            mean(result, "bleu_validation"),
            with_sd(result, "bleu"),
            millions(result["seeds"][0]["parameters"]),
            rounded(result, "sentences_per_second", 0),
        )
        for result in tagged(results, "1").values()
    ]
    head = ("", "models", "BLEU, validation", "BLEU, test", "parameters", "sentences a second")
    return markdown_table(head, cells)


def table2(results: Results) -> str:
    """Accuracy of classification beside the paper's, and how sure the distance to the tree model is."""
    shown = tagged(results, "2")
    reference = shown.get("sst-tree")
    cells = []
    for name, result in shown.items():
        published = result["recipe"]["published"]
        cells.append(
            (
                result["recipe"]["title"],
                value_or_none(published.get("accuracy")),
                value_or_none(published.get("coarse_accuracy")),
                seed_count(result),
                mean(result, "accuracy_validation"),
                with_sd(result, "accuracy"),
                with_sd(result, "coarse_accuracy"),
                None if name == "sst-tree" or reference is None else welch(result, reference, "accuracy"),
                millions(result["seeds"][0]["parameters"]),
            )
        )
    head = ("", "SST-5, paper", "SST-2, paper", "models", "SST-5, validation", "SST-5, test", "SST-2, test")
    return markdown_table((*head, "p, against the Tree Transformer (SST-5)", "parameters"), cells)


def table3(results: Results) -> str:
    """What the parts of the model bring, on SST-5."""
    shown = tagged(results, "3")
    reference = shown.get("sst-tree")
    cells = [
        (
            result["recipe"]["title"],
            value_or_none(result["recipe"]["published"].get("accuracy")),
            seed_count(result),
            mean(result, "accuracy_validation"),
            with_sd(result, "accuracy"),
            with_sd(result, "coarse_accuracy"),
            None if name == "sst-tree" or reference is None else welch(result, reference, "accuracy"),
        )
        for name, result in shown.items()
    ]
    head = ("", "SST-5, paper", "models", "SST-5, validation", "SST-5, test", "SST-2, test")
    return markdown_table((*head, "p, against the whole model (SST-5)"), cells)


def table4(results: Results) -> str:
    """How much of the cross-attention lies on nodes, beside how many of the places are nodes."""
    cells = [
        (
            result["recipe"]["title"],
            seed_count(result),
            with_sd(result, "attention_on_nodes"),
            mean(result, "nodes_share"),
        )
        for result in tagged(results, "1").values()
        if mean(result, "attention_on_nodes") is not None
    ]
    return markdown_table(("", "models", "attention on nodes, %", "nodes among nodes and leaves, %"), cells)


PARTS: Mapping[str, Callable[[Results], str]] = {
    part.__name__: part for part in (table1, table2, table3, table4, provenance)
}
