"""Gated recurrent units whose input gates are known beforehand, and whose weights get their gradient at once.

Under teacher forcing only the recurrence itself goes step by step. Autograd would multiply and add up the
gradient of its weights at every step; here that is one product for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

__all__ = ["BidirectionalGRU", "StepwiseLinear", "gru_recurrence", "gru_step", "lowered", "open_gates"]


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


def gru_recurrence(
    gates: Tensor, state: Tensor, weight: Tensor, bias: Tensor, kept: Tensor | None = None
) -> Tensor:
    """All states of a GRU, one after each step.

    Args:
        gates: (B, S, 3H), see `gru_step`.
        state: (B, H), the first state.
        weight: (3H, H).
        bias: (3H,).
        kept: (B, H), the dropout mask of the state on its way into the gates of all steps; none by default.

    Returns:
        (B, S, H).
    """
    recurrent = StepwiseLinear(weight, bias, [len(gates)] * gates.shape[1])
    states = []
    for gate in gates.unbind(1):
        state = open_gates(gate, recurrent(state if kept is None else state * kept), state)
        states.append(state)
    return torch.stack(states, 1)


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
        first = onward.new_zeros(len(states), self.weight_hh.shape[-1])
        left = gru_recurrence(onward, first, self.weight_hh[0], self.bias[0])
        right = gru_recurrence(backward, first, self.weight_hh[1], self.bias[1])
        return torch.cat((left, right.gather(1, turned.expand_as(right))), -1)
