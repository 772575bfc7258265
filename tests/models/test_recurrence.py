"""The recurrences against literal equations and against torch's own GRU, in float64: values and gradients."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from treeformers.models.recurrence import (
    BidirectionalGRU,
    FedCell,
    StepwiseLinear,
    gru_recurrence,
    gru_step,
    open_gates,
)

torch.set_num_threads(1)
sizes = settings(max_examples=15, deadline=None)
LENGTHS = torch.tensor([5, 1, 3])


def leaf(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def assert_same(ours: Tensor, literal: Tensor, pairs: list[tuple[Tensor, Tensor]]) -> None:
    """Equal values, and equal gradients of the tensors of each pair."""
    torch.testing.assert_close(ours, literal, rtol=1e-9, atol=1e-11)
    seed = torch.randn_like(literal)
    our_inputs, literal_inputs = zip(*pairs, strict=True)
    found = torch.autograd.grad(ours, our_inputs, seed)
    expected = torch.autograd.grad(literal, literal_inputs, seed)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-10)


def literal_step(gates: Tensor, state: Tensor, weight: Tensor, bias: Tensor, kept: Tensor) -> Tensor:
    """Cho et al. (2014) with the reset gate where torch has it, one number at a time."""
    width = len(state)
    entering = state * kept

    def recurrent(row: int) -> Tensor:
        return weight[row] @ entering + bias[row]

    numbers = []
    for k in range(width):
        r = torch.sigmoid(gates[k] + recurrent(k))
        z = torch.sigmoid(gates[width + k] + recurrent(width + k))
        n = torch.tanh(gates[2 * width + k] + r * recurrent(2 * width + k))
        numbers.append((1 - z) * n + z * state[k])
    return torch.stack(numbers)


def literal_states(state: Tensor, cells: Sequence[FedCell], kept: Tensor) -> Tensor:
    ones = torch.ones_like(kept)
    rows = []
    for g, first in enumerate(state):
        for b, now in enumerate(first):
            for s in range(cells[0].gates.shape[2]):
                for k, cell in enumerate(cells):
                    mask = ones[b] if k else kept[b]
                    now = literal_step(cell.gates[g, b, s], now, cell.weight[g], cell.bias[g], mask)
                rows.append(now)
    return torch.stack(rows).view(*state.shape[:2], -1, state.shape[-1])


def recurrence(groups: int, batch: int, steps: int, count: int, width: int) -> tuple[Tensor, list[FedCell]]:
    """First states and cells."""
    cells = [
        FedCell(
            leaf(groups, batch, steps, 3 * width), leaf(groups, 3 * width, width), leaf(groups, 3 * width)
        )
        for _ in range(count)
    ]
    return leaf(groups, batch, width), cells


@sizes
@given(
    st.integers(1, 2),
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 3),
    st.booleans(),
)
def test_recurrence_by_its_equations(
    groups: int, batch: int, steps: int, count: int, width: int, dropped: bool
) -> None:
    state, cells = recurrence(groups, batch, steps, count, width)
    kept = (torch.randint(2, (batch, width)) * 2.0).double() if dropped else None
    literal = literal_states(state, cells, torch.ones_like(state[0]) if kept is None else kept)
    inputs = [state, *chain(*cells)]
    assert_same(gru_recurrence(state, cells, kept), literal, [(x, x) for x in inputs])


@sizes
@given(st.integers(1, 3), st.integers(1, 6), st.integers(1, 4))
def test_recurrence_is_the_gru_of_torch(batch: int, steps: int, width: int) -> None:
    gru = nn.GRU(3, width, batch_first=True).double()
    x, first = leaf(batch, steps, 3), leaf(1, batch, width)
    gates = nn.functional.linear(x, gru.weight_ih_l0, gru.bias_ih_l0)
    cell = FedCell(gates[None], gru.weight_hh_l0[None], gru.bias_hh_l0[None])
    (ours,) = gru_recurrence(first, [cell])
    inputs = (x, first, *gru.parameters())
    assert_same(ours, gru(x, first)[0], [(x, x) for x in inputs])


def test_step_is_the_cell_of_torch_on_any_leading_dimensions() -> None:
    cell = nn.GRUCell(3, 4).double()
    x, state = leaf(2, 3, 3), leaf(2, 3, 4)
    gates = nn.functional.linear(x, cell.weight_ih, cell.bias_ih)
    ours = gru_step(gates, state, cell.weight_hh, cell.bias_hh)
    literal = cell(x.flatten(0, 1), state.flatten(0, 1)).view(2, 3, 4)
    assert_same(ours, literal, [(t, t) for t in (x, state, *cell.parameters())])


def test_gates_at_their_extremes() -> None:
    state, recurrent = torch.tensor([[0.5, -2.0]]), torch.zeros(1, 6)
    open_update = torch.tensor([[0.0, 0, 50, 50, 9, 9]])
    assert torch.equal(open_gates(open_update, recurrent, state), state)
    shut_update = torch.tensor([[0.0, 0, -50, -50, 0.3, -0.3]])
    torch.testing.assert_close(open_gates(shut_update, recurrent, state), torch.tensor([[0.3, -0.3]]).tanh())


@pytest.mark.parametrize("dropped", [False, True])
def test_gradients_by_differences(dropped: bool) -> None:
    kept = torch.tensor([[2.0, 0.0], [0.0, 2.0]], dtype=torch.float64) if dropped else None
    state, (first, second) = recurrence(2, 2, 3, 2, 2)

    def run(state: Tensor, *tensors: Tensor) -> Tensor:
        return gru_recurrence(state, [FedCell(*tensors[:3]), FedCell(*tensors[3:])], kept)

    assert torch.autograd.gradcheck(run, (state, *first, *second))


@pytest.mark.parametrize("applied", [1, 2, 4])
def test_stepwise_linear_applied_at_most_so_often(applied: int) -> None:
    weight, bias, x = leaf(3, 2), leaf(3), leaf(4, 2)

    def run(linear: StepwiseLinear) -> Tensor:
        return torch.stack([torch.tanh(linear(x * (k + 1))) for k in range(applied)])

    literal = torch.stack(
        [torch.tanh(nn.functional.linear(x * (k + 1), weight, bias)) for k in range(applied)]
    )
    assert_same(run(StepwiseLinear(weight, bias, [4] * 4)), literal, [(t, t) for t in (x, weight, bias)])


def test_stepwise_linear_of_ever_other_numbers_of_rows() -> None:
    weight, bias, x = leaf(3, 2), leaf(3), leaf(7, 2)
    linear, rows = StepwiseLinear(weight, bias, [4, 1, 2, 5]), (4, 1, 2)
    ours = torch.cat([torch.tanh(linear(part)) for part in x.split(rows)])
    literal = torch.tanh(nn.functional.linear(x, weight, bias))
    assert_same(ours, literal, [(t, t) for t in (x, weight, bias)])


def test_stepwise_linear_where_only_some_gradients_are_asked_for() -> None:
    weight, bias, x = leaf(3, 2), leaf(3), leaf(4, 2)
    frozen = StepwiseLinear(weight.detach(), bias.detach(), [4])(x)
    (found,) = torch.autograd.grad(frozen.sum(), x)
    torch.testing.assert_close(found, weight.detach().sum(0).expand(4, 2))
    fixed_input = StepwiseLinear(weight, bias, [4])(x.detach())
    found = torch.autograd.grad(fixed_input.sum(), (weight, bias))
    torch.testing.assert_close(found, (x.detach().sum(0).expand(3, 2), bias.new_full((3,), 4)))
    with torch.inference_mode():
        ours = StepwiseLinear(weight, bias, [4])(x)
    torch.testing.assert_close(ours, nn.functional.linear(x, weight, bias).detach())


def test_backward_twice_through_one_graph() -> None:
    state, cells = recurrence(1, 2, 3, 2, 2)
    inputs = [state, *chain(*cells)]
    total = gru_recurrence(state, cells).pow(2).sum()
    first = torch.autograd.grad(total, inputs, retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(total, inputs), first)


def test_second_derivatives_are_refused() -> None:
    state, cells = recurrence(1, 2, 3, 2, 2)
    total = gru_recurrence(state, cells).pow(2).sum()
    (gradient,) = torch.autograd.grad(total, cells[0].weight, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def torch_gru(ours: BidirectionalGRU, inner: int, width: int) -> nn.GRU:
    """The same weights in torch's own module."""
    gru = nn.GRU(inner, width, batch_first=True, bidirectional=True).double()
    with torch.no_grad():
        for direction, suffix in enumerate(("l0", "l0_reverse")):
            rows = slice(3 * width * direction, 3 * width * (direction + 1))
            getattr(gru, f"weight_ih_{suffix}").copy_(ours.project.weight[rows])
            getattr(gru, f"bias_ih_{suffix}").copy_(ours.project.bias[rows])
            getattr(gru, f"weight_hh_{suffix}").copy_(ours.weight_hh[direction])
            getattr(gru, f"bias_hh_{suffix}").copy_(ours.bias[direction])
    return gru


