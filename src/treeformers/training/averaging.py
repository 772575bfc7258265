"""Averages of the weights: a moving one over the steps of training, or one over the last evaluations."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import TrainerCallback

from treeformers.recipes import Train

__all__ = ["Average", "CheckpointAverage", "WeightAverage", "averaging"]

FILE = "average.safetensors"


def averaging(model: nn.Module, recipe: Train) -> Average | None:
    """The average that a recipe asks for, if it does.

    Raises:
        ValueError: it asks for two.
    """
    if recipe.ema_decay and recipe.average_checkpoints:
        raise ValueError("train.ema_decay and train.average_checkpoints: expected one of them")
    if recipe.ema_decay:
        return WeightAverage(model, recipe.ema_decay)
    return CheckpointAverage(model, recipe.average_checkpoints) if recipe.average_checkpoints else None


class Average(TrainerCallback):
    """An average of a model's weights, which is validated and saved in their place.

    Args:
        model: whose weights are averaged.
    """

    def __init__(self, model: nn.Module) -> None:
        self.weights = dict(model.named_parameters())
        self.average: dict[str, Tensor] = {}

    @contextmanager
    def swapped_in(self) -> Iterator[None]:
        """Have the average for the model's weights."""
        held = self._copy()
        self._set(self.average)
        try:
            yield
        finally:
            self._set(held)

    def save(self, folder: Path) -> None:
        """Write what `load` needs."""
        _write(self.average, folder)

    def load(self, folder: Path) -> None:
        """Go on from what `save` wrote."""
        stored = load_file(folder / FILE)
        self.average = {name: stored[name].to(weight.device) for name, weight in self.weights.items()}

    def settle(self, folder: Path) -> None:
        """Leave the average that `save` wrote in the model."""
        self.load(folder)
        self._set(self.average)

    def _copy(self) -> dict[str, Tensor]:
        return {name: weight.detach().clone() for name, weight in self.weights.items()}

    @torch.no_grad()
    def _set(self, values: Mapping[str, Tensor]) -> None:
        for name, weight in self.weights.items():
            weight.copy_(values[name])


class WeightAverage(Average):
    """Keeps the exponential moving average of a model's weights over the steps.

    After step t it is (1 - d) Σ_{i≤t} d^(t-i) w_i / (1 - d^t): the weights before the first step do not
    count, so that an average of few steps is not that of a fresh model.

    Args:
        model: whose weights are averaged.
        decay: d; 1 / (1 - d) steps count, about.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        super().__init__(model)
        self.decay = decay

    @torch.no_grad()
    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not self.average:
            self.average = self._copy()
        share = (1 - self.decay) / (1 - self.decay**state.global_step)
        torch._foreach_lerp_(list(self.average.values()), list(self.weights.values()), share)


class CheckpointAverage(Average):
    """The mean of a model's weights at the last evaluations, as translation models are averaged.

    Args:
        model: whose weights are averaged.
        count: evaluations.
    """

    def __init__(self, model: nn.Module, count: int) -> None:
        super().__init__(model)
        self.recent: deque[dict[str, Tensor]] = deque(maxlen=count)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if control.should_evaluate:
            self.recent.append(self._copy())
            self._average()

    def save(self, folder: Path) -> None:
        _write(
            {f"{n}/{name}": weight for n, taken in enumerate(self.recent) for name, weight in taken.items()},
            folder,
        )

    def load(self, folder: Path) -> None:
        stored = load_file(folder / FILE)
        count = len(stored) // len(self.weights)
        self.recent.clear()
        for n in range(count):
            of = {name: stored[f"{n}/{name}"].to(weight.device) for name, weight in self.weights.items()}
            self.recent.append(of)
        self._average()

    def _average(self) -> None:
        self.average = {
            name: torch.stack([taken[name] for taken in self.recent]).mean(0) for name in self.weights
        }


def _write(values: Mapping[str, Tensor], folder: Path) -> None:
    save_file({name: weight.contiguous() for name, weight in values.items()}, folder / FILE)
