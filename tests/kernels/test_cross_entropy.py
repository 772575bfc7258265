"""The closed form against torch's cross-entropy and its autograd."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from treeformers.kernels.cross_entropy import per_label, vocabulary_loss

torch.set_num_threads(1)


def inputs(labels: int = 7, words: int = 11, scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    hidden, weight = (
        (scale * torch.randn(rows, 5, generator=generator, dtype=torch.float64)).requires_grad_()
        for rows in (labels, words)
    )
    return hidden, weight, torch.randint(words, (labels,), generator=generator)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_equals_cross_entropy_and_its_gradient(smoothing: float, scale: float) -> None:
    hidden, weight, labels = inputs(scale=scale)
    expected = F.cross_entropy(hidden @ weight.T, labels, reduction="sum", label_smoothing=smoothing)
    found = vocabulary_loss(hidden, weight, labels, smoothing)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    wanted = torch.autograd.grad(3 * expected, (hidden, weight))
    for gradient, gold in zip(torch.autograd.grad(3 * found, (hidden, weight)), wanted, strict=True):
        torch.testing.assert_close(gradient, gold, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_bias_has_its_gradient(smoothing: float) -> None:
    hidden, weight, labels = inputs()
    bias = torch.linspace(-2, 3, len(weight), dtype=torch.float64, requires_grad=True)
    scores = F.linear(hidden, weight, bias)
    expected = F.cross_entropy(scores, labels, reduction="sum", label_smoothing=smoothing)
    found = vocabulary_loss(hidden, weight, labels, smoothing, bias)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    wanted = torch.autograd.grad(3 * expected, (hidden, weight, bias))
    given = torch.autograd.grad(3 * found, (hidden, weight, bias))
    torch.testing.assert_close(given, wanted, rtol=1e-12, atol=1e-11)


def test_a_word_that_is_all_but_impossible_has_a_finite_loss() -> None:
    hidden = torch.tensor([[1.0, -1.0]], requires_grad=True)
    weight = 300 * torch.eye(2)
    loss = vocabulary_loss(hidden, weight, torch.tensor([1]))
    assert loss.item() == 600
    loss.backward()
    assert hidden.grad is not None and hidden.grad.tolist() == [[300, -300]]


def test_without_labels_it_is_zero() -> None:
    hidden, weight, labels = inputs(labels=0)
    loss = vocabulary_loss(hidden, weight, labels, 0.1)
    loss.backward()
    assert loss.item() == 0 and weight.grad is not None and not weight.grad.any()


def test_under_autocast_the_products_alone_are_of_lower_precision() -> None:
    hidden, weight, labels = inputs(labels=50)
    expected = torch.autograd.grad(vocabulary_loss(hidden, weight, labels, 0.1), (hidden, weight))
    low = hidden.detach().float().requires_grad_(), weight.detach().float().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        loss = vocabulary_loss(*low, labels, 0.1)
    assert loss.dtype == torch.float32
    for found, gold in zip(torch.autograd.grad(loss, low), expected, strict=True):
        assert found.dtype == torch.float32
        torch.testing.assert_close(found.double(), gold, rtol=0.05, atol=0.1)


def test_a_loss_is_shared_by_its_labels_or_by_the_items_given() -> None:
    total, labels = torch.tensor(6.0), torch.tensor([[4, -100], [0, 1]])
    assert per_label(total, labels) == 2 and per_label(total, labels, 4) == 1.5
    assert per_label(torch.tensor(0.0), torch.full((2,), -100)) == 0
