from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer

from conftest import ROOT
from treeformers.models.treebert import TreeBertForMaskedLM
from treeformers.recipes import InduceRecipe
from treeformers.tasks.induce.train import train_inducer
from treeformers.training.lock import lock_folder
from treeformers.training.run import Run, check_output_folder, save_model

torch.set_num_threads(1)

HEADLINE = ROOT / "experiments" / "wang2019" / "tree-l10-wsj-all.toml"


def recipe(*overrides: str) -> InduceRecipe:
    return InduceRecipe.load(HEADLINE, "smoke", overrides)


class TestRun:
    def store(self, folder: Path, seed: int = 1, **change: object) -> None:
        stored = recipe().to_dict()
        stored["train"] |= change
        for name in ("weight_decay", "average"):
            if name not in change:
                del stored["train"][name]  # as written before there were such keys
        (folder / "run.json").write_text(json.dumps({"recipe": stored, "seed": seed}))

    def test_its_own_is_resumed(self, tmp_path: Path) -> None:
        self.store(tmp_path)
        (tmp_path / "checkpoints").mkdir()
        run = Run(tmp_path, recipe(), seed=1, resume=True)
        assert run.checkpoints.is_dir()
        run.begin()
        assert run.checkpoints.is_dir()
        Run(tmp_path, recipe(), seed=1, resume=False).begin()
        assert not run.checkpoints.exists()
        assert json.loads((tmp_path / "run.json").read_text())["recipe"]["train"]["ema_decay"] == 0

    def test_what_is_replaced_is_named(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        Run(tmp_path, recipe()).begin()
        assert not caplog.messages
        (tmp_path / "checkpoints").mkdir()
        (tmp_path / "config.json").touch()
        Run(tmp_path, recipe(), resume=True).begin()
        assert not caplog.messages
        Run(tmp_path, recipe()).begin()
        assert caplog.messages == [
            f"{tmp_path}: the unfinished run there is dropped, not resumed",
            f"{tmp_path}: the model there will be replaced by the one trained now",
        ]

    def test_what_a_killed_process_left_goes(self, tmp_path: Path) -> None:
        self.store(tmp_path)
        state = tmp_path / "checkpoints" / "checkpoint-3"
        for left in (state, tmp_path / ".saving-ab12", tmp_path / ".checkpoints.dropped" / "checkpoint-1"):
            left.mkdir(parents=True)
            (left / "model.safetensors").touch()
        (tmp_path / ".history.json.0a1b2c3d.tmp").touch()
        (tmp_path / ".notes").touch()
        Run(tmp_path, recipe(), seed=1, resume=True).begin()
        assert sorted(path.name for path in tmp_path.iterdir()) == [".notes", "checkpoints", "run.json"]
        assert (state / "model.safetensors").is_file()

    def test_where_another_process_trains_nothing_is_touched(self, tmp_path: Path) -> None:
        (tmp_path / "checkpoints").mkdir()
        with lock_folder(tmp_path), pytest.raises(BlockingIOError, match=f"{tmp_path}: another process"):
            train_inducer(recipe(), tmp_path, progress=False)
        assert [path.name for path in tmp_path.iterdir()] == ["checkpoints"]

    def test_a_damaged_record_is_not_resumed(self, tmp_path: Path) -> None:
        for damaged in ("", "{", "[1]", "5"):
            (tmp_path / "run.json").write_text(damaged)
            with pytest.raises(ValueError, match=r"run\.json: another recipe or seed was trained here"):
                Run(tmp_path, recipe(), seed=1, resume=True)

    @pytest.mark.parametrize(
        "other", [{"seed": 2}, {"max_grad_norm": 9.0}, {"ema_decay": 0.9}, {"of_another_version": 1}], ids=str
    )
    def test_another_recipe_is_not_resumed(self, other: dict[str, object], tmp_path: Path) -> None:
        self.store(tmp_path, **other)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"run\.json: another recipe or seed was trained here"):
            Run(tmp_path, recipe(), seed=1, resume=True)


class TestSaving:
    @pytest.fixture
    def parts(self, inducer_folder: Path) -> tuple[TreeBertForMaskedLM, object]:
        return TreeBertForMaskedLM.from_pretrained(inducer_folder), AutoTokenizer.from_pretrained(
            inducer_folder
        )

    def test_others_can_read_all_of_it(
        self, parts: tuple[TreeBertForMaskedLM, object], tmp_path: Path
    ) -> None:
        save_model(*parts, tmp_path, {"recipe.json": {}})  # type: ignore[arg-type]
        (tmp_path / "mine").touch()
        assert {path.stat().st_mode for path in tmp_path.iterdir()} == {(tmp_path / "mine").stat().st_mode}

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


class TestFolderOfSeveral:
    def seed(self, folder: Path, *overrides: str) -> None:
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
        (folder / "recipe.json").write_text(json.dumps(recipe(*overrides).to_dict()))

    def test_seeds_of_one_recipe_stand_beside_each_other(self, tmp_path: Path) -> None:
        check_output_folder(tmp_path / "new", recipe("train.seeds=[1,2]"))
        self.seed(tmp_path / "seed-3", "train.seeds=[3]")
        self.seed(tmp_path / "seed-1", "train.epochs=9")  # is trained anew
        check_output_folder(tmp_path, recipe("train.seeds=[1,2]"))

    def test_those_of_another_recipe_are_not_read_with_them(self, tmp_path: Path) -> None:
        self.seed(tmp_path / "seed-3", "train.epochs=9")
        for damage in (None, "{"):
            if damage:
                (tmp_path / "seed-3" / "recipe.json").write_text(damage)
            with pytest.raises(ValueError, match=r"seed-3: a model of another recipe, which would be read"):
                check_output_folder(tmp_path, recipe("train.seeds=[1,2]"))

    def test_one_model_and_several_have_folders_of_their_own(self, tmp_path: Path) -> None:
        self.seed(tmp_path / "one")
        self.seed(tmp_path / "several" / "seed-1")
        check_output_folder(tmp_path / "one", recipe("train.seeds=[1]"))
        with pytest.raises(ValueError, match="one: holds a model, expected a folder for those of 2 seeds"):
            check_output_folder(tmp_path / "one", recipe("train.seeds=[1,2]"))
        with pytest.raises(ValueError, match="several: holds models of several seeds, expected a folder for"):
            check_output_folder(tmp_path / "several", recipe("train.seeds=[1]"))


def test_nothing_of_a_former_model_stays(tmp_path: Path) -> None:
    class Files:
        def __init__(self, *names: str) -> None:
            self.names = names

        def save_pretrained(self, folder: str) -> None:
            for name in self.names:
                Path(folder, name).write_text(name)

    model = Files("config.json", "model.safetensors")
    save_model(model, Files("vocabulary.json", "reader.json"), tmp_path, {})  # type: ignore[arg-type]
    (tmp_path / "notes.txt").touch()
    save_model(model, Files("tokenizer.json"), tmp_path, {})  # type: ignore[arg-type]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["SHA256SUMS", "config.json", "model.safetensors", "notes.txt", "tokenizer.json"]
    )
