"""Models that are trained already: of a row itself, and of another that needs the same."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from treeformers.processes import LOCK, sole_writer
from treeformers.recipes import Recipe
from treeformers.trees.formats import read_object

logger = logging.getLogger(__name__)

FIT = "fit.json"
"""The file that says that a model is trained, from what, and how that went."""


def finished(folder: Path, recipe: Recipe) -> dict[str, Any] | None:
    """What training gave, if the folder holds a finished model of this recipe.

    Args:
        folder: of the model.
        recipe: what it should have been trained from, see `Recipe.training`.

    Raises:
        ValueError: what the folder says of its training is damaged.
    """
    path = folder / FIT
    if not path.is_file():
        return None
    stored = read_object(path)
    try:
        return dict(stored["fit"]) if _is_same(stored["training"], recipe) else None
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path}: damaged: {error}") from None


def share(folder: Path, recipe: Recipe, runs: Path) -> None:
    """Copy a model that another row trained from the same data in the same way, if there is one.

    Args:
        folder: of the model, `runs/PAPER/ROW-SCALE/seed-N`; nothing is done where it exists.
        recipe: what is to be trained.
        runs: the folder for the models of all papers.

    Raises:
        BlockingIOError: another process copies models of this row.
    """
    if folder.exists():
        return
    for other in sorted(runs.glob(f"*/*/{folder.name}")):
        try:
            usable = finished(other, recipe) is not None
        except ValueError as error:
            logger.warning("%s; it is not copied", error)
            continue
        if usable:
            logger.info("%s: trained from the same as %s, which is copied", folder, other)
            half = folder.with_name(f"{folder.name}.part")
            with sole_writer(folder.parent):
                shutil.rmtree(half, ignore_errors=True)  # of a process that was killed
                shutil.copytree(other, half, ignore=shutil.ignore_patterns("checkpoints", LOCK))
                half.rename(folder)
            return


def _is_same(stored: Mapping[str, Any], recipe: Recipe) -> bool:
    """By value: a key that was not there yet has its default."""
    try:
        return Recipe.from_dict(stored).training() == recipe.training()
    except ValueError:
        return False
