from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from treeformers.model_folder import CHECKSUMS, load_weights, read_settings, write_checksums
from treeformers.recipes import InduceRecipe, ParseRecipe


class Model:
    """What stands for a model of transformers: it lacks what the test says."""

    lacks: tuple[str, ...] = ()

    @classmethod
    def from_pretrained(cls, folder: Path, **options: Any) -> tuple[bytes, dict[str, Any]]:
        assert options == {"use_safetensors": True, "output_loading_info": True}
        return (folder / "model.safetensors").read_bytes(), {"missing_keys": set(cls.lacks)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "config.json").write_text('{"model_type": "tree"}')
    (tmp_path / "recipe.json").write_text('{"task": "parse"}')
    write_checksums(tmp_path, ["model.safetensors", "config.json"])
    return tmp_path


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
            ValueError, match=r"SHA256SUMS:3: .* expected SHA-256, two spaces and file name"
        ) as error:
            load_weights(Model, folder)
        assert str(error.value).startswith(f"{folder}: cannot be loaded: ")

    def test_a_missing_file(self, folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        with pytest.raises(ValueError, match=r"cannot be loaded: .*No such file"):
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
