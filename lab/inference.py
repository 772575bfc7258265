"""Tests of the difference between two results, the same in all tables, over `treeformers.metrics.inference`.

All tests of a table are one family: `corrected` applies Holm's correction, and writes the word that the corrected
test allows. The tests count seeds, not test sentences.
"""

from __future__ import annotations

from collections.abc import Iterable

from lab.tables.formatting import Result
from treeformers.metrics.inference import Difference, compare_seeds, holm, p_text, verdict

__all__ = ["Difference", "compare", "corrected"]


def compare(result: Result, other: Result | None, name: str) -> Difference | None:
    """Compare a metric of two results over their seeds, see `compare_seeds`.

    Returns:
        The difference; None without another result, without the metric in each seed, with fewer than two
        seeds, or if neither result varies.
    """
    if other is None or result is other:
        return None
    ours, theirs = ({seed["seed"]: seed.get(name) for seed in row["seeds"]} for row in (result, other))
    if None in (*ours.values(), *theirs.values()):
        return None
    return compare_seeds(ours, theirs)


def corrected(cells: Iterable[Iterable[object]], lower_is_better: bool = False) -> list[list[object]]:
    """Replace each `Difference` in a table by its corrected p-value and a word: "0.012, ahead".

    Args:
        cells: the table; its differences are one family.
        lower_is_better: "ahead" means a lower value, as of an error.
    """
    table = [list(row) for row in cells]
    tests = {
        (r, c): cell
        for r, row in enumerate(table)
        for c, cell in enumerate(row)
        if isinstance(cell, Difference)
    }
    p_values = holm([test.p for test in tests.values()])
    for ((r, c), test), p in zip(tests.items(), p_values, strict=True):
        table[r][c] = f"{p_text(p)}, {verdict(test.value, p, lower_is_better)}"
    return table
