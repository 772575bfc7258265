"""Dropout: which elements go, what becomes of the others, and of the gradient."""

import pytest
import torch
from torch import nn

from treeformers.kernels.dropout import Dropout, drop, keep_mask


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.93])
def test_a_share_is_zero_and_the_others_are_scaled(probability: float) -> None:
    torch.manual_seed(0)
    x = torch.rand(300, 401) + 1
    dropped = drop(x, probability)
    kept = dropped != 0
    # Five standard deviations of the share of so many elements.
    deviation = (probability * (1 - probability) / x.numel()) ** 0.5
    assert kept.float().mean().item() == pytest.approx(1 - probability, abs=5 * deviation)
    torch.testing.assert_close(dropped[kept], x[kept] / (1 - probability))


def test_elements_are_dropped_one_without_regard_to_the_other() -> None:
    """Four elements share a number of the generator, and none of its parts tells of another."""
    torch.manual_seed(0)
    kept = keep_mask((200_000, 4), 0.3).double()
    correlations = torch.corrcoef(kept.T) - torch.eye(4)
    assert correlations.abs().max().item() < 5 * 200_000**-0.5
    shares = kept.mean(0)
    assert (shares - 0.7).abs().max().item() < 5 * (0.3 * 0.7 / 200_000) ** 0.5


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5, 7), (2, 0, 3)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_shape_and_type_stay(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x = torch.ones(shape, dtype=dtype)
    dropped = drop(x, 0.5)
    assert dropped.shape == x.shape
    assert dropped.dtype == dtype
    assert set(dropped.flatten().tolist()) <= {0.0, 2.0}


def test_the_gradient_passes_where_the_value_does() -> None:
    torch.manual_seed(0)
    x = torch.randn(40, 30, dtype=torch.float64, requires_grad=True)
    flow = torch.randn(40, 30, dtype=torch.float64)
    dropped = drop(x, 0.25)
    dropped.backward(flow)
    assert x.grad is not None
    torch.testing.assert_close(x.grad, flow * (dropped != 0) / 0.75)


def test_a_seed_gives_the_same_mask_again() -> None:
    x = torch.ones(50, 50)
    torch.manual_seed(3)
    first, second = drop(x, 0.5), drop(x, 0.5)
    torch.manual_seed(3)
    assert torch.equal(drop(x, 0.5), first)
    assert not torch.equal(first, second)
    masks = [keep_mask((50, 50), 0.5, generator=torch.Generator().manual_seed(3)) for _ in range(2)]
    assert torch.equal(*masks)


def test_nothing_and_everything() -> None:
    x = torch.randn(20, 20)
    assert torch.equal(drop(x, 0.0), x)
    assert torch.equal(drop(x, 0.9, training=False), x)
    assert not drop(x, 1.0).any()
    assert keep_mask((2000,), 0.0).all()
    # Nearer to 1 than sixteen bits can say: not all are dropped, so that the mean is not lost for good.
    assert keep_mask((2_000_000,), 1 - 1e-9).any()


def test_a_module_drops_in_training_only() -> None:
    torch.manual_seed(0)
    x = torch.ones(30, 30)
    module = nn.Sequential(Dropout(0.5))
    assert set(module(x).flatten().tolist()) == {0.0, 2.0}
    assert torch.equal(module.eval()(x), x)


@pytest.mark.parametrize("probability", [-0.1, 1.1])
def test_what_is_no_probability_is_refused(probability: float) -> None:
    with pytest.raises(ValueError, match=str(probability)):
        drop(torch.ones(3), probability)
    with pytest.raises(ValueError, match=str(probability)):
        keep_mask((3,), probability)
    with pytest.raises(ValueError, match=str(probability)):
        Dropout(probability)
