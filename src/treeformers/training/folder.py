"""The folder of a model: what training leaves in it, while it goes on and when it is done."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import torch
from transformers import PreTrainedModel

from treeformers.model_folder import write_checksums
from treeformers.recipes import Recipe
from treeformers.training.fit import Fit
from treeformers.trees.formats import atomic_write


class Saveable(Protocol):
    """A tokenizer, or what stands for one."""

    def save_pretrained(self, folder: str, /) -> Any: ...


class Run:
    """The training of one model in its folder.

    While it goes on the folder holds `run.json`, which says what is trained there, and `checkpoints`. Of
    several processes the first one writes.

    Args:
        folder: of the model.
        recipe: what to train on and how.
        seed: the model's seed.
        resume: go on with an unfinished run there; otherwise its checkpoints go.

    Raises:
        ValueError: a run of another recipe or seed is to be resumed.
    """

    def __init__(self, folder: Path, recipe: Recipe, seed: int, resume: bool) -> None:
        self.folder, self.recipe, self.seed = folder, recipe, seed
        self.checkpoints = folder / "checkpoints"
        self.first = os.environ.get("RANK", "0") == "0"
        record = folder / "run.json"
        if resume and record.is_file() and not self._is_of(json.loads(record.read_text(encoding="utf-8"))):
            raise ValueError(
                f"{record}: another recipe or seed was trained here; resume with that one or use a new folder"
            )
        if not resume and self.first and self.checkpoints.is_dir():
            shutil.rmtree(self.checkpoints)

    def begin(self) -> None:
        """Write down what is trained here."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.first:
            _write_json(self.folder / "run.json", {"recipe": self.recipe.to_dict(), "seed": self.seed})

    def finish(self, model: PreTrainedModel, tokenizer: Saveable, fit: Fit) -> None:
        """Save the model, with `recipe.json` and `history.json`, and drop the checkpoints."""
        if torch.distributed.is_initialized():
            torch.distributed.barrier()  # all have read the best checkpoint
        if self.first:
            extra = {"recipe.json": self.recipe.to_dict(), "history.json": fit.history}
            save_model(model, tokenizer, self.folder, extra)
            shutil.rmtree(self.checkpoints, ignore_errors=True)

    def _is_of(self, stored: Mapping[str, Any]) -> bool:
        try:  # by value: a key that was not there yet has its default
            return Recipe.from_dict(stored["recipe"]) == self.recipe and stored["seed"] == self.seed
        except (KeyError, ValueError):
            return False


def save_model(
    model: PreTrainedModel,
    tokenizer: Saveable,
    out: Path,
    extra: Mapping[str, Any],
) -> None:
    """Write a model folder so that what stood there stays whole until the new one is.

    Raises:
        OSError: the disk is full or the folder cannot be written.
    """
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=".saving-") as folder:
        try:
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
        except Exception as error:  # safetensors and tokenizers raise kinds of their own
            raise OSError(f"{out}: cannot be written: {error}") from None
        for name, content in extra.items():
            _write_json(Path(folder) / name, content)
        write_checksums(Path(folder), [path.name for path in Path(folder).iterdir()])
        for path in sorted(Path(folder).iterdir()):
            os.replace(path, out / path.name)


def _write_json(path: Path, content: Any) -> None:
    with atomic_write(path) as file:
        json.dump(content, file, indent=1)
        file.write("\n")
