"""The folder of a model: what training leaves in it, while it goes on and when it is done."""

from __future__ import annotations

import json
import logging
import math
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Protocol

import torch
from transformers import PreTrainedModel

from treeformers.recipes import Recipe
from treeformers.training.batches import Collator, Features
from treeformers.training.checkpoints import drop
from treeformers.training.fit import Fit, fit
from treeformers.training.model_folder import read_recipe, saved_files, write_checksums
from treeformers.training.processes import sole_writer
from treeformers.trees.files import atomic_write

logger = logging.getLogger(__name__)

_SAVING = ".saving-"
_LEFT_OVER = (f"{_SAVING}*", ".checkpoints.dropped", ".*.json.*.tmp")
"""What a process that was killed can leave half done."""


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
        seed: the model's seed; the first of `recipe.train.seeds` by default.
        resume: go on with an unfinished run there; otherwise its checkpoints go, and a model that is there is
            replaced in the end; the log says so.
        progress: show a progress bar.

    Raises:
        ValueError: a run of another recipe or seed is to be resumed.
    """

    def __init__(
        self,
        folder: str | Path,
        recipe: Recipe,
        seed: int | None = None,
        resume: bool = False,
        progress: bool = True,
    ) -> None:
        self.folder, self.recipe, self.resume, self.progress = Path(folder), recipe, resume, progress
        self.seed = recipe.train.seeds[0] if seed is None else seed
        self.checkpoints = self.folder / "checkpoints"
        self.first = os.environ.get("RANK", "0") == "0"
        record = self.folder / "run.json"
        if resume and record.is_file() and not self._is_of(record.read_text(encoding="utf-8")):
            raise ValueError(
                f"{record}: another recipe or seed was trained here; resume with that one or use a new folder"
            )

    def fit(
        self,
        model: PreTrainedModel,
        tokenizer: Saveable,
        features: Features,
        held_out: Features,
        collator: Collator,
        held_out_collator: Collator | None = None,
        **options: Any,
    ) -> Fit:
        """Train the model and save it.

        Args:
            model: this and the examples as in `fit.fit`.
            tokenizer: of the model, saved with it.
            features: training examples.
            held_out: examples of the validation loss.
            collator: examples to a batch.
            held_out_collator: the same for the validation loss; `collator` by default.
            **options: the keyword arguments of `fit.fit`.

        Raises:
            ValueError: as `fit.fit` does.
            OSError: the folder cannot be written, or another process trains there.
        """
        with sole_writer(self.folder) if self.first else nullcontext():
            self.begin()
            result = fit(
                model,
                features,
                held_out,
                collator,
                held_out_collator or collator,
                self.recipe.train,
                self.seed,
                self.checkpoints,
                self.resume,
                self.progress,
                **options,
            )
            self.finish(model, tokenizer, result)
        return result

    def begin(self) -> None:
        """Write down what is trained here, and remove what is not gone on with or was left half done."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.first:
            if not self.resume:
                if self.checkpoints.is_dir():
                    logger.warning("%s: the unfinished run there is dropped, not resumed", self.folder)
                drop(self.checkpoints)
            for left in [path for pattern in _LEFT_OVER for path in self.folder.glob(pattern)]:
                if left.is_dir():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink(missing_ok=True)
            if not self.resume and (self.folder / "config.json").is_file():
                logger.warning("%s: the model there will be replaced by the one trained now", self.folder)
            _write_json(self.folder / "run.json", {"recipe": self.recipe.to_dict(), "seed": self.seed})

    def finish(self, model: PreTrainedModel, tokenizer: Saveable, fit: Fit) -> None:
        """Save the model, with `recipe.json` and `history.json`, and drop the checkpoints."""
        if torch.distributed.is_initialized():
            torch.distributed.barrier()  # all have read the best checkpoint
        if self.first:
            extra = {"recipe.json": self.recipe.to_dict(), "history.json": _defined(fit.history)}
            save_model(model, tokenizer, self.folder, extra)
            drop(self.checkpoints)

    def _is_of(self, written: str) -> bool:
        try:  # by value: a key that was not there yet has its default
            stored = json.loads(written)
            return Recipe.from_dict(stored["recipe"]) == self.recipe and stored["seed"] == self.seed
        except (KeyError, TypeError, ValueError):
            return False


def refuse_others(out: Path, recipe: Recipe) -> None:
    """Refuse a folder in which what is trained now would be read together with other models.

    Args:
        out: of the model; where there are several seeds, of their folders.
        recipe: what is to be trained.

    Raises:
        ValueError: several seeds beside a model, a model beside several seeds, or seeds beside those of
            another recipe.
    """
    seeds, there = recipe.train.seeds, sorted(out.glob("seed-*/config.json"))
    if len(seeds) > 1 and (out / "config.json").is_file():
        raise ValueError(f"{out}: holds a model, expected a folder for those of {len(seeds)} seeds alone")
    if len(seeds) == 1 and there:
        raise ValueError(f"{out}: holds models of several seeds, expected a folder for one model")
    for home in (path.parent for path in there):
        if home.name not in {f"seed-{seed}" for seed in seeds}:
            try:
                same = read_recipe(home, several=(Recipe,)).training() == recipe.training()
            except (OSError, ValueError):
                same = False
            if not same:
                raise ValueError(
                    f"{home}: a model of another recipe, which would be read together with the new ones; "
                    "expected it removed, or another folder"
                )


def save_model(
    model: PreTrainedModel,
    tokenizer: Saveable,
    out: Path,
    extra: Mapping[str, Any],
) -> None:
    """Write a model folder so that what stood there stays whole until the new one is.

    Files of a former model that the new one does not have go, or it would be read with them.

    Raises:
        OSError: the disk is full or the folder cannot be written.
    """
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=_SAVING) as folder:
        try:
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
        except Exception as error:  # safetensors and tokenizers raise kinds of their own
            raise OSError(f"{out}: cannot be written: {error}") from None
        for name, content in extra.items():
            _write_json(Path(folder) / name, content)
        # safetensors writes what its owner alone can read.
        shutil.copymode(Path(folder, "config.json"), Path(folder, "model.safetensors"))
        new = {path.name for path in Path(folder).iterdir()}
        former = saved_files(out) - new
        write_checksums(Path(folder), new)
        for path in sorted(Path(folder).iterdir()):
            os.replace(path, out / path.name)
        for name in former:
            if (out / name).is_file():
                (out / name).unlink()


def _defined(history: Sequence[Mapping[str, float]]) -> list[dict[str, float | None]]:
    """With null where a figure is no number, as the correlation of a single pair."""
    return [
        {name: value if math.isfinite(value) else None for name, value in entry.items()} for entry in history
    ]


def _write_json(path: Path, content: Any) -> None:
    with atomic_write(path) as file:
        json.dump(content, file, indent=1, allow_nan=False)
        file.write("\n")
