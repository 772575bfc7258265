"""Which sentences are computed at once: those of like length, in few shapes.

A processor may compile a kernel for every shape of a product and keep it (`processor.wide_products`). On long
texts that is memory and time for ever new shapes, where a dozen of them would hold nearly all sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treeformers.processor import MANY, halves_vectors

__all__ = ["Batch", "batches"]

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
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    tokens = TYPICAL * min(size, MOST)
    room = tokens if size >= MANY and halves_vectors() else 0
    made, start = [], 0
    while start < len(order):
        width = _width(lengths[order[start]], room)
        count = max(1, min(size, tokens // width))
        rows = order[start : start + count]
        made.append(Batch(rows, room if len(rows) == count else 0))
        start += count
    return made[::-1]


def _width(longest: int, room: int) -> int:
    near = range(longest, longest * 5 // 4 + 1) if room else ()
    return next((width for width in near if room % width == 0), longest)
