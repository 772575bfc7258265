"""Gated recurrent units whose input gates are known beforehand, with their gradient written out.

Under teacher forcing only the recurrence itself goes step by step. Autograd would follow each of the small
operations of a step, and add up the gradient of the weights step by step; here a step back has few of them,
and the gradient of a matrix is one product for all steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

__all__ = [
    "BidirectionalGRU",
    "FedCell",
    "StepwiseLinear",
    "gru_recurrence",
    "gru_step",
    "lowered",
    "open_gates",
]

_of_sigmoid = torch.ops.aten.sigmoid_backward
_of_tanh = torch.ops.aten.tanh_backward


def gru_step(gates: Tensor, state: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """One step of a GRU (Cho et al. 2014) in the form of `torch.nn.GRU`.

    Args:
        gates: (..., 3H), what the input gives to reset gate, update gate and new state, with biases.
        state: (..., H).
        weight: (3H, H), the recurrent matrices.
        bias: (3H,), their biases.

    Returns:
        The next state (..., H).
    """
    return open_gates(gates, F.linear(state, weight, bias), state)


def open_gates(gates: Tensor, recurrent: Tensor, state: Tensor) -> Tensor:
    """The next state (..., H), from what the input and the state (..., H) give to the gates (..., 3H)."""
    to_reset, to_update, to_new = gates.chunk(3, -1)
    from_reset, from_update, from_new = recurrent.chunk(3, -1)
    reset, update = torch.sigmoid(to_reset + from_reset), torch.sigmoid(to_update + from_update)
    new = torch.tanh(torch.addcmul(to_new, reset, from_new))
    return torch.lerp(new, state.to(new.dtype), update)


class FedCell(NamedTuple):
    """One of the cells that take turns in a recurrence; G recurrences run side by side.

    Attributes:
        gates: (G, B, S, 3H), see `gru_step`.
        weight: (G, 3H, H).
        bias: (G, 3H).
    """

    gates: Tensor
    weight: Tensor
    bias: Tensor


def gru_recurrence(state: Tensor, cells: Sequence[FedCell], kept: Tensor | None = None) -> Tensor:
    """The states of recurrences side by side, in each of which cells take turns.

    There are no second derivatives. Under autocast the recurrent products alone are of lower precision.

    Args:
        state: (G, B, H), the first states.
        cells: K of them; each has its turn in every step.
        kept: (B, H), the dropout mask of the state on its way into the gates of the first cell; none by
            default.

    Returns:
        (G, B, S, H), the state after each step.
    """
    found = _Recurrence.apply(state, kept, *(tensor for cell in cells for tensor in cell))
    return found[len(cells) :: len(cells)].permute(1, 2, 0, 3)


class _Recurrence(torch.autograd.Function):
    """All states (SK + 1, G, B, H), the first one and that after each turn.

    What the turns need is written row by row into tables: at these sizes memory is slower than arithmetic.
    """

    @staticmethod
    def forward(ctx: Any, state: Tensor, kept: Tensor | None, *tensors: Tensor) -> Tensor:
        cells = [FedCell(*tensors[k : k + 3]) for k in range(0, len(tensors), 3)]
        precision = torch.promote_types(cells[0].gates.dtype, cells[0].bias.dtype)
        weights = [lowered(cell.weight) for cell in cells]
        to_gates = [weight.mT.contiguous() for weight in weights]
        biases = [cell.bias[:, None].to(precision) for cell in cells]
        turns = [(step, k) for step in range(cells[0].gates.shape[2]) for k in range(len(cells))]
        states = state.new_empty(len(turns) + 1, *state.shape, dtype=precision)
        entered = states.new_empty(len(turns), *state.shape, dtype=weights[0].dtype)
        reset, update, new, from_new = states.new_empty(4, len(turns), *state.shape)
        states[0] = before = state.to(precision)
        for turn, (step, k) in enumerate(turns):
            entered[turn] = before if kept is None or k else before * kept
            recurrent = torch.bmm(entered[turn], to_gates[k]).to(precision).add_(biases[k])
            to_reset, to_update, to_new = recurrent.chunk(3, -1)
            gates = cells[k].gates[:, :, step].to(precision).chunk(3, -1)
            torch.sigmoid(to_reset.add_(gates[0]), out=reset[turn])
            torch.sigmoid(to_update.add_(gates[1]), out=update[turn])
            from_new[turn] = to_new
            torch.addcmul(gates[2], reset[turn], to_new, out=new[turn]).tanh_()
            before = torch.lerp(new[turn], before, update[turn], out=states[turn + 1])
        ctx.save_for_backward(kept, states, entered, reset, update, new, from_new, *weights)
        ctx.precisions = [tensor.dtype for tensor in (state, *tensors)]
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, ...]:
        kept, states, entered, reset, update, new, from_new, *weights = ctx.saved_tensors
        groups, batch, width = states.shape[1:]
        count = len(weights)
        steps = len(entered) // count
        of_gates = states.new_empty(count, groups, batch, steps, 3 * width)
        of_recurrent = entered.new_empty(count, groups, steps, batch, 3 * width)
        below = above[-1]
        for turn in reversed(range(len(entered))):
            step, k = divmod(turn, count)
            straight = below * update[turn]
            to_new = _of_tanh(below - straight, new[turn])
            to_reset = _of_sigmoid(to_new * from_new[turn], reset[turn])
            to_update = _of_sigmoid((states[turn] - new[turn]).mul_(below), update[turn])
            of_gates[k, :, :, step] = torch.cat((to_reset, to_update, to_new), -1)
            row = of_recurrent[k, :, step]
            row.copy_(torch.cat((to_reset, to_update, to_new.mul_(reset[turn])), -1))
            through = torch.bmm(row, weights[k]).to(below.dtype)
            through = through if kept is None or k else through.mul_(kept)
            below = through.add_(straight).add_(above[turn])
        found: list[Tensor | None] = [below.to(ctx.precisions[0]), None]
        for k, gates in enumerate(of_gates):
            rows = of_recurrent[k].flatten(1, 2)
            inputs = entered[k::count].transpose(0, 1).flatten(1, 2)
            of_cell = gates, rows.mT @ inputs, rows.sum(1, dtype=gates.dtype)
            given = ctx.precisions[1 + 3 * k : 4 + 3 * k]
            found += [gradient.to(precision) for gradient, precision in zip(of_cell, given, strict=True)]
        return tuple(found)


def lowered(weight: Tensor) -> Tensor:
    """A matrix without its gradient, in the precision of products, which autocast may have lowered."""
    device = weight.device.type
    lower = torch.is_autocast_enabled(device)
    return weight.detach().to(torch.get_autocast_dtype(device) if lower else weight.dtype)


class StepwiseLinear:
    """A linear map that is applied step by step, with one product for the gradient of its weight.

    There are no second derivatives.

    Args:
        weight: (out, in).
        bias: (out,).
        rows: of the input of each application; there may be fewer applications.
    """

    def __init__(self, weight: Tensor, bias: Tensor, rows: Sequence[int]) -> None:
        self._weight = lowered(weight)
        self._inputs: list[Tensor] = []
        offsets = _Offsets.apply(weight, bias, self._inputs, sum(rows))
        self._offsets = iter(offsets.split(list(rows)))

    def __call__(self, states: Tensor) -> Tensor:
        """(rows of this application, in) to (..., out)."""
        states, offset = states.to(self._weight.dtype), next(self._offsets)
        self._inputs.append(states.detach())
        return F.linear(states, self._weight).to(offset.dtype) + offset


class _Offsets(torch.autograd.Function):
    """The bias for every row of every application: through it their gradient comes to that of the weight."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor, inputs: list[Tensor], rows: int) -> Tensor:
        ctx.inputs = inputs
        return bias.expand(rows, -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, ...]:
        inputs = torch.cat(ctx.inputs)
        above = above[: len(inputs)]
        of_weight = (above.to(inputs.dtype).t() @ inputs).to(above.dtype)
        return of_weight, above.sum(0), None, None


