from __future__ import annotations

from pathlib import Path

import pytest

from treeformers.training.saving import save_model


class Files:
    """Stands for a model or a tokenizer; it saves files of the given names."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def save_pretrained(self, folder: str) -> None:
        for name in self.names:
            Path(folder, name).write_text(name)
            Path(folder, name).chmod(0o600 if name == "model.safetensors" else 0o644)


MODEL = Files("config.json", "model.safetensors")


def test_every_file_has_the_same_permissions(tmp_path: Path) -> None:
    save_model(MODEL, Files("tokenizer.json"), tmp_path, {"recipe.json": {}})  # type: ignore[arg-type]
    assert len(list(tmp_path.iterdir())) == 5
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o644}


def test_a_failed_save_leaves_the_former_model(tmp_path: Path) -> None:
    save_model(MODEL, Files("tokenizer.json"), tmp_path, {"recipe.json": {"a": 1}})  # type: ignore[arg-type]
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    class FullDisk:
        def save_pretrained(self, folder: str) -> None:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match=rf"^{tmp_path}: cannot be written: .*No space left"):
        save_model(MODEL, FullDisk(), tmp_path, {"recipe.json": {"a": 2}})  # type: ignore[arg-type]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_files_of_a_former_model_are_removed(tmp_path: Path) -> None:
    save_model(MODEL, Files("vocabulary.json", "reader.json"), tmp_path, {})  # type: ignore[arg-type]
    (tmp_path / "calibration.json").write_text("{}")  # is written later than the checksums
    (tmp_path / "notes.txt").touch()
    save_model(MODEL, Files("tokenizer.json"), tmp_path, {})  # type: ignore[arg-type]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("SHA256SUMS", "config.json", "model.safetensors", "notes.txt", "tokenizer.json")
    ]
