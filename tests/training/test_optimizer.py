from __future__ import annotations

from pathlib import Path

import pytest
import torch

from treeformers.attention.traversal import BranchAttention
from treeformers.recipes import Train
from treeformers.training import optimizer as optimizer_module
from treeformers.training.optimizer import Muon, MuonWithAdam, orthogonal

torch.set_num_threads(1)


def literal_orthogonal(matrix: torch.Tensor) -> torch.Tensor:
    """The polynomial of Jordan (2024) on the singular values, five times."""
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    values = values / values.square().sum().sqrt()
    for _ in range(5):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    return left @ torch.diag(values) @ right


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (4, 4), (3, 7), (7, 3)])
def test_orthogonal_by_its_singular_values(shape: tuple[int, int]) -> None:
    matrix = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    several = torch.stack((matrix, 3 * matrix.flip(0), torch.zeros_like(matrix)))
    before = several.clone()
    found = orthogonal(several)
    torch.testing.assert_close(found[0], literal_orthogonal(matrix))
    torch.testing.assert_close(found[1], literal_orthogonal(matrix.flip(0)))
    assert not found[2].any()
    assert torch.equal(several, before)


@pytest.mark.parametrize("bf16", [False, True])
def test_muon_is_that_of_torch(bf16: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the letter where this one too multiplies in bfloat16."""
    monkeypatch.setattr(optimizer_module, "computes_bf16", lambda: bf16)
    generator = torch.Generator().manual_seed(1)
    ours = [
        torch.nn.Parameter(torch.randn(*size, generator=generator))
        for size in ((6, 4), (4, 9), (3, 3), (6, 4))
    ]
    theirs = [torch.nn.Parameter(matrix.detach().clone()) for matrix in ours]
    rates = {"lr": 0.05, "weight_decay": 0.1}
    optimizers = Muon(ours, **rates), torch.optim.Muon(theirs, **rates, adjust_lr_fn="match_rms_adamw")
    for _ in range(4):
        for a, b in zip(ours, theirs, strict=True):
            if a.shape == (3, 3):  # has no gradient
                continue
            a.grad = torch.randn(a.shape, generator=generator)
            b.grad = a.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    for a, b in zip(ours, theirs, strict=True):
        difference = 1e-6 if bf16 else 5e-3
        torch.testing.assert_close(a, b, rtol=difference, atol=difference)
    assert not torch.equal(ours[0], theirs[0]) or bf16


class TestMuonWithAdam:
    def model(self, seed: int = 0) -> torch.nn.Module:
        torch.manual_seed(seed)
        return torch.nn.Sequential(torch.nn.Embedding(7, 4), torch.nn.Linear(4, 4), torch.nn.Linear(4, 3))

    def step(self, model: torch.nn.Module, optimizer: MuonWithAdam) -> None:
        optimizer.zero_grad()
        model(torch.arange(7)).square().sum().backward()
        optimizer.step()

    def test_muon_has_the_matrices_that_are_no_embeddings(self) -> None:
        model = self.model()
        adam, muon = MuonWithAdam(model, Train(muon_learning_rate=0.1)).parts
        assert isinstance(adam, torch.optim.Adam) and isinstance(muon, torch.optim.Muon)
        names = {id(parameter): name for name, parameter in model.named_parameters()}
        assert [names[id(p)] for p in muon.param_groups[0]["params"]] == ["1.weight", "2.weight"]
        assert [names[id(p)] for p in adam.param_groups[0]["params"]] == ["0.weight", "1.bias", "2.bias"]

    def test_without_a_rate_of_its_own_adam_has_everything(self) -> None:
        model = self.model()
        (adam,) = MuonWithAdam(model, Train(learning_rate=0.01)).parts
        assert len(adam.param_groups[0]["params"]) == 5
        assert adam.param_groups[0]["betas"] == (0.9, 0.98)

    @pytest.mark.parametrize("rate", [0.0, 0.1])
    def test_matrices_alone_decay_by_their_rate(self, rate: float) -> None:
        """With a gradient of zero what is left of a step is the decay."""
        model = self.model()
        with torch.no_grad():
            model[1].bias.fill_(1.0)
        before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        train = Train(learning_rate=0.5, muon_learning_rate=rate, weight_decay=0.2)
        optimizer = MuonWithAdam(model, train)
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
        for name, parameter in model.named_parameters():
            left = 1 - (rate or 0.5) * 0.2 if name in ("1.weight", "2.weight") else 1.0
            torch.testing.assert_close(parameter, left * before[name])

    @pytest.mark.parametrize("rate", [0.0, 0.1])
    def test_gains_and_biases_of_branches_are_no_matrices(self, rate: float) -> None:
        cell = BranchAttention(8, branches=2, intermediate=4)
        adam, *rest = MuonWithAdam(cell, Train(muon_learning_rate=rate, weight_decay=0.2)).parts
        names = {id(parameter): name for name, parameter in cell.named_parameters()}
        others = {names[id(p)] for p in adam.param_groups[0]["params"]}
        inner = {names[id(p)] for part in rest for group in part.param_groups for p in group["params"]}
        assert others == {"gain", "bias", "kappa", "alpha", "first_bias", "second_bias", "transform.bias"}
        assert inner == {"output", "first", "second", "query_key_value.weight", "transform.weight"}

    def test_a_scheduler_sets_both_rates(self) -> None:
        optimizer = MuonWithAdam(self.model(), Train(learning_rate=0.5, muon_learning_rate=0.1))
        torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5)
        assert [part.param_groups[0]["lr"] for part in optimizer.parts] == [0.25, 0.05]

    @pytest.mark.parametrize("decay", [0.0, 0.1])
    @pytest.mark.parametrize("rate", [0.0, 0.1])
    def test_a_stored_state_goes_on_as_if_never_stored(
        self, rate: float, decay: float, tmp_path: Path
    ) -> None:
        train = Train(learning_rate=0.05, muon_learning_rate=rate, weight_decay=decay)
        whole = self.model()
        optimizer = MuonWithAdam(whole, train)
        for _ in range(3):
            self.step(whole, optimizer)
        torch.save({"model": whole.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "state.pt")
        # As the trainer reads its checkpoints: tensors and numbers, and no code.
        stored = torch.load(tmp_path / "state.pt", weights_only=True)
        resumed = self.model(seed=1)
        resumed.load_state_dict(stored["model"])
        other = MuonWithAdam(resumed, train)
        other.load_state_dict(stored["optimizer"])
        for _ in range(3):
            self.step(whole, optimizer)
            self.step(resumed, other)
        for a, b in zip(whole.parameters(), resumed.parameters(), strict=True):
            assert torch.equal(a, b)
