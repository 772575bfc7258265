"""Writing the folder of a trained model. `training.model_folder` reads it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from treeformers.training.checksums import files_with_checksums, write_checksums
from treeformers.trees.files import atomic_write

__all__ = ["STAGING_PREFIX", "Saveable", "save_model", "write_record"]

STAGING_PREFIX = ".saving-"
"""Start of the name of the folder in which a model is written."""


class Saveable(Protocol):
    """A model, a tokenizer, or an object that is saved like one."""

    def save_pretrained(self, folder: str, /) -> Any: ...


def save_model(model: Saveable, tokenizer: Saveable, folder: Path, records: Mapping[str, Any]) -> None:
    """Write a model folder. If writing fails, the former model stays complete.

    Files of the former model that the new one lacks are removed: they would be loaded with it.

    Args:
        model: the model.
        tokenizer: its tokenizer, or the object that reads its input.
        folder: the model folder.
        records: contents of further JSON files, by file name.

    Raises:
        OSError: the disk is full, or the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=STAGING_PREFIX) as staging:
        try:
            model.save_pretrained(staging)
            tokenizer.save_pretrained(staging)
        except Exception as error:  # safetensors and tokenizers raise classes of their own
            raise OSError(f"{folder}: cannot be written: {error}") from error
        for name, content in records.items():
            write_record(Path(staging) / name, content)
        # safetensors creates files that only their owner can read.
        shutil.copymode(Path(staging, "config.json"), Path(staging, "model.safetensors"))
        new = {path.name for path in Path(staging).iterdir()}
        obsolete = files_with_checksums(folder) - new
        write_checksums(Path(staging), new)
        for path in sorted(Path(staging).iterdir()):
            os.replace(path, folder / path.name)
        for name in obsolete:
            if (folder / name).is_file():
                (folder / name).unlink()


def write_record(path: Path, content: Any) -> None:
    """Write JSON with exact numbers. `trees.files.write_json` rounds them."""
    with atomic_write(path) as file:
        json.dump(content, file, indent=1, allow_nan=False)
        file.write("\n")
