from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel, Trainer
from transformers.trainer_utils import get_last_checkpoint

from conftest import ROOT
from treeformers.models.treebert import TreeBertForMaskedLM
from treeformers.recipes import InduceRecipe, Train
from treeformers.tasks.induce.train import read_text, train_inducer
from treeformers.training.batches import TokenBatchSampler
from treeformers.training.fit import Fit, fit

torch.set_num_threads(1)

HEADLINE = ROOT / "experiments" / "wang2019" / "tree-l10-wsj-all.toml"


def recipe(*overrides: str) -> InduceRecipe:
    sizes = ("data.sentences=120", "train.num_evaluations=4", "model.hidden_dropout_prob=0.1")
    return InduceRecipe.load(HEADLINE, "smoke", (*sizes, *overrides))


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return TreeBertForMaskedLM.from_pretrained(folder).state_dict()


class _KilledError(Exception):
    pass


def train_until_saved(
    recipe: InduceRecipe, out: Path, seed: int, last: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is killed once the state after its last step is in its place."""
    settle = fit.__globals__["settle"]

    def killed_once_saved(folder: Path, step: int, best: int | None = None) -> None:
        settle(folder, step, best)
        if step == last:
            raise _KilledError

    with monkeypatch.context() as patch:
        patch.setitem(fit.__globals__, "settle", killed_once_saved)
        with pytest.raises(_KilledError):
            train_inducer(recipe, out, seed, progress=False)


@pytest.mark.parametrize(
    "changes",
    [
        ["train.muon_learning_rate=0.0"],
        ["train.muon_learning_rate=0.004", "train.weight_decay=0.1"],
        ["train.ema_decay=0.9", "train.weight_decay=0.1"],
        ["train.ema_decay=0.9", "train.num_evaluations=1"],
    ],
    ids=["adam", "muon", "average", "between evaluations"],
)
def test_a_resumed_run_equals_one_never_stopped(
    changes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(fit.__globals__, "STEPS_BETWEEN_STATES", 7)
    once = recipe("train.epochs=3", "train.num_evaluations=5", "train.tokens_per_batch=120", *changes)
    whole = train_inducer(once, tmp_path / "whole", seed=3, progress=False)

    step = Trainer.training_step

    def killed_in_the_second_half(self: Trainer, *args: object, **kwargs: object) -> torch.Tensor:
        if self.state.global_step == whole.steps * 3 // 5 + 2:
            raise _KilledError
        return step(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "training_step", killed_in_the_second_half)
        with pytest.raises(_KilledError):
            train_inducer(once, tmp_path / "parts", seed=3, progress=False)
    assert not (tmp_path / "parts" / "model.safetensors").exists()
    last = Path(get_last_checkpoint(str(tmp_path / "parts" / "checkpoints")))
    reached = json.loads((last / "trainer_state.json").read_text())
    assert 0 < reached["global_step"] < whole.steps
    assert reached["epoch"] % 1  # within an epoch
    resumed = train_inducer(once, tmp_path / "parts", seed=3, resume=True, progress=False)

    assert (resumed.steps, resumed.loss, resumed.history) == (whole.steps, whole.loss, whole.history)
    expected, found = weights(tmp_path / "whole"), weights(tmp_path / "parts")
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    assert not (tmp_path / "parts" / "checkpoints").exists()


def test_a_run_killed_after_its_last_step_is_not_trained_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = recipe("train.epochs=3", "train.max_steps=8", "train.tokens_per_batch=400", "train.ema_decay=0.9")
    whole = train_inducer(once, tmp_path / "whole", seed=3, progress=False)
    train_until_saved(once, tmp_path / "parts", 3, whole.steps, monkeypatch)
    resumed = train_inducer(once, tmp_path / "parts", seed=3, resume=True, progress=False)
    assert (resumed.steps, resumed.loss, resumed.history) == (whole.steps, whole.loss, whole.history)
    expected, found = weights(tmp_path / "whole"), weights(tmp_path / "parts")
    assert all(torch.equal(expected[name], found[name]) for name in expected)


@pytest.mark.parametrize("evaluations", [1, 2], ids=["while it loses patience", "after it has"])
def test_patience_is_that_of_a_run_never_stopped(
    evaluations: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train_inducer(wild(), tmp_path / "whole", seed=1, progress=False)
    best = next(entry["step"] for entry in whole.history if entry.get("eval_loss") == whole.loss)
    every = (whole.steps - best) // 2
    assert whole.steps == best + 2 * every
    train_until_saved(wild(), tmp_path / "parts", 1, best + evaluations * every, monkeypatch)
    resumed = train_inducer(wild(), tmp_path / "parts", seed=1, resume=True, progress=False)
    assert (resumed.steps, resumed.loss, resumed.history) == (whole.steps, whole.loss, whole.history)


def test_seconds_are_those_of_all_parts_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fit.__globals__, "STEPS_BETWEEN_STATES", 3)
    once = recipe(
        "train.epochs=3", "train.max_steps=8", "train.num_evaluations=1", "train.tokens_per_batch=120"
    )
    taken, step = 0, Trainer.training_step

    def takes_a_second(self: Trainer, *args: object, **kwargs: object) -> torch.Tensor:
        nonlocal taken
        taken += 1
        if taken == 6:  # the state is that after three steps
            raise _KilledError
        return step(self, *args, **kwargs)

    class Clock:
        perf_counter = staticmethod(lambda: 1000.0 + taken)
        process_time = staticmethod(lambda: 2.0 * taken)

    monkeypatch.setattr(Trainer, "training_step", takes_a_second)
    monkeypatch.setitem(fit.__globals__, "time", Clock)
    with pytest.raises(_KilledError):
        train_inducer(once, tmp_path, seed=3, progress=False)
    resumed = train_inducer(once, tmp_path, seed=3, resume=True, progress=False)
    assert (resumed.steps, resumed.wall_seconds, resumed.processor_seconds) == (8, 8.0, 16.0)


def test_a_seed_gives_the_same_model_and_another_one_another(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train_inducer(recipe("train.max_steps=2"), tmp_path / name, seed, progress=False)
    a, b, c = (weights(tmp_path / name) for name in "abc")
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert not torch.equal(a["treebert.embeddings.weight"], c["treebert.embeddings.weight"])


def wild() -> InduceRecipe:
    """A rate far too high: the loss rises from some evaluation on."""
    return recipe(
        "train.epochs=20",
        "train.num_evaluations=20",
        "train.patience=2",
        "train.learning_rate=0.5",
        "train.max_grad_norm=1e9",
    )


def test_training_stops_early(tmp_path: Path) -> None:
    fit = train_inducer(wild(), tmp_path, seed=1, progress=False)
    losses = [entry["eval_loss"] for entry in fit.history if "eval_loss" in entry]
    assert len(losses) < 20
    assert fit.loss == min(losses) == losses[-3]


def test_the_budget_of_steps_ends_training(tmp_path: Path) -> None:
    assert train_inducer(recipe("train.max_steps=3"), tmp_path, progress=False).steps == 3


@pytest.mark.slow
def test_two_processes_train_one_model(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import sys\n"
        "from treeformers.recipes import InduceRecipe\n"
        "from treeformers.tasks.induce.train import train_inducer\n"
        "overrides = ['data.sentences=120', 'train.tokens_per_batch=200']\n"
        f"recipe = InduceRecipe.load({str(HEADLINE)!r}, 'smoke', overrides)\n"
        "fit = train_inducer(recipe, sys.argv[1], 1, progress=False)\n"
        "print(f'steps {fit.steps} loss {fit.loss:.6f}')\n"
    )
    out = tmp_path / "model"
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", script, out],
        capture_output=True,
        text=True,
        timeout=400,
        env=os.environ
        | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src"), "CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    reports = done.stdout.split("\n")[:2]
    assert reports[0] == reports[1]  # both processes hold the same model
    alone = recipe("train.tokens_per_batch=200")
    one = len(TokenBatchSampler([len(line.split()) + 2 for line in _kept(alone)], 200))
    assert int(reports[0].split()[1]) == one // 2
    assert (out / "model.safetensors").is_file() and not (out / "checkpoints").exists()
    assert weights(out)


def _kept(recipe: InduceRecipe) -> list[str]:
    import random

    lines = read_text(recipe.data)
    back = set(random.Random(0).sample(range(len(lines)), min(recipe.data.validation_size, len(lines) // 10)))
    return [line for number, line in enumerate(lines) if number not in back]


class Line(PreTrainedModel):
    """Learns y = 3x; its examples have no tokens."""

    config_class = PreTrainedConfig

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__(config)
        self.slope = nn.Linear(1, 1, bias=False)
        self.post_init()

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        real = labels != -100
        return {"loss": (self.slope(x) - labels)[real].square().mean()}

    @property
    def value(self) -> float:
        return self.slope.weight.item()


def collate(features: list[dict[str, Any]]) -> Mapping[str, torch.Tensor]:
    x = torch.tensor([[feature["x"]] for feature in features])
    return {"x": x, "labels": 3 * x}


EXAMPLES = [{"x": float(1 + number % 2)} for number in range(8)]


class TestFiguresOfOurOwn:
    @pytest.mark.parametrize("fewest", [1, 2])
    def test_bfloat16_is_for_models_of_some_size(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fewest: int
    ) -> None:
        module = import_module("treeformers.training.fit")  # whose name is that of the function
        monkeypatch.setattr(module, "computes_bf16", lambda: True)
        monkeypatch.setattr(module, "FEWEST_BF16", fewest)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)  # there it is for all
        model, result = self.fit(tmp_path, held_out=2)
        assert result.bf16 == (fewest <= model.num_parameters())

    def fit(
        self, folder: Path, held_out: int, average: float = 0.0, patience: int = 0, **settings: Any
    ) -> tuple[Line, Fit]:
        torch.manual_seed(0)
        model = Line(PreTrainedConfig())
        train = Train(
            epochs=5,
            tokens_per_batch=8,
            learning_rate=0.1,
            warmup_steps=0,
            lr_scheduler="constant",
            num_evaluations=10,
            ema_decay=average,
            patience=patience,
        )
        result = fit(
            model,
            EXAMPLES,
            EXAMPLES[:held_out],
            collate,
            collate,
            train,
            seed=1,
            checkpoints=folder,
            progress=False,
            lengths=[2] * 8,
            held_out_lengths=[2] * held_out,
            **settings,
        )
        return model, result

    @pytest.mark.parametrize("higher_is_better", [False, True])
    def test_the_best_weights_are_chosen_by_them(self, higher_is_better: bool, tmp_path: Path) -> None:
        seen = []

        def evaluate(model: Line) -> dict[str, float]:
            assert not model.training and not torch.is_grad_enabled()
            seen.append(model.value)
            return {"distance": abs(model.value - 0.5), "other": 7.0}

        model, result = self.fit(
            tmp_path, 4, evaluate=evaluate, metric="distance", higher_is_better=higher_is_better
        )
        best = (max if higher_is_better else min)(seen, key=lambda value: abs(value - 0.5))
        assert model.value == pytest.approx(best)
        assert len(set(seen)) == len(seen) == 10
        assert (result.metric, result.best) == ("distance", pytest.approx(abs(best - 0.5)))
        logged = [entry for entry in result.history if "eval_distance" in entry]
        assert [entry["eval_distance"] for entry in logged] == [abs(value - 0.5) for value in seen]
        assert all(entry["eval_other"] == 7.0 and "eval_loss" in entry for entry in logged)
        (kept,) = [entry for entry in logged if entry["eval_distance"] == result.best]
        assert result.loss == kept["eval_loss"]

    def test_no_validation_examples_are_needed(self, tmp_path: Path) -> None:
        model, result = self.fit(
            tmp_path, 0, evaluate=lambda model: {"slope": model.value}, metric="slope", higher_is_better=True
        )
        assert math.isnan(result.loss)
        assert result.best == pytest.approx(model.value) and result.best > 0
        with pytest.raises(ValueError, match="8 training and 0 validation examples: expected some of both"):
            self.fit(tmp_path, 0, evaluate=lambda model: {"slope": model.value})

    def test_every_label_counts_alike_in_the_validation_loss(self, tmp_path: Path) -> None:
        """However they are cut into batches; the three examples here make two."""
        model, result = self.fit(tmp_path, 3)
        xs = [example["x"] for example in EXAMPLES[:3]]
        expected = sum(((model.value - 3) * x) ** 2 for x in xs) / 3
        assert result.loss == pytest.approx(expected, rel=1e-5)

    def test_patience_where_the_first_figure_is_no_number(self, tmp_path: Path) -> None:
        """As a correlation where all predictions are the same: anything is better."""
        figures = iter([math.nan, 0.1, 0.2, 0.3, 0.3, 0.2, 0.9, 0.9, 0.9, 0.9])
        _, result = self.fit(
            tmp_path,
            0,
            evaluate=lambda model: {"r": next(figures)},
            metric="r",
            higher_is_better=True,
            patience=2,
        )
        assert result.best == 0.3 and next(figures) == 0.9  # six of ten were asked for

    def test_the_average_is_validated_and_kept(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """With the average by hand: of the weights after every step, as training leaves them."""
        seen: list[float] = []
        weights: list[float] = []
        step = Trainer.training_step

        def watched(self: Trainer, model: Line, *args: Any, **kwargs: Any) -> torch.Tensor:
            weights.append(model.value)  # those of the step before
            return step(self, model, *args, **kwargs)

        def evaluate(model: Line) -> dict[str, float]:
            seen.append(model.value)
            return {"slope": model.value}

        monkeypatch.setattr(Trainer, "training_step", watched)
        figure = {"evaluate": evaluate, "metric": "slope", "higher_is_better": True}
        plain, _ = self.fit(tmp_path / "plain", 0, **figure)
        after = [*weights[1:], plain.value]  # the slope rises, so the last is the best
        expected = [
            sum(0.25 * 0.75 ** (t - i) * after[i] for i in range(t + 1)) / (1 - 0.75 ** (t + 1))
            for t in range(len(after))
        ]
        before = weights.copy()
        weights.clear()
        seen.clear()
        model, result = self.fit(tmp_path / "mean", 0, ema_decay=0.75, **figure)
        assert weights == before  # training itself is as without
        assert seen == pytest.approx(expected, abs=1e-5)
        assert model.value == result.best == pytest.approx(max(expected), abs=1e-5)

    def test_training_that_diverges_ends_with_an_error(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(EXAMPLES[0], "x", math.inf)
        with pytest.raises(ValueError, match=r"diverged: slope\.weight is no longer a number; expected"):
            self.fit(tmp_path, 0, evaluate=lambda model: {"slope": 1.0}, metric="slope")

    def test_a_figure_that_is_not_defined_is_remarked_on(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        _, result = self.fit(tmp_path, 2, evaluate=lambda model: {"pearson": math.nan}, metric="pearson")
        assert math.isnan(result.best)
        assert "the validation pearson is not defined" in caplog.text
