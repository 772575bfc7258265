"""What the scores of all kinds of trees share: pairs of trees, percentages and signatures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from treeformers import __version__

__all__ = ["paired", "percent", "signature"]

Gold = TypeVar("Gold")
Guess = TypeVar("Guess")


def paired(gold: Iterable[Gold], predicted: Iterable[Guess]) -> list[tuple[Gold, Guess]]:
    """Gold trees beside predicted ones.

    Raises:
        ValueError: different numbers of them.
    """
    golds, predictions = list(gold), list(predicted)
    if len(golds) != len(predictions):
        raise ValueError(f"expected one predicted tree a gold tree, got {len(predictions)} for {len(golds)}")
    return list(zip(golds, predictions, strict=True))


def percent(part: float, whole: float, empty: float = 0.0) -> float:
    """A share in percent, and what stands for that of nothing."""
    return 100 * part / whole if whole else empty


def signature(metric: str, **choices: str | int | None) -> str:
    """The name of a metric with every choice that changes its figure."""
    fields = [f"{name}:{'none' if value is None else value}" for name, value in choices.items()]
    return "|".join([metric, *fields, f"version:{__version__}"])