def bidirectional(inner: int = 3, width: int = 4) -> BidirectionalGRU:
    module = BidirectionalGRU(inner, width).double()
    nn.init.normal_(module.bias)
    return module


def test_bidirectional_is_that_of_torch_over_packed_sentences() -> None:
    ours = bidirectional()
    theirs = torch_gru(ours, 3, 4)
    x = leaf(3, 5, 3)
    mask = torch.arange(5) < LENGTHS[:, None]
    packed = pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False)
    literal = pad_packed_sequence(theirs(packed)[0], batch_first=True)[0][mask]
    states = ours(x, LENGTHS)[mask]
    torch.testing.assert_close(states, literal, rtol=1e-9, atol=1e-11)
    seed = torch.randn_like(literal)
    ours_x, project, project_bias, weight, bias = torch.autograd.grad(
        states, (x, ours.project.weight, ours.project.bias, ours.weight_hh, ours.bias), seed
    )
    theirs_x, *found = torch.autograd.grad(literal, (x, *theirs.parameters()), seed)
    named = dict(zip((name for name, _ in theirs.named_parameters()), found, strict=True))

    def both(name: str) -> tuple[Tensor, Tensor]:
        return named[f"{name}_l0"], named[f"{name}_l0_reverse"]

    for a, b in (
        (ours_x, theirs_x),
        (project, torch.cat(both("weight_ih"))),
        (project_bias, torch.cat(both("bias_ih"))),
        (weight, torch.stack(both("weight_hh"))),
        (bias, torch.stack(both("bias_hh"))),
    ):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-10)


