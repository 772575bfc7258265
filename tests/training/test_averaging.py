from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from treeformers.training.averaging import WeightAverage

torch.set_num_threads(1)


def take(average: WeightAverage, step: int) -> None:
    """Move the weights, and have them averaged."""
    with torch.no_grad():
        for weight in average.weights.values():
            weight.copy_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(step)))
    average.on_step_end(None, SimpleNamespace(global_step=step), None)


def test_it_is_that_of_the_equation() -> None:
    model = nn.Linear(3, 2)
    average = WeightAverage(model, 0.9)
    past = []
    for step in range(1, 8):
        take(average, step)
        past.append(model.weight.detach().double().clone())
        expected = sum(0.1 * 0.9 ** (step - i) * w for i, w in enumerate(past, start=1)) / (1 - 0.9**step)
        torch.testing.assert_close(average.average["weight"].double(), expected, rtol=1e-5, atol=1e-6)
    assert set(average.average) == {"weight", "bias"}


def test_weights_come_back_even_after_an_error() -> None:
    model = nn.Linear(3, 2)
    average = WeightAverage(model, 0.5)
    take(average, 1)
    take(average, 2)
    before = model.weight.detach().clone()
    with pytest.raises(RuntimeError), average.swapped_in():
        assert torch.equal(model.weight, average.average["weight"])
        assert not torch.equal(model.weight, before)
        raise RuntimeError
    assert torch.equal(model.weight, before)


def test_what_is_stored_goes_on_as_if_never_stored(tmp_path: Path) -> None:
    whole, resumed = WeightAverage(nn.Linear(3, 2), 0.9), WeightAverage(nn.Linear(3, 2), 0.9)
    for step in (1, 2, 3):
        take(whole, step)
    whole.save(tmp_path)
    resumed.load(tmp_path)
    for step in (4, 5):
        take(whole, step)
        take(resumed, step)
    assert all(torch.equal(whole.average[name], resumed.average[name]) for name in whole.average)


def test_shared_weights_are_averaged_once(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Embedding(4, 3), nn.Linear(3, 4, bias=False))
    model[1].weight = model[0].weight
    average = WeightAverage(model, 0.5)
    take(average, 1)
    take(average, 2)
    average.save(tmp_path)
    average.settle(tmp_path)
    assert torch.equal(model[1].weight, average.average["0.weight"])
    assert model[1].weight is model[0].weight
