"""The moving average of the weights over the steps of training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import TrainerCallback

FILE = "average.safetensors"


class WeightAverage(TrainerCallback):
    """Keeps the exponential moving average of a model's weights over the steps.

    After step t it is (1 - d) Σ_{i≤t} d^(t-i) w_i / (1 - d^t): the weights before the first step do not
    count, so that an average of few steps is not that of a fresh model.

    Args:
        model: whose weights are averaged.
        decay: d; 1 / (1 - d) steps count, about.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.weights = dict(model.named_parameters())
        self.decay = decay
        self.average: dict[str, torch.Tensor] = {}

    @torch.no_grad()
    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not self.average:
            self.average = {name: weight.detach().clone() for name, weight in self.weights.items()}
        share = (1 - self.decay) / (1 - self.decay**state.global_step)
        torch._foreach_lerp_(list(self.average.values()), list(self.weights.values()), share)

    @contextmanager
    def swapped_in(self) -> Iterator[None]:
        """Have the average for the model's weights."""
        held = {name: weight.detach().clone() for name, weight in self.weights.items()}
        self._set(self.average)
        try:
            yield
        finally:
            self._set(held)

    def save(self, folder: Path) -> None:
        save_file({name: weight.contiguous() for name, weight in self.average.items()}, folder / FILE)

    def load(self, folder: Path) -> None:
        """Go on from what `save` wrote."""
        stored = load_file(folder / FILE)
        self.average = {name: stored[name].to(weight.device) for name, weight in self.weights.items()}

    def settle(self, folder: Path) -> None:
        """Leave the average that `save` wrote in the model."""
        self._set(load_file(folder / FILE))

    @torch.no_grad()
    def _set(self, values: dict[str, torch.Tensor]) -> None:
        for name, weight in self.weights.items():
            weight.copy_(values[name])