def test_padding_and_other_sentences_change_nothing() -> None:
    module, x = bidirectional(), leaf(3, 5, 3)
    mask = torch.arange(5) < LENGTHS[:, None]
    padded = torch.cat((x.where(mask[..., None], 1e3), x.new_full((3, 4, 3), -1e3)), 1)
    together = module(padded, LENGTHS)[:, :5][mask]
    alone = torch.cat([module(x[b : b + 1, :n], LENGTHS[b : b + 1])[0] for b, n in enumerate(LENGTHS)])
    assert_same(together, alone, [(t, t) for t in (x, *module.parameters())])


def test_fresh_weights() -> None:
    module = BidirectionalGRU(3, 8)
    assert (module.bias == 0).all()
    for gate in module.weight_hh.detach().reshape(6, 8, 8):
        torch.testing.assert_close(gate @ gate.t(), torch.eye(8), rtol=0, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast(dtype: torch.dtype) -> None:
    module, x = BidirectionalGRU(8, 16), torch.randn(3, 5, 8)
    mask = torch.arange(5) < LENGTHS[:, None]
    weights = (module.weight_hh, module.bias, module.project.weight)
    exact = module(x, LENGTHS)[mask]
    expected = torch.autograd.grad(exact.pow(2).sum(), weights)
    with torch.autocast("cpu", dtype):
        lowered = module(x, LENGTHS)[mask]
        total = lowered.float().pow(2).sum()
    torch.testing.assert_close(lowered.float(), exact, rtol=0.03, atol=0.03)
    for a, b in zip(torch.autograd.grad(total, weights), expected, strict=True):
        assert a.dtype == torch.float32
        torch.testing.assert_close(a, b, rtol=0.05, atol=0.03 * b.abs().max().item())


def test_halved_weights() -> None:
    module, x = BidirectionalGRU(8, 16), torch.randn(2, 5, 8)
    exact = module(x, LENGTHS[[0, 2]])
    halved = module.bfloat16()(x.bfloat16(), LENGTHS[[0, 2]])
    assert halved.dtype == torch.bfloat16
    torch.testing.assert_close(halved.float(), exact, rtol=0.05, atol=0.05)
    halved.float().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in module.parameters())
