"""Dropout that is quick on a CPU.

There torch draws a mask of one Bernoulli number after another, on one thread, which can take a quarter of
the time of a training step. Sixteen random bits an element decide as well, and four elements share a number
of the generator.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def keep_mask(
    shape: Sequence[int],
    probability: float,
    device: torch.device | str | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """True where an element is kept.

    Args:
        shape: Of the mask.
        probability: Of dropping an element, in [0, 1). Rounded to 1/65,536, and to 65,535 of them at most.
        device: Of the mask; torch's default device by default.
        generator: Source of the bits, on that device; torch's default generator by default.

    Returns:
        Mask (*shape), boolean.

    Raises:
        ValueError: A probability outside [0, 1).
    """
    if not 0 <= probability < 1:
        raise ValueError(f"the probability of dropout is {probability}, expected a number in [0, 1)")
    size = torch.Size(shape).numel()
    bits = torch.empty((size + 3) // 4, dtype=torch.int64, device=device)
    bits.random_(-(2**63), None, generator=generator)
    dropped = min(round(probability * 2**16), 2**16 - 1)
    return (bits.view(torch.int16)[:size] >= dropped - 2**15).view(shape)


def drop(x: Tensor, probability: float, training: bool = True) -> Tensor:
    """Zero each element with a probability, and scale the others so that the mean stays.

    Args:
        x: Any shape and floating type.
        probability: In [0, 1]. On a CPU rounded to 1/65,536.
        training: Return x as it is if False.

    Returns:
        As x in shape and type.

    Raises:
        ValueError: A probability outside [0, 1].
    """
    if not training or x.device.type != "cpu" or not 0 < probability < 1:
        return F.dropout(x, probability, training)
    return x * keep_mask(x.shape, probability).to(x.dtype).mul_(1 / (1 - probability))


class Dropout(nn.Dropout):
    """`torch.nn.Dropout` by `drop`; never in place."""

    def forward(self, input: Tensor) -> Tensor:
        """Any shape, and the same comes back."""
        return drop(input, self.p, self.training)
