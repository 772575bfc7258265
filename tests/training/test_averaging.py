from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from treeformers.recipes import Train
from treeformers.training.averaging import Average, CheckpointAverage, WeightAverage, averaging

torch.set_num_threads(1)


def take(average: WeightAverage | CheckpointAverage, step: int, evaluated: bool = True) -> None:
    """Move the weights, and have them averaged."""
    with torch.no_grad():
        for weight in average.weights.values():
            weight.copy_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(step)))
    control = SimpleNamespace(should_evaluate=evaluated)
    average.on_step_end(None, SimpleNamespace(global_step=step), control)


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


@pytest.mark.parametrize("average", [partial(WeightAverage, decay=0.9), partial(CheckpointAverage, count=3)])
def test_what_is_stored_goes_on_as_if_never_stored(average: Callable[..., Average], tmp_path: Path) -> None:
    whole, resumed = average(nn.Linear(3, 2)), average(nn.Linear(3, 2))
    for step in (1, 2):
        take(whole, step)
    whole.save(tmp_path)
    resumed.load(tmp_path)
    for step in (3, 4, 5):
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


class TestLastEvaluations:
    def test_it_is_their_mean(self, tmp_path: Path) -> None:
        model = nn.Linear(3, 2)
        average = CheckpointAverage(model, 3)
        past = []
        for step in range(1, 10):
            take(average, step, evaluated=step % 2 == 1)
            if step % 2:
                past.append(model.weight.detach().clone())
                expected = torch.stack(past[-3:]).mean(0)
                assert torch.equal(average.average["weight"], expected)
        before = model.weight.detach().clone()
        with average.swapped_in():
            assert torch.equal(model.weight, expected)
        assert torch.equal(model.weight, before)
        average.save(tmp_path)
        average.settle(tmp_path)
        assert torch.equal(model.weight, expected)


def test_a_recipe_asks_for_one_or_none() -> None:
    model = nn.Linear(3, 2)
    assert averaging(model, Train()) is None
    assert isinstance(averaging(model, Train(ema_decay=0.5)), WeightAverage)
    assert isinstance(averaging(model, Train(average_checkpoints=5)), CheckpointAverage)
    with pytest.raises(
        ValueError, match=r"^train\.ema_decay and train\.average_checkpoints: expected one of them$"
    ):
        averaging(model, Train(ema_decay=0.5, average_checkpoints=5))
