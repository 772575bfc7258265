"""Tests of the difference between two results, the same in all tables.

A test pairs the results by seed if both have the same seeds (t-test of the differences). If the seeds differ,
or the differences do not vary, it is Welch's t-test. All tests of a table are one family: `corrected` applies
Holm's correction, and writes the word that the corrected test allows. The tests count seeds, not test
sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lab.tables.formatting import Result

__all__ = ["LEVEL", "Difference", "compare", "corrected", "holm"]

LEVEL = 0.05
"""A corrected p-value below it tells two results apart."""


class Difference(NamedTuple):
    """A difference of two means over seeds, and the two-sided p-value before the correction."""

    value: float
    p: float


def compare(result: Result, other: Result | None, name: str) -> Difference | None:
    """Compare a metric of two results over their seeds.

    Returns:
        The difference; None without another result, with fewer than two seeds, or if neither result varies.
    """
    if other is None or result is other:
        return None
    ours, theirs = ({seed["seed"]: seed.get(name) for seed in row["seeds"]} for row in (result, other))
    if min(len(ours), len(theirs)) < 2 or None in (*ours.values(), *theirs.values()):
        return None
    from scipy.stats import ttest_ind, ttest_rel

    value = sum(ours.values()) / len(ours) - sum(theirs.values()) / len(theirs)
    if ours == theirs:
        return Difference(0.0, 1.0)
    paired = ours.keys() == theirs.keys()
    if paired and len({round(ours[seed] - theirs[seed], 9) for seed in ours}) > 1:
        return Difference(value, float(ttest_rel([ours[seed] for seed in theirs], [*theirs.values()]).pvalue))
    if len(set(ours.values())) == len(set(theirs.values())) == 1:
        return None
    return Difference(value, float(ttest_ind([*ours.values()], [*theirs.values()], equal_var=False).pvalue))


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct the p-values of a family of tests (Holm 1979)."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    found, highest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        found[place] = highest
    return found


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
        word = "level" if p >= LEVEL else "ahead" if (test.value > 0) != lower_is_better else "behind"
        table[r][c] = f"{'< 0.001' if p < 0.001 else f'{p:.3f}'}, {word}"
    return table
