"""Which sentences are computed at once: those of like length, in few shapes.

A processor may compile a kernel for every shape of a product and keep it (`processor.wide_products`). On long
texts that is memory and time for ever new shapes, where a dozen of them would hold nearly all sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from treeformers.kernels.precision import MANY, halves_vectors

__all__ = ["Batch", "batches", "by_tokens"]

TYPICAL = 30
"""Tokens of a sentence up to which as many are computed at once as were asked for."""
MOST = 256
"""Sentences of so many tokens that are computed at once, whatever was asked for: memory grows with them."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentences that are computed at once.

    Attributes:
        rows: their numbers, the longest first.
        room: rows times width of full batches, of which this is one; 0 if it is not, or where shapes do not
            matter.
    """

    rows: list[int]
    room: int = 0

    @property
    def recurs(self) -> bool:
        """Whether its shape comes again, so that kernels for it pay."""
        return self.room > 0

    def width(self, longest: int) -> int:
        """How many tokens to pad rows to of which the longest has so many.

        In a batch that recurs that is the next divisor of `room`, unless it is more than a quarter away.
        """
        return _width(longest, self.room)


def batches(lengths: Sequence[int], size: int) -> list[Batch]:
    """Sort sentences into batches, those of short ones first.

    What is left over in the end, and fills no batch, is the shortest.

    Args:
        lengths: tokens of each sentence, at least one.
        size: sentences of a batch, at least one; fewer where they have more than 30 tokens.
    """
    tokens = TYPICAL * min(size, MOST)
    room = tokens if size >= MANY and halves_vectors() else 0

    def full(longest: int) -> int:
        return max(1, min(size, tokens // _width(longest, room)))

    cut = reversed(_cut(lengths, full))
    return [Batch(rows, room if len(rows) == full(lengths[rows[0]]) else 0) for rows in cut]


def by_tokens(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Numbers of rows of like length, the longest first, at most so many tokens at once, padding included.

    Args:
        lengths: tokens of each row, at least one.
        tokens: of a batch; a longer row is a batch of its own.
    """
    return _cut(lengths, lambda longest: max(1, tokens // longest))


def _cut(lengths: Sequence[int], full: Callable[[int], int]) -> list[list[int]]:
    """Rows by length, the longest first, cut after so many as `full` says of the longest of them."""
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    cut, start = [], 0
    while start < len(order):
        cut.append(order[start : start + full(lengths[order[start]])])
        start += len(cut[-1])
    return cut


def _width(longest: int, room: int) -> int:
    near = range(longest, longest * 5 // 4 + 1) if room else ()
    return next((width for width in near if room % width == 0), longest)
