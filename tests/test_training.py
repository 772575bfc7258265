from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, Trainer
from transformers.trainer_utils import get_last_checkpoint

from conftest import ROOT
from treeformers.models.treebert import TreeBertForMaskedLM
from treeformers.recipes import Data, Recipe
from treeformers.training import (
    TokenBatchSampler,
    build_model,
    read_gold,
    read_text,
    save_model,
    train_inducer,
)

torch.set_num_threads(1)

HEADLINE = ROOT / "experiments" / "wang2019" / "tree-l10-wsj-all.toml"
LENGTHS = st.lists(st.integers(1, 30), min_size=1, max_size=60)


def recipe(*overrides: str) -> Recipe:
    sizes = ("data.sentences=120", "train.evaluations=4", "model.hidden_dropout_prob=0.1")
    return Recipe.load(HEADLINE, "smoke", (*sizes, *overrides))


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return TreeBertForMaskedLM.from_pretrained(folder).state_dict()


class TestTokenBatchSampler:
    @settings(deadline=None, max_examples=50)
    @given(LENGTHS, st.integers(1, 100), st.one_of(st.none(), st.integers(0, 9)))
    def test_every_example_is_in_one_batch_within_the_budget(
        self, lengths: list[int], tokens: int, seed: int | None
    ) -> None:
        sampler = TokenBatchSampler(lengths, tokens, seed)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            batches = list(sampler)
            assert len(batches) == len(sampler)
            assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
            for batch in batches:
                assert len(batch) == 1 or len(batch) * max(lengths[index] for index in batch) <= tokens

    def test_order_changes_with_epoch_and_seed_alone(self) -> None:
        lengths = [5] * 40

        def order(seed: int | None, epoch: int) -> list[list[int]]:
            sampler = TokenBatchSampler(lengths, 10, seed)
            sampler.set_epoch(epoch)
            return list(sampler)

        assert order(1, 0) == order(1, 0)
        assert order(1, 0) != order(1, 1)
        assert order(1, 0) != order(2, 0)
        assert order(None, 0) == order(None, 1) == [[i, i + 1] for i in range(0, 40, 2)]

    def test_sentences_of_like_length_go_together(self) -> None:
        lengths = [1, 9, 1, 9, 1, 9]
        assert sorted(map(sorted, TokenBatchSampler(lengths, 27, 3))) == [[0, 2, 4], [1, 3, 5]]


class _KilledError(Exception):
    pass


@pytest.mark.parametrize("rate", ["0.0", "0.004"])
def test_a_resumed_run_equals_one_never_stopped(
    rate: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = ("train.epochs=3", "train.evaluations=5", "train.tokens_per_batch=120")
    once = recipe(f"train.matrix_learning_rate={rate}", *sizes)
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

    assert (resumed.steps, resumed.loss) == (whole.steps, whole.loss)
    expected, found = weights(tmp_path / "whole"), weights(tmp_path / "parts")
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    assert not (tmp_path / "parts" / "checkpoints").exists()


def test_a_seed_gives_the_same_model_and_another_one_another(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train_inducer(recipe("train.max_steps=2"), tmp_path / name, seed, progress=False)
    a, b, c = (weights(tmp_path / name) for name in "abc")
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert not torch.equal(a["treebert.embeddings.weight"], c["treebert.embeddings.weight"])


def test_another_recipe_is_not_resumed(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"recipe": recipe().to_dict(), "seed": 1}))
    with pytest.raises(ValueError, match=r"run\.json: another recipe or seed was trained here"):
        train_inducer(recipe(), tmp_path, seed=2, resume=True, progress=False)


def test_training_stops_early(tmp_path: Path) -> None:
    # A rate far too high: the loss rises from some evaluation on.
    wild = recipe(
        "train.epochs=20",
        "train.evaluations=20",
        "train.patience=2",
        "train.learning_rate=0.5",
        "train.clip=1e9",
    )
    fit = train_inducer(wild, tmp_path, seed=1, progress=False)
    losses = [entry["eval_loss"] for entry in fit.history if "eval_loss" in entry]
    assert len(losses) < 20
    assert fit.loss == min(losses) == losses[-3]


def test_training_learns(tmp_path: Path) -> None:
    fit = train_inducer(
        recipe("train.epochs=6", "train.constant=false", "train.learning_rate=0.01"), tmp_path, progress=False
    )
    losses = [entry["eval_loss"] for entry in fit.history if "eval_loss" in entry]
    assert losses[-1] < losses[0] - 0.3
    assert fit.loss == min(losses)
    assert (fit.seed, fit.parameters) == (
        1,
        sum(p.numel() for p in TreeBertForMaskedLM.from_pretrained(tmp_path).parameters()),
    )
    stored = Recipe.from_dict(json.loads((tmp_path / "recipe.json").read_text()))
    assert stored.train.learning_rate == 0.01
    assert AutoTokenizer.from_pretrained(tmp_path).mask_token == "[MASK]"


def test_the_budget_of_steps_ends_training(tmp_path: Path) -> None:
    assert train_inducer(recipe("train.max_steps=3"), tmp_path, progress=False).steps == 3


