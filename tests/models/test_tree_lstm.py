"""The walk of Tree-LSTMs alone: its gradient by differences, and what is asked of it beside training.

`test_recurrent` holds it against the equations, node by node.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from treeformers.models.levels import Levels
from treeformers.models.tree_lstm import ChildSumRecurrence, NaryRecurrence, climb
from treeformers.trees.levels import level_plan
from treeformers.trees.tree import DependencyTree, Tree

torch.set_num_threads(1)
KINDS = ["child-sum", "n-ary"]
BATCHES = {
    "constituents": [
        Tree.from_brackets("(S (NP (D the) (N owl)) (V hoots))"),
        Tree.from_brackets("(N owls)"),
    ],
    "dependencies": [DependencyTree(["the", "owl", "hoots"], [2, 3, 0]), DependencyTree(["owls"], [0])],
    "words": [DependencyTree(["owls"], [0]), DependencyTree(["hoots"], [0])],
}


def given(batch: str, dtype: torch.dtype = torch.float64) -> tuple[Levels, list[Tensor]]:
    """Levels, and leaves, gates, forget and weights of both kinds, of width 2 and arity 2."""
    torch.manual_seed(0)
    levels = Levels(level_plan(BATCHES[batch]))
    inner = levels.nodes - levels.leaves if batch == "dependencies" else 1
    shapes = (levels.leaves, 6), (inner, 6), (inner, 2), (6, 2), (2, 2), (10, 4)
    return levels, [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]


def states(kind: str, levels: Levels, *tensors: Tensor) -> Tensor:
    leaves, gates, forget, weight, weight_forget, n_ary = tensors
    child_sum = kind == "child-sum"
    recurrence = (
        ChildSumRecurrence(levels, weight, weight_forget) if child_sum else NaryRecurrence(levels, n_ary, 2)
    )
    return climb(levels, recurrence, leaves, gates, forget)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_by_differences(kind: str, batch: str) -> None:
    levels, tensors = given(batch)
    idle = range(5, 6) if kind == "child-sum" else range(3, 5)  # the matrices of the other kind
    for number in idle:
        tensors[number].requires_grad_(False)
    assert torch.autograd.gradcheck(lambda *x: states(kind, levels, *x), tensors)


@pytest.mark.parametrize("kind", KINDS)
def test_backward_twice_through_one_graph(kind: str) -> None:
    levels, tensors = given("constituents")
    total = states(kind, levels, *tensors).pow(2).sum()
    first = torch.autograd.grad(total, tensors, retain_graph=True, allow_unused=True)
    again = torch.autograd.grad(total, tensors, allow_unused=True)
    for a, b in zip(first, again, strict=True):
        assert (a is None and b is None) or torch.equal(a, b)


@pytest.mark.parametrize("kind", KINDS)
def test_second_derivatives_are_refused(kind: str) -> None:
    levels, tensors = given("constituents")
    (grad,) = torch.autograd.grad(states(kind, levels, *tensors).pow(2).sum(), tensors[:1], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_matrices_and_no_gradient_at_all(kind: str) -> None:
    levels, tensors = given("constituents")
    expected = states(kind, levels, *tensors)
    whole = torch.autograd.grad(expected.sum(), tensors[:3])
    frozen = states(kind, levels, *tensors[:3], *(x.detach() for x in tensors[3:]))
    for a, b in zip(torch.autograd.grad(frozen.sum(), tensors[:3]), whole, strict=True):
        assert torch.equal(a, b)
    with torch.inference_mode():
        assert torch.equal(states(kind, levels, *tensors), expected)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("kind", KINDS)
def test_lower_precision_in_the_products_alone(kind: str, batch: str) -> None:
    levels, tensors = given(batch, torch.float32)
    expected = states(kind, levels, *tensors)
    with torch.autocast("cpu", torch.bfloat16):
        lowered = states(kind, levels, *(x.bfloat16() for x in tensors[:3]), *tensors[3:])
    assert lowered.dtype == torch.float32
    torch.testing.assert_close(lowered, expected, rtol=0.05, atol=0.05)
    found = [
        torch.autograd.grad(x.sum(), tensors, allow_unused=True, materialize_grads=True)
        for x in (lowered, expected)
    ]
    for a, b in zip(*found, strict=True):
        assert a.dtype == torch.float32
        torch.testing.assert_close(a, b, rtol=0.1, atol=0.1)
