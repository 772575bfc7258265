"""The walk of the Tree-LSTMs of Tai et al. (2015) up a batch of trees, with its gradient written out.

Beside the products of the recurrent matrices the steps of a level are small and many, and autograd would
follow each of them. Here the states of all nodes stand in tables whose rows the levels fill; what the
gradient from above is multiplied by is computed for all nodes at once, and so is the gradient of each matrix.

Shapes: B trees, M nodes of the batch, L of them leaves (nodes of height 0), n nodes of a level, R children of
a level, D width, A arity.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from treeformers.models.levels import Level, Levels
from treeformers.models.recurrence import lowered

__all__ = ["ChildSumRecurrence", "NaryRecurrence", "climb"]

_of_sigmoid = torch.ops.aten.sigmoid_backward.grad_input
_of_tanh = torch.ops.aten.tanh_backward.grad_input


class Recurrence(Protocol):
    """What the states of children give to the gates, over one batch.

    Attributes:
        weights: the recurrent matrices.
    """

    weights: tuple[Tensor, ...]

    def add_to_gates(self, level: Level, hidden: Tensor, gates: Tensor, forget: Tensor) -> None:
        """Add what h (R, D) of the children gives to i, o and u (n, 3D) and to their forget gates (R, D)."""

    def to_children(self, level: Level, gates: Tensor, forget: Tensor) -> Tensor:
        """The gradient of h (R, D) of the children, from those of the gates (n, 3D), (R, D)."""

    def to_weights(self, hidden: Tensor, gates: Tensor, forget: Tensor) -> tuple[Tensor, ...]:
        """The gradients of `weights`, from h (M + 1, D) and those of all gates (M - L, 3D), (M - B, D)."""


class ChildSumRecurrence:
    """Eqs. 2-6 of Tai et al. (2015): i, o and u see the sum of the children, a forget gate its own child.

    Args:
        levels: of the batch.
        weight: (3D, D).
        forget: (D, D).
    """

    def __init__(self, levels: Levels, weight: Tensor, forget: Tensor) -> None:
        self.weights: tuple[Tensor, ...] = weight, forget
        self._weight, self._forget = lowered(weight), lowered(forget)
        self._children = torch.cat([level.children for level in levels])
        self._sums = weight.new_zeros(levels.nodes - levels.leaves, weight.shape[1])
        self._of_level = self._sums.split([level.nodes for level in levels][1:])

    def add_to_gates(self, level: Level, hidden: Tensor, gates: Tensor, forget: Tensor) -> None:
        sums = self._of_level[level.height - 1].index_add_(0, level.parents, hidden)
        _add_product(gates, sums, self._weight.t())
        _add_product(forget, hidden, self._forget.t())

    def to_children(self, level: Level, gates: Tensor, forget: Tensor) -> Tensor:
        through_sums = _product(gates, self._weight).index_select(0, level.parents)
        return _add_product(through_sums, forget, self._forget)

    def to_weights(self, hidden: Tensor, gates: Tensor, forget: Tensor) -> tuple[Tensor, ...]:
        precision = self._weight.dtype
        children = hidden.index_select(0, self._children)
        return _product(gates.t(), self._sums.to(precision)), _product(forget.t(), children.to(precision))


class NaryRecurrence:
    """Eqs. 9-12 of Tai et al. (2015): every gate sees the children side by side, zeros where there is none.

    Args:
        levels: of the batch.
        weight: ((3 + A) D, A D).
        arity: A.
    """

    def __init__(self, levels: Levels, weight: Tensor, arity: int) -> None:
        self.weights: tuple[Tensor, ...] = (weight,)
        self._weight, self._arity = lowered(weight), arity
        sizes = [level.nodes * arity for level in levels][1:]
        self._slots = [level.parents * arity + level.positions for level in levels][1:]
        self._starts = list(accumulate([0, *sizes]))
        self._placed = weight.new_zeros(self._starts[-1], weight.shape[1] // arity)
        self._of_level = self._placed.split(sizes)

    def add_to_gates(self, level: Level, hidden: Tensor, gates: Tensor, forget: Tensor) -> None:
        slots, width = self._slots[level.height - 1], hidden.shape[1]
        placed = self._of_level[level.height - 1].index_copy_(0, slots, hidden)
        given = _product(placed.view(level.nodes, -1), self._weight.t())
        gates += given[:, : 3 * width]
        forget += given[:, 3 * width :].reshape(-1, width).index_select(0, slots)

    def to_children(self, level: Level, gates: Tensor, forget: Tensor) -> Tensor:
        slots = self._slots[level.height - 1]
        given = _product(self._join(slots, gates, forget), self._weight)
        return given.view(-1, forget.shape[1]).index_select(0, slots)

    def to_weights(self, hidden: Tensor, gates: Tensor, forget: Tensor) -> tuple[Tensor, ...]:
        if not self._slots:
            return (torch.zeros_like(self.weights[0]),)
        slots = [slots + start for slots, start in zip(self._slots, self._starts, strict=False)]
        above = self._join(torch.cat(slots), gates, forget)
        placed = self._placed.view(len(gates), self._weight.shape[1])
        return (_product(above.t(), placed.to(self._weight.dtype)),)

    def _join(self, slots: Tensor, gates: Tensor, forget: Tensor) -> Tensor:
        """Gradients (n, 3D) and (R, D) as those of the product (n, (3 + A) D)."""
        placed = forget.new_zeros(len(gates) * self._arity, forget.shape[1]).index_copy_(0, slots, forget)
        return torch.cat((gates, placed.view(len(gates), -1)), 1)


def climb(levels: Levels, recurrence: Recurrence, leaves: Tensor, gates: Tensor, forget: Tensor) -> Tensor:
    """The states h of all nodes.

    There are no second derivatives. Under autocast the recurrent products alone are of lower precision.

    Args:
        levels: of the batch.
        recurrence: over the same batch.
        leaves: (L, 3D), what the words of the leaves give to i, o and u, with biases.
        gates: (M - L, 3D), the same of the words of all other nodes; one row for all if these have no words.
        forget: (M - L, D), what these words give to the forget gates; one row for all likewise.

    Returns:
        (M + 1, D), a row a node, and at the end the row of zeros that padding points to.
    """
    table: Tensor = _Climb.apply(levels, recurrence, leaves, gates, forget, *recurrence.weights)
    return table


class _Climb(torch.autograd.Function):
    """Values and gradient of `climb`."""

    @staticmethod
    def forward(
        ctx: Any,
        levels: Levels,
        recurrence: Recurrence,
        leaves: Tensor,
        gates: Tensor,
        forget: Tensor,
        *weights: Tensor,
    ) -> Tensor:
        width = forget.shape[1]
        hidden = weights[0].new_empty(levels.nodes + 1, width)
        hidden[-1] = 0
        memory, shown = torch.empty_like(hidden[:-1]), torch.empty_like(hidden[:-1])
        # Before the activations: what the words give. The levels add what the children give.
        opened = hidden.new_empty(levels.nodes, 3 * width)
        opened[: levels.leaves], opened[levels.leaves :] = leaves, gates
        parents = _parents(levels) if len(forget) > 1 else None
        kept = hidden.new_empty(sum(len(level.parents) for level in levels), width)
        kept[:] = forget if parents is None else forget.index_select(0, parents)
        tables = (opened, *opened.split(width, 1), opened[:, : 2 * width], hidden[:-1], memory, shown)
        rows = zip(*map(levels.split, tables), levels.by_parent(kept), strict=True)
        for level, (own, into, out, update, into_out, h, c, tanh_c, keep) in zip(levels, rows, strict=True):
            if level.height:
                recurrence.add_to_gates(level, hidden.index_select(0, level.children), own, keep)
                keep.sigmoid_()
            into_out.sigmoid_()
            torch.mul(into, update.tanh_(), out=c)
            if level.height:
                c.index_add_(0, level.parents, memory.index_select(0, level.children).mul_(keep))
            torch.mul(out, torch.tanh(c, out=tanh_c), out=h)
        ctx.levels, ctx.recurrence, ctx.parents = levels, recurrence, parents
        ctx.dtypes = leaves.dtype, gates.dtype, forget.dtype
        ctx.save_for_backward(opened, hidden, memory, shown, kept)
        return hidden

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, ...]:
        levels, recurrence = ctx.levels, ctx.recurrence
        opened, hidden, memory, shown, kept = ctx.saved_tensors
        width = memory.shape[1]
        into, out, update = opened.split(width, 1)
        # Each gradient is at first what that of h or c is multiplied by.
        gates = torch.empty_like(opened)
        to_into, to_out, to_update = gates.split(width, 1)
        _of_sigmoid(update, into, grad_input=to_into)
        _of_sigmoid(shown, out, grad_input=to_out)
        _of_tanh(into, update, grad_input=to_update)
        through_h = _of_tanh(out, shown, grad_input=torch.empty_like(shown))
        forget = memory.index_select(0, torch.cat([level.children for level in levels]))
        _of_sigmoid(forget, kept, grad_input=forget)
        of_h, of_c = above[:-1].clone(), torch.zeros_like(memory)
        tables = (gates, to_into, to_out, to_update, of_h, of_c, through_h)
        rows = zip(*map(levels.split, tables), *map(levels.by_parent, (kept, forget)), strict=True)
        for level, (own, into, out, update, h, c, to_c, keep, lost) in reversed(
            list(zip(levels, rows, strict=True))
        ):
            c.addcmul_(h, to_c)
            out.mul_(h)
            into.mul_(c)
            update.mul_(c)
            if level.height:
                received = c.index_select(0, level.parents)
                lost.mul_(received)
                of_c.index_copy_(0, level.children, received.mul_(keep))
                of_h.index_add_(0, level.children, recurrence.to_children(level, own, lost))
        leaves, inner = gates.split([levels.leaves, levels.nodes - levels.leaves])
        of_weights = recurrence.to_weights(hidden, inner, forget)
        if ctx.parents is None:
            inner, forget = inner.sum(0, keepdim=True), forget.sum(0, keepdim=True)
        else:
            forget = inner.new_zeros(len(inner), width).index_add_(0, ctx.parents, forget)
        given = (x.to(dtype) for x, dtype in zip((leaves, inner, forget), ctx.dtypes, strict=True))
        return None, None, *given, *of_weights


def _parents(levels: Levels) -> Tensor:
    """The parent of each node that has one, (M - B,), as a row of the nodes above the leaves."""
    starts = accumulate((level.nodes for level in levels), initial=-levels.leaves)
    return torch.cat([level.parents + start for level, start in zip(levels, starts, strict=False)])


def _product(left: Tensor, right: Tensor) -> Tensor:
    """Their product in the precision of the right one, as one of the left one's."""
    return (left.to(right.dtype) @ right).to(left.dtype)


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Add their product, in the precision of the right one, to the total, in place."""
    if right.dtype == total.dtype:
        return total.addmm_(left, right)
    return total.add_(left.to(right.dtype) @ right)
