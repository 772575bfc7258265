"""Models that are trained already: of a row itself, and of another that needs the same."""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.recipes import FineTuneRecipe
from treeformers.recipes import Recipe, Scale
from treeformers.tasks.train import FIT, finished, train_once
from treeformers.training.lock import LOCK_FILE, lock_folder
from treeformers.trees.files import read_object

logger = logging.getLogger(__name__)


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
            usable = finished(other, recipe, sources(recipe.to_dict(), recipe.scale)) is not None
        except ValueError as error:
            logger.warning("%s; it is not copied", error)
            continue
        if usable:
            logger.info("%s: trained from the same as %s, which is copied", folder, other)
            half = folder.with_name(f"{folder.name}.part")
            with lock_folder(folder.parent):
                shutil.rmtree(half, ignore_errors=True)  # of a process that was killed
                shutil.copytree(other, half, ignore=shutil.ignore_patterns("checkpoints", LOCK_FILE))
                half.rename(folder)
            return


def named_models(recipe: Mapping[str, Any], scale: Scale) -> dict[str, Path]:
    """The models of other rows that a recipe names, by PAPER/ROW: "runs/PAPER/ROW-SCALE", or a seed in it.

    Args:
        recipe: as JSON has it, or what of it training depends on.
        scale: that of the rows.
    """
    named = re.findall(rf'"(runs/([\w-]+)/([\w-]+)-{scale}(?:/seed-\d+)?)[/"]', json.dumps(recipe))
    return {f"{paper}/{name}": Path(folder) for folder, paper, name in named}


def sources(recipe: Mapping[str, Any], scale: Scale) -> dict[str, Any]:
    """What the models were trained from that a recipe names, and those that these name: by PAPER/ROW.

    Args:
        recipe: as for `named_models`; a model whose folder does not say it is left out.
        scale: that of the rows.
    """
    found: dict[str, Any] = {}
    for key, folder in named_models(recipe, scale).items():
        for path in [*folder.glob(FIT), *sorted(folder.glob(f"seed-*/{FIT}"))][:1]:
            training = read_object(path).get("training", {})
            found |= {key: training, **sources(training, scale)}
    return found


def train_row(
    recipe: Recipe, seed: int, folder: Path, resume: bool = True, progress: bool = True
) -> dict[str, Any]:
    """Train one seed, unless its folder holds the model of this recipe already.

    Args:
        recipe: what to train.
        seed: its seed.
        folder: of the model.
        resume: keep a finished model and continue an unfinished one; otherwise train from the start.
        progress: show a progress bar.

    Returns:
        As `treeformers.tasks.train.train_once`.
    """
    train = None
    if isinstance(recipe, FineTuneRecipe):
        from lab.fine_tuning import train_judge

        train = train_judge
    read = sources(recipe.to_dict(), recipe.scale)
    return train_once(recipe, seed, folder, resume, progress, train, read)
