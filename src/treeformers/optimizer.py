"""The optimizer of training: Adam (Kingma and Ba 2015), with Muon (Jordan 2024) for matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from treeformers.recipes import Train

__all__ = ["MuonWithAdam"]


class MuonWithAdam(torch.optim.Optimizer):
    """Muon for the matrices inside the layers, Adam for all other weights, as one optimizer.

    Muon's steps are scaled to the size of Adam's, so that both rates mean the same. Weight decay is
    decoupled (Loshchilov and Hutter 2019) and of matrices alone: biases and gains have no size to hold
    down, and the embedding of a rare word would fade between its steps.

    Args:
        model: whose weights are optimised; of its part `pretrained`, if it has one, with the
            `encoder_learning_rate`.
        recipe: its rates; without a `matrix_learning_rate` Adam has all weights.
    """

    def __init__(self, model: nn.Module, recipe: Train) -> None:
        embeddings = {id(p) for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
        matrices: list[nn.Parameter] = []
        decayed: list[nn.Parameter] = []
        others: list[nn.Parameter] = []
        encoder = getattr(model, "pretrained", None) if recipe.encoder_learning_rate else None
        pretrained = list(encoder.parameters()) if isinstance(encoder, nn.Module) else []
        apart = set(map(id, pretrained))
        for name, parameter in model.named_parameters():
            if id(parameter) in apart:
                continue
            # Each row is a vector of its own: of an embedding, or the gains or biases of a branch.
            of_vectors = id(parameter) in embeddings or name.endswith(("gain", "bias"))
            inner = parameter.ndim >= 2 and not of_vectors
            if inner and parameter.ndim == 2 and recipe.matrix_learning_rate > 0:
                matrices.append(parameter)
            elif inner and recipe.weight_decay > 0:
                decayed.append(parameter)
            else:
                others.append(parameter)
        self.parts: list[torch.optim.Optimizer] = [
            torch.optim.Adam(
                parameters,
                lr=rate,
                betas=(0.9, recipe.beta2),
                eps=1e-9,
                weight_decay=decay,
                decoupled_weight_decay=True,
                fused=True,
            )
            for parameters, rate, decay in (
                (others, recipe.learning_rate, 0.0),
                (decayed, recipe.learning_rate, recipe.weight_decay),
                (pretrained, recipe.encoder_learning_rate, 0.0),
            )
            if parameters
        ]
        if matrices:
            self.parts.append(
                torch.optim.Muon(
                    matrices,
                    lr=recipe.matrix_learning_rate,
                    weight_decay=recipe.weight_decay,
                    adjust_lr_fn="match_rms_adamw",
                )
            )
        super().__init__([group for part in self.parts for group in part.param_groups], {})
        self._share()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self._share()

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        for part in self.parts:
            part.step()

    def _share(self) -> None:
        """Scheduler and checkpoint see this optimizer; its parts work on the same groups and state."""
        for part, group in zip(self.parts, self.param_groups, strict=True):
            part.param_groups, part.state = [group], self.state
