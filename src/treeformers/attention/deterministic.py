"""Deterministic attention (Ma et al. 2017): the state of a parser picks the words that are read.

The context of step i is the sum of A_m h_j over the list of positions D_i (Eq. 6): position m of the list has
a matrix of its own, and nothing is normalised. Shapes: B batch, T tokens, S steps, M positions in a list, D
width of the encoder, C width of the context.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["DeterministicAttention", "align", "deterministic_context", "gather_context"]


def deterministic_context(encoder: Tensor, positions: Tensor, alignment: Tensor | None = None) -> Tensor:
    """Context vectors of all steps at once (Eq. 6).

    Every word is multiplied by all M matrices once, and the steps add up what they look at: the cost of a
    step does not depend on the length of the sentence.

    Args:
        encoder: (B, T, D), the states h.
        positions: (B, S, M), the lists D_i: indices below T, end mark included. A negative one reads nothing.
        alignment: (M, C, D), the matrices A_m; the identity each (C = D) by default.

    Returns:
        (B, S, C).

    Raises:
        ValueError: another number of positions than of matrices, or a position that is not below T.
    """
    slots = positions.shape[-1]
    if positions.numel() and (highest := int(positions.max())) >= encoder.shape[1]:
        raise ValueError(
            f"position {highest} is to be read of {encoder.shape[1]} states: expected one below, and a state "
            "for the end mark if it is read"
        )
    if alignment is None:
        return gather_context(encoder[:, :, None].expand(-1, -1, slots, -1), positions)
    if slots != len(alignment):
        raise ValueError(f"lists of {slots} positions, expected one for each of {len(alignment)} matrices")
    return gather_context(align(encoder, alignment), positions)


def align(encoder: Tensor, alignment: Tensor) -> Tensor:
    """Multiply every state by every matrix: (B, T, D) and (M, C, D) to (B, T, M, C)."""
    return F.linear(encoder, alignment.flatten(0, 1)).unflatten(-1, alignment.shape[:2])


def gather_context(aligned: Tensor, positions: Tensor) -> Tensor:
    """Sum A_m h_j over the lists of positions: (B, T, M, C) and (B, S, M) to (B, S, C).

    Negative positions add nothing.
    """
    batch, length, slots, width = aligned.shape
    row = torch.arange(batch, device=positions.device)[:, None, None] * length + positions.clamp(min=0)
    row = row * slots + torch.arange(slots, device=positions.device)
    counts = (positions >= 0).to(aligned.dtype).flatten(0, -2)
    bags = F.embedding_bag(
        row.flatten(0, -2), aligned.reshape(-1, width), mode="sum", per_sample_weights=counts
    )
    return bags.unflatten(0, positions.shape[:-1])


class DeterministicAttention(nn.Module):
    """Eq. 6 with its matrices; they start so that the context has the scale of one state.

    Args:
        width: D.
        context: C.
        slots: M: 5 for the scheme datt-bound, 7 for datt-bound-head.
    """

    def __init__(self, width: int, context: int, slots: int) -> None:
        super().__init__()
        self.alignment = nn.Parameter(torch.empty(slots, context, width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        slots, _, width = self.alignment.shape
        nn.init.normal_(self.alignment, std=(slots * width) ** -0.5)

    def align(self, encoder: Tensor) -> Tensor:
        """A_m h_j of every word, once a sentence: (B, T, D) to (B, T, M, C)."""
        return align(encoder, self.alignment)

    def forward(self, encoder: Tensor, positions: Tensor) -> Tensor:
        """(B, T, D) and (B, S, M) to (B, S, C)."""
        return deterministic_context(encoder, positions, self.alignment)
