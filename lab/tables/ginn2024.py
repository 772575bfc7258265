"""The tables of Ginn 2024 beside ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from statistics import fmean

from lab.tables.formatting import (
    Result,
    Results,
    look_files,
    mean,
    millions,
    pictures,
    provenance,
    seed_count,
    tagged,
    value_or_none,
    with_sd,
)
from treeformers.drawing import tree_svg
from treeformers.drawing.markdown import markdown_table
from treeformers.drawing.probes import probe_tables
from treeformers.metrics.statistics import permutation_test
from treeformers.trees.tree import Tree

SETTINGS: Mapping[str, str] = {"agreement-id": "ID", "agreement-gen": "GEN", "agreement-rec-gen": "REC-GEN"}
"""Test sets, and what the paper calls them."""
ARMS: Mapping[str, str] = {
    "bert": "BERT",
    "treebert": "TreeBERT",
    "treebert-inside": "TreeBERT as released",
    "bert-pretrained": "BERT (pretrained)",
    "treebert-pretrained": "TreeBERT (pretrained)",
}
"""How the names of recipes end, and what Table 11 calls them.

The paper's figures of "TreeBERT" are those of the released model, whose prior stands inside the softmax.
"""
COMPARISONS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("TreeBERT - BERT", ("treebert",), ("bert",)),
    ("TreeBERT as released - BERT", ("treebert-inside",), ("bert",)),
    ("TreeBERT - BERT, pretrained", ("treebert-pretrained",), ("bert-pretrained",)),
    ("TreeBERT - BERT, both", ("treebert", "treebert-pretrained"), ("bert", "bert-pretrained")),
    ("BERT, pretrained - from scratch", ("bert-pretrained",), ("bert",)),
    ("TreeBERT, pretrained - from scratch", ("treebert-pretrained",), ("treebert",)),
)
"""What is compared: a name, and the arms whose F1 is subtracted from one another, seed by seed."""
SCORES = ("precision", "recall", "f1")


def table11(results: Results) -> str:
    """Precision, recall and F1 of every arm on every test set, the paper's beside ours."""
    cells = []
    for setting, name in SETTINGS.items():
        for arm, result in _arms(results, setting).items():
            published = [
                value_or_none(result["row"]["published"].get(f"{setting}_{figure}")) for figure in SCORES
            ]
            ours = [with_sd(result, f"{setting}_{figure}") for figure in SCORES]
            cells.append((name, ARMS[arm], " / ".join(value or "-" for value in published), *ours))
            cells[-1] += (with_sd(result, "validation_f1"), seed_count(result))
    head = ("", "", "paper: P / R / F1", "P", "R", "F1", "F1, validation", "")
    return markdown_table(head, cells)


def comparisons(results: Results) -> str:
    """Differences of F1, with the p-value of a paired permutation test over the seeds."""
    cells = []
    for setting, name in SETTINGS.items():
        arms = _arms(results, setting)
        for title, first, second in COMPARISONS:
            if not {*first, *second} <= set(arms) or not _alike(arms, (*first, *second), title):
                continue
            ours, theirs = (_by_seed(arms, group, setting) for group in (first, second))
            shared = sorted(ours.keys() & theirs.keys())
            if not shared:
                continue
            pairs = [ours[key] for key in shared], [theirs[key] for key in shared]
            cells.append(
                (
                    name,
                    title,
                    _signed(_published(arms, first, setting), _published(arms, second, setting)),
                    _signed(*(math.fsum(values) / len(values) for values in pairs)),
                    _p_value(permutation_test(*pairs)),
                    f"{len(shared)} pairs",
                )
            )
    return markdown_table(("", "", "paper", "here", "p", ""), cells)


def depths(results: Results) -> str:
    """Accuracy by the depth of the sentence, means over the seeds."""
    tables = []
    for setting, name in SETTINGS.items():
        found = {
            arm: [seed["by_group"][setting] for seed in result["seeds"]]
            for arm, result in _arms(results, setting).items()
            if all(setting in seed.get("by_group", {}) for seed in result["seeds"])
        }
        if not found:
            continue
        groups = sorted({group for seeds in found.values() for seed in seeds for group in seed}, key=_number)
        cells = [
            (ARMS[arm], *(math.fsum(seed[group] for seed in seeds) / len(seeds) for group in groups))
            for arm, seeds in found.items()
        ]
        tables.append(f"**{name}**\n\n{markdown_table(('depth', *groups), cells)}")
    return "\n\n".join(tables)


