"""The cell against literal loops over Ahmed et al. 2019, Eqs. 3-8, in float64: values and gradients."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from treeformers.attention.traversal import BranchAttention, composition_attention, element_sum

torch.set_num_threads(1)
sizes = settings(max_examples=15, deadline=None)
COMPOSITIONS = ["branch", "multihead", "single"]


def literal_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Eq. 3, one query (d) at a time."""
    rows = []
    for q in query:
        scores = torch.stack([q @ k / math.sqrt(len(k)) for k in key])
        shares = scores.exp() / scores.exp().sum()
        rows.append(sum(share * v for share, v in zip(shares, value, strict=True)))
    return torch.stack(rows)


def literal_norm(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    variance = ((x - x.mean()) ** 2).mean()
    return (x - x.mean()) / (variance + 1e-5).sqrt() * gain + bias


def literal_cell(cell: BranchAttention, x: Tensor) -> Tensor:
    """Eqs. 3-8 for the rows (C, D) of one node."""
    head = cell.width // cell.branches
    query, key, value = cell.query_key_value.weight.view(3, cell.branches, head, cell.width)
    attended = [literal_attention(x @ query[i].T, x @ key[i].T, x @ value[i].T) for i in range(cell.branches)]
    if cell.composition == "branch":
        kappa, alpha = cell.kappa, cell.alpha
        if cell.simplex:
            kappa, alpha = kappa.exp() / kappa.exp().sum(), alpha.exp() / alpha.exp().sum()
        changed = torch.zeros_like(x)
        for i in range(cell.branches):
            for row in range(len(x)):
                projected = attended[i][row] @ cell.output[i] + x[row]
                b = literal_norm(projected, cell.gain[i], cell.bias[i]) * kappa[i]
                hidden = (b @ cell.first[i] + cell.first_bias[i]).clamp_min(0)
                pcnn = hidden @ cell.second[i] + cell.second_bias[i]
                changed = changed.index_add(0, torch.tensor([row]), (alpha[i] * pcnn)[None])
    else:
        changed = torch.cat(attended, 1) @ cell.output[0]
    node = torch.zeros(cell.width, dtype=x.dtype)
    for a, b in zip(changed, x, strict=True):
        composed = torch.tanh(cell.transform.weight @ (a + b) + cell.transform.bias)
        if cell.carry is not None:
            carried = 1 / (1 + (-(cell.carry.weight @ (a + b)) - cell.carry.bias).exp())
            composed = carried * b + (1 - carried) * composed
        node = node + composed
    return node


def released_norm(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    spread = (((x - x.mean()) ** 2).sum() / (len(x) - 1)).sqrt()
    return gain * (x - x.mean()) / (spread + 1e-3) + bias


def literal_released(cell: BranchAttention, x: Tensor, residual: Tensor) -> Tensor:
    """The computation of the released code for one node."""

    def over_queries(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = (q @ k.T / math.sqrt(k.shape[1])).exp()
        return scores / scores.sum(0, keepdim=True) @ v

    if cell.composition == "single":
        return torch.tanh((over_queries(x, x, x) + residual).sum(0))
    head = cell.width // cell.branches
    query, key, value = cell.query_key_value.weight.view(3, cell.branches, head, cell.width)
    attended = [over_queries(x @ query[i].T, x @ key[i].T, x @ value[i].T) for i in range(cell.branches)]
    if cell.composition == "multihead":
        return torch.tanh((torch.cat(attended, 1) + residual).sum(0))
    summed = sum(attended[i] @ cell.output[i] for i in range(cell.branches)) + x
    shared = torch.stack([released_norm(row, cell.gain, cell.bias) for row in summed])
    changed = torch.zeros_like(x)
    for i in range(cell.branches):
        inner = cell.kappa[i] * shared
        outer = (inner @ cell.first[i] + cell.first_bias[i]).relu() @ cell.second[i] + cell.second_bias[i]
        rows = [released_norm(row, cell.branch_gain[i], cell.branch_bias[i]) for row in outer + inner]
        changed = changed + cell.alpha[i] * torch.stack(rows)
    return torch.tanh((changed + residual).sum(0))


def build(composition: str, variant: str = "paper", **changes: Any) -> BranchAttention:
    """A cell in float64 whose every parameter is off its start."""
    torch.manual_seed(1)
    cell = BranchAttention(12, 3, 7, composition, variant, **changes).double().eval()
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return cell


def random_nodes(counts: list[int], rows: int) -> tuple[Tensor, Tensor]:
    """Rows of nodes (N, C, 12) with something wild on the padding, which stands anywhere."""
    x = torch.randn(len(counts), rows, 12, dtype=torch.float64)
    mask = torch.zeros(len(counts), rows, dtype=torch.bool)
    for node, count in enumerate(counts):
        mask[node, torch.randperm(rows)[:count]] = True
    return torch.where(mask[..., None], x, 1e3).requires_grad_(), mask


def assert_same(ours: Tensor, literal: Tensor, inputs: list[Tensor]) -> None:
    seed = torch.randn_like(literal)
    torch.testing.assert_close(ours, literal, rtol=1e-9, atol=1e-10)
    found = [torch.autograd.grad(y, inputs, seed, allow_unused=True) for y in (ours, literal)]
    for a, b in zip(*found, strict=True):
        if a is None or b is None:
            assert a is b
        else:
            torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("changes", [{}, {"simplex": False}, {"highway": True}], ids=str)
@pytest.mark.parametrize("composition", COMPOSITIONS)
@sizes
@given(counts=st.lists(st.integers(1, 4), min_size=1, max_size=4), padding=st.integers(0, 2))
def test_cell(composition: str, changes: dict[str, bool], counts: list[int], padding: int) -> None:
    cell = build(composition, **changes)
    x, mask = random_nodes(counts, max(counts) + padding)
    literal = torch.stack([literal_cell(cell, row[real]) for row, real in zip(x, mask, strict=True)])
    assert_same(cell(x, mask), literal, [x, *cell.parameters()])


@pytest.mark.parametrize("composition", COMPOSITIONS)
@sizes
@given(counts=st.lists(st.integers(1, 4), min_size=1, max_size=4), other=st.booleans())
def test_released_cell(composition: str, counts: list[int], other: bool) -> None:
    cell = build(composition, "released")
    x, mask = random_nodes(counts, max(counts) + 1)
    residual = torch.randn_like(x).requires_grad_() if other else x
    literal = torch.stack(
        [
            literal_released(cell, row[real], added[real])
            for row, added, real in zip(x, residual, mask, strict=True)
        ]
    )
    ours = cell(x, mask, residual if other else None)
    assert_same(ours, literal, [x, *cell.parameters(), *([residual] if other else [])])


def test_an_integer_mask_equals_a_boolean_one() -> None:
    cell = build("branch")
    x, mask = random_nodes([1, 3, 2], 3)
    assert torch.equal(cell(x, mask.long()), cell(x, mask))


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_queries_and_keys_matter(composition: str) -> None:
    """In the released code they do not matter if no norm follows the heads: the softmax cancels."""
    x = torch.randn(5, 3, 12, dtype=torch.float64)

    def gradient(cell: BranchAttention) -> list[float]:
        loss = (cell(x) * torch.randn(5, 12, dtype=torch.float64)).sum()
        (found,) = torch.autograd.grad(loss, cell.query_key_value.weight)
        query, key, _ = found.chunk(3)
        return [query.norm().item(), key.norm().item()]

    assert min(gradient(build(composition))) > 1e-2
    if composition == "multihead":
        assert max(gradient(build(composition, "released"))) < 1e-12
    if composition == "branch":
        assert min(gradient(build(composition, "released"))) > 1e-3


def test_attention_sums_to_one_over_the_chosen_axis() -> None:
    query, key, value = torch.randn(3, 2, 3, 4, 5)
    mask = torch.tensor([[True, True, False, True], [True, False, False, False]])
    for over, axis in (("keys", -1), ("queries", -2)):
        context, weights = composition_attention(query, key, value, mask, over)
        weights = torch.where(mask[:, None, :, None] & mask[:, None, None], weights, 0)
        torch.testing.assert_close(weights.sum(axis), mask[:, None].expand(-1, 3, -1).float())
        assert context.shape == (2, 3, 4, 5)


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_row_order_does_not_matter(composition: str) -> None:
    cell = build(composition)
    x = torch.randn(3, 4, 12, dtype=torch.float64)
    torch.testing.assert_close(cell(x), cell(x[:, [2, 0, 3, 1]]))


def test_branch_weights_start_equal() -> None:
    cell = BranchAttention(12, 3)
    for weights in cell.branch_weights():
        torch.testing.assert_close(weights, torch.full((3,), 1 / 3))
    with torch.no_grad():
        cell.kappa += torch.tensor([3.0, -1.0, 0.5])
    kappa, _ = cell.branch_weights()
    assert (kappa > 0).all() and kappa.sum().item() == pytest.approx(1)
    free = BranchAttention(12, 3, simplex=False)
    assert free.branch_weights()[0] is free.kappa and free.kappa.tolist() == [pytest.approx(1 / 3)] * 3
    released = BranchAttention(12, 3, variant="released")
    assert released.alpha.sum().item() == pytest.approx(1) and released.alpha.std() > 0


def test_dropout_sizes_and_errors() -> None:
    cell = BranchAttention(300)
    assert (
        sum(p.numel() for p in cell.parameters())
        == 6 * (3 * 300 * 50 + 50 * 300 + 2 * 300 + 2 + 2 * 300 * 341 + 341 + 300) + 300 * 301
    )
    x = torch.randn(2, 3, 300)
    assert not torch.equal(cell(x), cell(x))
    assert torch.equal(cell.eval()(x), cell(x))
    with pytest.raises(ValueError, match="width is 10, expected a multiple of the 6 branches"):
        BranchAttention(10)
    assert BranchAttention(10, composition="single").branches == 1
    with pytest.raises(ValueError, match="highway is true, but the released code has none"):
        BranchAttention(12, variant="released", highway=True)


def test_element_sum() -> None:
    rows = torch.arange(6.0).view(3, 2)
    assert element_sum(rows, torch.tensor([1, 0, 1]), 3).tolist() == [[2, 3], [4, 6], [0, 0]]
