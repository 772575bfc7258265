"""Losses of predictions of which some have no label, and of one over a whole vocabulary.

The scores of all labels over a vocabulary are the largest tensor of a small language model, and autograd
makes several of that size. But the gradient is known in closed form: the probabilities less the target. It is
computed where the scores stood; what smoothing adds to the target is the same for every word and needs no
such tensor at all.

Shapes: M labels, V words, D width.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from treeformers.models.recurrence import lowered

__all__ = ["IGNORED", "per_label", "vocabulary_loss"]

IGNORED = -100
"""The label of what is not predicted."""


def per_label(total: Tensor, labels: Tensor, items: Tensor | int | None = None) -> Tensor:
    """A sum of losses over `items`, by default the number of labels; without any label it is 0."""
    return total / ((labels != IGNORED).sum().clamp_min(1) if items is None else items)


def vocabulary_loss(
    hidden: Tensor, weight: Tensor, labels: Tensor, smoothing: float = 0.0, bias: Tensor | None = None
) -> Tensor:
    """Sum of the cross-entropies, in nats, of the scores `hidden @ weight.T + bias`.

    There are no second derivatives.

    Args:
        hidden: States (M, D).
        weight: (V, D).
        labels: (M,).
        smoothing: Share of the target that is spread evenly over the vocabulary, as
            `torch.nn.functional.cross_entropy` does it.
        bias: (V,); none by default.
    """
    total: Tensor = _CrossEntropy.apply(hidden, weight, bias, labels, smoothing)
    return total


class _CrossEntropy(torch.autograd.Function):
    """Value and gradient of `vocabulary_loss`."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor, smoothing: float
    ) -> Tensor:
        matrix, gold, spread = lowered(weight), labels[:, None], smoothing / len(weight)
        states = hidden.to(matrix.dtype)
        scores = states @ matrix.t()
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        if bias is not None:
            scores += bias
        aimed = (1 - smoothing) * scores.gather(1, gold).sum()
        if smoothing:
            aimed += spread * scores.sum()
        highest = scores.amax(1)
        shares = torch.softmax(scores, 1, out=scores)
        # The highest score has a probability of 1 / V or more, whose logarithm is safe.
        total = (highest - shares.amax(1).log()).sum() - aimed
        shares.scatter_add_(1, gold, shares.new_full(gold.shape, smoothing - 1))
        ctx.save_for_backward(states, matrix, shares)
        ctx.spread = spread
        ctx.dtypes = hidden.dtype, weight.dtype, None if bias is None else bias.dtype
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, ...]:
        states, matrix, shares = ctx.saved_tensors
        lower = shares.to(matrix.dtype)
        # The transpose of the transposed product is twice as quick on a processor.
        of_hidden, of_weight = lower @ matrix, (states.t() @ lower).t().contiguous()
        of_bias = shares.sum(0)
        if ctx.spread:
            of_hidden -= ctx.spread * matrix.sum(0)
            of_weight -= ctx.spread * states.sum(0)
            of_bias -= ctx.spread * len(states)
        of_hidden, of_weight, of_bias = (
            (above * gradient).to(dtype) if dtype else None
            for gradient, dtype in zip((of_hidden, of_weight, of_bias), ctx.dtypes, strict=True)
        )
        return of_hidden, of_weight, of_bias, None, None