class BidirectionalGRU(nn.Module):
    """One layer of a GRU in both directions over padded sentences.

    Args:
        inner: width of the input.
        width: H, of each direction.
    """

    def __init__(self, inner: int, width: int) -> None:
        super().__init__()
        self.project = nn.Linear(inner, 6 * width)
        self.weight_hh = nn.Parameter(torch.empty(2, 3 * width, width))
        self.bias = nn.Parameter(torch.empty(2, 3 * width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Orthogonal recurrent matrices, biases of 0."""
        for direction in self.weight_hh.data:
            for gate in direction.chunk(3):
                nn.init.orthogonal_(gate)
        nn.init.zeros_(self.bias)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """States (B, T, inner) and lengths (B,) to (B, T, 2H); what stands on padding has no meaning."""
        places = torch.arange(states.shape[1], device=states.device)
        # The sentence from its end, with the padding still behind it.
        turned = torch.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)[..., None]
        onward, backward = self.project(states).chunk(2, -1)
        backward = backward.gather(1, turned.expand_as(backward))
        gates = torch.stack((onward, backward))
        first = gates.new_zeros(2, len(states), self.weight_hh.shape[-1])
        left, right = gru_recurrence(first, [FedCell(gates, self.weight_hh, self.bias)])
        return torch.cat((left, right.gather(1, turned.expand_as(right))), -1)