@pytest.mark.slow
def test_two_processes_train_one_model(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import sys\n"
        "from treeformers.recipes import Recipe\n"
        "from treeformers.training import train_inducer\n"
        "overrides = ['data.sentences=120', 'train.tokens_per_batch=200']\n"
        f"recipe = Recipe.load({str(HEADLINE)!r}, 'smoke', overrides)\n"
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


def _kept(recipe: Recipe) -> list[str]:
    import random

    lines = read_text(recipe.data)
    back = set(random.Random(0).sample(range(len(lines)), min(recipe.data.held_out, len(lines) // 10)))
    return [line for number, line in enumerate(lines) if number not in back]


class TestText:
    def test_words_of_a_treebank_are_read_without_punctuation_and_normalised(self, tmp_path: Path) -> None:
        path = tmp_path / "trees.mrg"
        path.write_text(
            "(S (NP (DT The) (CD 25)) (VP (VBD sat)) (. .))\n( (S (NP (NNP Ann)) (VP (VBD ran))) )\n"
        )
        assert read_text(Data(text=str(path), normalize=True)) == ["the N sat", "ann ran"]
        assert read_text(Data(text=str(path)))[0] == "The 25 sat ."
        assert [tree.words for tree in read_gold(Data(gold=str(path)))] == [
            ("The", "25", "sat"),
            ("Ann", "ran"),
        ]

    def test_parts_and_limits(self, tmp_path: Path) -> None:
        for part in ("train", "validation", "test"):
            (tmp_path / f"{part}.txt").write_text(f"{part} one\n\n{part} two\n")
        assert read_text(Data(text=str(tmp_path), splits=("test", "train"))) == [
            "test one", "test two", "train one", "train two",
        ]  # fmt: skip
        assert read_text(Data(text=str(tmp_path), sentences=3)) == [
            "train one",
            "train two",
            "validation one",
        ]
        with pytest.raises(ValueError, match="no part 'dev': expected train, validation, test"):
            read_text(Data(text=str(tmp_path), splits=("dev",)))

    def test_the_grammar_gives_other_sentences_to_train_and_to_score(self) -> None:
        text = read_text(Data(text="grammar", sentences=50))
        gold = read_gold(Data(gold="grammar", gold_sentences=50))
        assert len(text) == len(gold) == 50
        assert text != [" ".join(tree.words) for tree in gold]
        assert text == read_text(Data(text="grammar", sentences=50))

    def test_sections_of_a_treebank_of_the_layout_of_the_penn_treebank(self, tmp_path: Path) -> None:
        for section in range(25):
            folder = tmp_path / f"{section:02}"
            folder.mkdir()
            (folder / f"wsj_{section:02}01.mrg").write_text(
                f"( (S (NP (NN s{section})) (VP (VBZ is)) (. .)) )\n"
            )
        all_of_it = Recipe.load(
            HEADLINE.with_name("ptb-l10-wsj-all.toml"), overrides=[f"data.root={tmp_path}"]
        )
        train = Recipe.load(HEADLINE.with_name("ptb-l10-wsj-train.toml"), overrides=[f"data.root={tmp_path}"])
        assert read_text(all_of_it.data) == [f"s{section} is" for section in range(25)]
        assert read_text(train.data) == [f"s{section} is" for section in range(2, 22)]
        assert [tree.words for tree in read_gold(train.data)] == [("s23", "is")]

    def test_errors(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"expected data\.gold"):
            read_gold(Data())
        with pytest.raises(ValueError, match="4 sentences, expected at least 10 to train on"):
            (tmp_path / "few.txt").write_text("a b\n" * 4)
            train_inducer(recipe(f"data.text={tmp_path / 'few.txt'}"), tmp_path / "out", progress=False)
        assert not (tmp_path / "out").exists()


class TestSaving:
    @pytest.fixture
    def parts(self, inducer_folder: Path) -> tuple[TreeBertForMaskedLM, object]:
        return TreeBertForMaskedLM.from_pretrained(inducer_folder), AutoTokenizer.from_pretrained(
            inducer_folder
        )

    def test_a_failed_save_leaves_what_was_there(
        self, parts: tuple[TreeBertForMaskedLM, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model, tokenizer = parts
        save_model(model, tokenizer, tmp_path, {"recipe.json": {"a": 1}})  # type: ignore[arg-type]
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(type(tokenizer), "save_pretrained", full)
            with pytest.raises(OSError, match="No space left"):
                save_model(model, tokenizer, tmp_path, {"recipe.json": {"a": 2}})  # type: ignore[arg-type]
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before

    def test_a_wrong_key_of_the_model_names_the_nearest(
        self, parts: tuple[TreeBertForMaskedLM, object]
    ) -> None:
        with pytest.raises(
            ValueError, match=r"unknown key 'model\.hidden_sise', the nearest is 'model\.hidden_size'"
        ):
            build_model(Recipe(model={"hidden_sise": 8}), parts[1], 1)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"^model: .*prior") as error:
            build_model(Recipe(model={"prior": "inside"}), parts[1], 1)  # type: ignore[arg-type]
        assert "\n" not in str(error.value)