def pretraining(results: Results) -> str:
    """Perplexity of masked words on held-out text, and sizes."""
    cells = [
        (
            row["recipe"]["title"],
            f"{math.exp(loss):.1f}" if (loss := mean(row, "loss")) is not None else None,
            millions(row["seeds"][0]["parameters"]),
        )
        for row in tagged(results, "pretraining").values()
    ]
    return markdown_table(("", "perplexity of masked tokens", "parameters"), cells)


def ways(results: Results) -> str:
    """F1 and pseudo-perplexity of the switches that answer the paper's objections."""
    cells = [
        (
            row["recipe"]["title"],
            with_sd(row, "sentence_f1"),
            *(
                f"{fmean(seed['by_decoding'][name] for seed in row['seeds']):.1f}"
                for name in ("cky", "algorithm1")
            ),
            with_sd(row, "pseudo_perplexity"),
            seed_count(row),
        )
        for row in tagged(results, "ways").values()
    ]
    return markdown_table(("", "F1", "F1, without bias", "F1, Algorithm 1", "pseudo-perplexity", ""), cells)


def probes(results: Results) -> str:
    """What every probe reads of every system."""
    parts = []
    for row in tagged(results, "probes").values():
        tables = probe_tables(row["report"], detail=False)
        for number, table in enumerate(tables):
            if number == 0 or table.title != tables[number - 1].title:
                parts.append(f"**{table.title}**")
            parts.append(markdown_table(table.columns, table.rows))
            if all(table.caption != other.caption for other in tables[number + 1 :]):
                parts.append(table.caption)
        for name, system in row["report"]["systems"].items():
            parts += [f"{name}: {note}" for note in system["notes"]]
    return "\n\n".join(parts)


def figure5(results: Results) -> str:
    """The tree that the pretrained model finds for a sentence."""
    return pictures((seen["title"], file) for file, seen in look_files(results, "figure5", "tree"))


def figure5_plots(results: Results) -> dict[str, str]:
    """The tree of `figure5`: file name to SVG."""
    return {
        file: tree_svg(Tree.from_brackets(seen["tree"]))
        for file, seen in look_files(results, "figure5", "tree")
    }


FIGURES: Mapping[str, Callable[[Results], Mapping[str, str]]] = {"figure5": figure5_plots}
PARTS: Mapping[str, Callable[[Results], str]] = {
    part.__name__: part
    for part in (table11, comparisons, depths, pretraining, ways, probes, figure5, provenance)
}


def _arms(results: Results, setting: str) -> dict[str, Result]:
    """The rows that were scored on a test set, by arm."""
    rows = tagged(results, "11")
    return {
        arm: row
        for arm in ARMS
        for name, row in rows.items()
        if name.endswith(f"-{arm}") and mean(row, f"{setting}_f1") is not None
    }


def _alike(arms: Mapping[str, Result], group: Iterable[str], title: str) -> bool:
    """Whether what is compared with pretraining reads the same pieces of words."""
    if "from scratch" not in title:
        return True
    return len({bool(arms[arm]["recipe"]["data"]["base"]) for arm in group}) == 1


def _by_seed(arms: Mapping[str, Result], group: Iterable[str], setting: str) -> dict[tuple[int, int], float]:
    return {
        (place, seed["seed"]): seed[f"{setting}_f1"]
        for place, arm in enumerate(group)
        for seed in arms[arm]["seeds"]
    }


def _published(arms: Mapping[str, Result], group: Iterable[str], setting: str) -> float | None:
    values = [arms[arm]["row"]["published"].get(f"{setting}_f1") for arm in group]
    return None if None in values else math.fsum(values) / len(values)


def _signed(first: float | None, second: float | None) -> str | None:
    return None if first is None or second is None else f"{first - second:+.1f}"


def _p_value(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _number(group: str) -> tuple[int, str]:
    return (int(group) if group.isdigit() else -1, group)
