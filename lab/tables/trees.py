"""How much the tree matters: the same encoder with trees from several sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lab.tables.formatting import (
    Result,
    Results,
    mean,
    millions,
    provenance,
    rounded,
    seed_count,
    tagged,
    welch,
    with_sd,
)
from treeformers.drawing.markdown import markdown_table

SOURCES = ("gold", "parser", "inducer", "right", "balanced", "random")
"""How the names of recipes end, in the order of the rows."""
REFERENCE = "right"


def sst(results: Results) -> str:
    """Sentiment of five classes and of two, by encoder and source."""
    return _by_source(tagged(results, "sst"), {"accuracy": "SST-5", "coarse_accuracy": "SST-2"})


def msrp(results: Results) -> str:
    """Paraphrase or not, by source."""
    return _by_source(tagged(results, "msrp"), {"accuracy": "accuracy"})


def multi30k(results: Results) -> str:
    """BLEU of translated captions, by source."""
    return _by_source(tagged(results, "multi30k"), {"bleu": "BLEU"})


def parsers(results: Results) -> str:
    """Parsers over a Transformer with constituent priors and over one without."""
    shown = tagged(results, "parsers")
    plain = shown.get("parser-transformer")
    cells = [
        (
            result["recipe"]["title"],
            seed_count(result),
            rounded(result, "f1_validation"),
            with_sd(result, "f1_test"),
            *_difference(result, None if result is plain else plain, "f1_test"),
            millions(result["seeds"][0]["parameters"]),
            rounded(result, "sentences_per_second", 0),
        )
        for result in shown.values()
    ]
    head = ("", "models", "F1, validation", "F1, test", "against the Transformer", "p", "parameters")
    return markdown_table((*head, "sentences a second"), cells)


PARTS: Mapping[str, Callable[[Results], str]] = {
    part.__name__: part for part in (sst, msrp, multi30k, parsers, provenance)
}


def _by_source(results: Results, figures: Mapping[str, str]) -> str:
    """A row a recipe, each figure beside its difference from the same encoder over right-branching trees."""
    cells = []
    for name in sorted(results, key=_place):
        result, reference = results[name], results.get(f"{_encoder(name)}-{REFERENCE}")
        columns: list[str | None] = [result["recipe"]["title"], seed_count(result)]
        for figure in figures:
            columns += [rounded(result, f"{figure}_validation"), with_sd(result, figure)]
            apart = None if reference is None or name.endswith(f"-{REFERENCE}") else reference
            columns += _difference(result, apart, figure)
        cells.append(columns)
    head = ["", "models"]
    for title in figures.values():
        head += [f"{title}, validation", f"{title}, test", "against right-branching", "p"]
    return markdown_table(head, cells)


def _difference(result: Result, reference: Result | None, figure: str) -> Sequence[str | None]:
    """Difference of the means, and the p-value of Welch's t-test over the seeds."""
    if reference is None:
        return None, None
    ours, theirs = mean(result, figure), mean(reference, figure)
    if ours is None or theirs is None:
        return None, None
    return f"{ours - theirs:+.1f}", welch(result, reference, figure)


def _encoder(name: str) -> str:
    return name.rpartition("-")[0]


def _place(name: str) -> tuple[str, int]:
    return _encoder(name), SOURCES.index(name.rpartition("-")[2])
