from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from treeformers.recipes import InduceRecipe, ParseRecipe
from treeformers.training.model_folder import (
    CHECKSUMS,
    checksum,
    load_tokenizer,
    load_weights,
    model_files,
    read_recipe,
    read_settings,
    saved_files,
    seed_folders,
    write_checksums,
)


class Model:
    """What stands for a model of transformers: it lacks what the test says."""

    lacks: tuple[str, ...] = ()
    other: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...] = ()

    @classmethod
    def from_pretrained(cls, folder: Path, **options: Any) -> tuple[bytes, dict[str, Any]]:
        assert options == dict.fromkeys(
            ("use_safetensors", "output_loading_info", "ignore_mismatched_sizes"), True
        )
        report = {"missing_keys": set(cls.lacks), "mismatched_keys": set(cls.other)}
        return (folder / "model.safetensors").read_bytes(), report


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "config.json").write_text('{"model_type": "tree"}')
    (tmp_path / "recipe.json").write_text('{"task": "parse"}')
    (tmp_path / "tokenizer.json").write_text("{}")
    write_checksums(tmp_path, ["model.safetensors", "config.json", "tokenizer.json"])
    return tmp_path


class TestHomes:
    def test_a_model_or_its_seeds(self, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
        assert seed_folders(folder) == [folder]
        several = tmp_path_factory.mktemp("several")
        for seed in (2, 1):
            shutil.copytree(folder, several / f"seed-{seed}")
        (several / "seed-3").mkdir()
        assert seed_folders(several) == [several / "seed-1", several / "seed-2"]
        assert read_recipe(folder) == read_recipe(several) == ParseRecipe()
        names = ["config.json", "model.safetensors", "recipe.json", "tokenizer.json"]
        assert list(model_files(folder)) == [(name, folder / name) for name in names]
        assert list(model_files(str(folder))) == list(model_files(folder))
        assert checksum(str(folder)) == checksum(folder)
        assert [name for name, _ in model_files(several)] == [
            f"seed-{seed}/{name}" for seed in (1, 2) for name in names
        ]

    def test_seeds_of_what_is_no_parser(self, folder: Path, tmp_path: Path) -> None:
        (folder / "recipe.json").write_text("{}")
        assert read_recipe(folder) == InduceRecipe()
        shutil.copytree(folder, tmp_path / "several" / "seed-1")
        with pytest.raises(ValueError, match=r"several: holds several seeds, expected .* such as .*seed-1$"):
            read_recipe(tmp_path / "several")

    def test_no_model(self, tmp_path: Path) -> None:
        for read in (seed_folders, read_recipe, checksum, lambda folder: list(model_files(folder))):
            with pytest.raises(
                FileNotFoundError, match=r"none/config\.json: no such file; expected a folder"
            ):
                read(tmp_path / "none")

    def test_no_recipe_or_a_damaged_one(self, folder: Path) -> None:
        (folder / "recipe.json").write_text("[")
        with pytest.raises(ValueError, match=r"recipe\.json: damaged: "):
            read_recipe(folder)
        (folder / "recipe.json").unlink()
        with pytest.raises(FileNotFoundError, match=r"recipe\.json: no such file; expected a folder"):
            read_recipe(folder)

    def test_checksum_is_of_what_decides_on_trees(self, folder: Path) -> None:
        before = checksum(folder)
        for name in ("history.json", "run.json", "README.md"):
            (folder / name).write_text("{}")
        assert checksum(folder) == before
        (folder / "model.safetensors").write_bytes(b"weightS")
        assert checksum(folder) != before


class TestWeights:
    def test_sha256sum_reads_the_checksums(self, folder: Path) -> None:
        done = subprocess.run(
            ["sha256sum", "--check", "--strict", CHECKSUMS], cwd=folder, capture_output=True
        )
        assert done.returncode == 0, done.stderr

    def test_other_weights_are_refused_and_other_settings_are_not(self, folder: Path) -> None:
        (folder / "config.json").write_text('{"a": 1}')
        assert load_weights(Model, folder) == b"weights"
        (folder / "model.safetensors").write_bytes(b"weighty")
        with pytest.raises(ValueError, match=r"loaded: model\.safetensors is damaged or was changed"):
            load_weights(Model, folder)
        (folder / CHECKSUMS).unlink()
        assert load_weights(Model, folder) == b"weighty"

    @pytest.mark.parametrize("line", ["abc  model.safetensors", "0" * 64, f"{'0' * 64}  ../a.safetensors"])
    def test_a_malformed_line_is_named(self, folder: Path, line: str) -> None:
        with (folder / CHECKSUMS).open("a") as file:
            file.write(line + "\n")
        with pytest.raises(
            ValueError, match=r"SHA256SUMS:4: .* expected SHA-256, two spaces and file name"
        ) as error:
            load_weights(Model, folder)
        assert str(error.value).startswith(f"{folder}: cannot be loaded: ")

    def test_checksums_without_that_of_the_weights(self, folder: Path) -> None:
        for content in ("", f"{'0' * 64}  config.json\n"):
            (folder / CHECKSUMS).write_text(content)
            with pytest.raises(ValueError, match=r"SHA256SUMS: damaged: it has no checksum of model\.safet"):
                load_weights(Model, folder)

    def test_another_vocabulary_is_refused(self, folder: Path) -> None:
        (folder / "tokenizer.json").write_text("[]")
        with pytest.raises(ValueError, match=r"loaded: tokenizer\.json is damaged or was changed"):
            load_weights(Model, folder)

    @pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
    def test_a_missing_file(self, folder: Path, name: str) -> None:
        (folder / name).unlink()
        with pytest.raises(FileNotFoundError, match=rf"^{folder / name}: no such file; expected a folder"):
            load_weights(Model, folder)

    def test_settings_may_be_changed_but_not_be_gone(self, folder: Path) -> None:
        for name in ("tokenizer_config.json", "history.json"):
            (folder / name).write_text("{}")
        names = ["model.safetensors", "config.json", "tokenizer_config.json", "history.json"]
        write_checksums(folder, names)
        assert saved_files(folder) == set(names)
        (folder / "tokenizer_config.json").write_text("{ }")
        (folder / "history.json").unlink()
        load_weights(Model, folder)
        (folder / "tokenizer_config.json").unlink()
        with pytest.raises(FileNotFoundError, match=r"tokenizer_config\.json: no such file"):
            load_weights(Model, folder)
        (folder / CHECKSUMS).write_text("damaged")
        assert saved_files(folder) == set()

    def test_a_tokenizer_without_checksums(self, folder: Path) -> None:
        path = folder / "tokenizer.json"
        path.write_text("[]")
        with pytest.raises(ValueError, match=rf"^{path}: cannot be loaded: "):
            load_tokenizer(folder)
        path.unlink()
        with pytest.raises(FileNotFoundError, match=rf"^{path}: no such file; expected a folder"):
            load_tokenizer(folder)

    def test_weights_of_other_sizes(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Model, "other", (("b", (2, 3), (2, 4)), ("a", (3,), (4,))))
        says = r"loaded: model\.safetensors has a in the shape \(3,\), by config\.json it is \(4,\)$"
        with pytest.raises(ValueError, match=says):
            load_weights(Model, folder)

    def test_weights_that_lack_some(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Model, "lacks", ("b", "a"))
        with pytest.raises(ValueError, match=r"model\.safetensors: lacks a, b$"):
            load_weights(Model, folder)


class TestSettings:
    def test_both_are_read(self, folder: Path) -> None:
        assert read_settings(folder, ParseRecipe, "bush", "tree") == (ParseRecipe(), {"model_type": "tree"})
        says = r"config\.json: a model of kind 'tree', expected 'bush', 'rose'$"
        with pytest.raises(ValueError, match=says):
            read_settings(folder, ParseRecipe, "bush", "rose")
        with pytest.raises(
            ValueError, match=r"recipe\.json: a recipe of the task 'parse', expected 'induce'"
        ):
            read_settings(folder, InduceRecipe, "tree")

    @pytest.mark.parametrize("name", ["config.json", "recipe.json", "model.safetensors"])
    def test_a_missing_file(self, folder: Path, name: str) -> None:
        (folder / name).unlink()
        says = rf"{name}: no such file; expected a folder of `treeformers train`"
        with pytest.raises(FileNotFoundError, match=says):
            read_settings(folder, ParseRecipe, "tree")

    @pytest.mark.parametrize("name", ["config.json", "recipe.json"])
    @pytest.mark.parametrize("content", [b"", b"{", b"\xff", json.dumps([1]).encode(), b"5"])
    def test_a_damaged_file(self, folder: Path, name: str, content: bytes) -> None:
        (folder / name).write_bytes(content)
        with pytest.raises(ValueError, match=rf"{name}: damaged: "):
            read_settings(folder, ParseRecipe, "tree")
