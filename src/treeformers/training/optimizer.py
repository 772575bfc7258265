"""The optimizer of training: Adam (Kingma and Ba 2015), with Muon (Jordan 2024) for matrices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from treeformers.kernels.precision import computes_bf16
from treeformers.recipes import Train

__all__ = ["Muon", "MuonWithAdam", "orthogonal"]


def orthogonal(matrices: Tensor) -> Tensor:
    """About the nearest matrices with orthogonal rows or columns: their singular values come near 1.

    Five steps of the iteration of Newton and Schulz with the coefficients of Jordan (2024), in the precision
    of the matrices (K, M, N).
    """
    wide = matrices if matrices.shape[1] <= matrices.shape[2] else matrices.mT
    wide = wide / wide.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(5):
        gram = wide @ wide.mT
        change = torch.baddbmm(gram, gram, gram, beta=-4.7750, alpha=2.0315)
        wide = torch.baddbmm(wide, change, wide, beta=3.4445)
    return wide if wide.shape == matrices.shape else wide.mT


class Muon(torch.optim.Muon):
    """Muon (Jordan 2024), with steps of the size of Adam's.

    That of torch multiplies in bfloat16 on every processor, a matrix at a time; this one in what is faster on
    this one, matrices of one shape together where that is bfloat16: its kernels are faster than they start.

    Args:
        matrices: (M, N) each.
        lr: rate, that of Adam.
        weight_decay: decoupled.
    """

    def __init__(self, matrices: Iterable[nn.Parameter], lr: float, weight_decay: float) -> None:
        super().__init__(matrices, lr=lr, weight_decay=weight_decay)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        together = computes_bf16()
        for group in self.param_groups:
            rate, decay, momentum = group["lr"], group["weight_decay"], group["momentum"]
            alike: dict[object, list[nn.Parameter]] = defaultdict(list)
            for matrix in group["params"]:
                if matrix.grad is not None:
                    alike[matrix.shape if together else matrix].append(matrix)
            for matrices in alike.values():
                updates = torch.stack([self._mean(matrix, momentum) for matrix in matrices])
                updates = orthogonal(updates.bfloat16() if together else updates)
                for matrix, update in zip(matrices, updates, strict=True):
                    matrix.mul_(1 - rate * decay)
                    matrix.add_(update, alpha=-0.2 * rate * max(matrix.shape) ** 0.5)

    def _mean(self, matrix: nn.Parameter, momentum: float) -> Tensor:
        """The mean of the gradients, as Nesterov has it."""
        assert matrix.grad is not None
        state = self.state[matrix]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(matrix)
        mean = state["momentum_buffer"].lerp_(matrix.grad, 1 - momentum)
        return matrix.grad.lerp(mean, momentum)


class MuonWithAdam(torch.optim.Optimizer):
    """Muon for the matrices inside the layers, Adam for all other weights, as one optimizer.

    Muon's steps are scaled to the size of Adam's, so that both rates mean the same. Weight decay is
    decoupled (Loshchilov and Hutter 2019) and of matrices alone: biases and gains have no size to hold
    down, and the embedding of a rare word would fade between its steps.

    Args:
        model: whose weights are optimised; of its part `pretrained`, if it has one, with the
            `encoder_learning_rate`.
        recipe: its rates; without a `muon_learning_rate` Adam has all weights.
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
            if inner and parameter.ndim == 2 and recipe.muon_learning_rate > 0:
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
            self.parts.append(Muon(matrices, lr=recipe.muon_learning_rate, weight_decay=recipe.weight_decay))
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
