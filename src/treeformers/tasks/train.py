"""Train any recipe of the library: one model, once, with a record of how it went."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from treeformers.recipes import (
    ClassifyRecipe,
    InduceRecipe,
    ParseRecipe,
    Recipe,
    SimilarityRecipe,
    TranslateRecipe,
)
from treeformers.training.memory import peak_memory, reset_peak_memory
from treeformers.training.model_card import write_card
from treeformers.training.provenance import commit
from treeformers.trees.files import read_object, write_json

__all__ = ["FIT", "Train", "finished", "is_trained_from", "train_once", "trainer"]

FIT = "fit.json"
"""The file in a model folder that says what the model was trained from, and how that went."""

Train = Callable[..., Any]
"""Trains one model, called as `train(recipe, folder, seed, resume=..., progress=...)`; returns a `Fit`."""


def trainer(recipe: Recipe) -> Train:
    """The function that trains a recipe.

    Raises:
        ValueError: no task of the library trains such a recipe.
    """
    match recipe:
        case InduceRecipe():
            from treeformers.tasks.induce.train import train_inducer

            return train_inducer
        case ParseRecipe():
            from treeformers.tasks.parse.train import train_parser

            return train_parser
        case ClassifyRecipe():
            from treeformers.tasks.classify.train import train_classifier

            return train_classifier
        case SimilarityRecipe():
            from treeformers.tasks.similarity.train import train_similarity

            return train_similarity
        case TranslateRecipe():
            from treeformers.tasks.translate.train import train_translator

            return train_translator
    raise ValueError(f"no command trains the task {recipe.task!r}")


def train_once(
    recipe: Recipe,
    seed: int,
    folder: Path,
    resume: bool = True,
    progress: bool = True,
    train: Train | None = None,
    sources: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Train one seed, unless the folder holds a finished model of this recipe.

    Args:
        recipe: what to train.
        seed: its seed.
        folder: of the model.
        resume: keep a finished model and continue an unfinished one; otherwise train from the start.
        progress: show a progress bar.
        train: the function that trains; `trainer(recipe)` by default.
        sources: what the models that the recipe reads were trained from, by name.

    Returns:
        The fields of `treeformers.training.fit.Fit`, with `validation_curve`, the curve of the metric that
        chose the weights, in place of the history. Also `commit`; `threads`; `preparing_seconds`, the
        processor time for reading data and saving (missing after a resumed run); and `peak_memory_mb` of the
        process. If the loss chose the weights, `metric` and `best` are left out: `loss` says the same.
    """
    import torch

    train = train or trainer(recipe)
    if resume and (known := finished(folder, recipe, sources)) is not None:
        return known
    resume = resume and (folder / "checkpoints").is_dir()
    reset_peak_memory()
    started = time.process_time()
    fit: dict[str, Any] = asdict(train(recipe, folder, seed, resume=resume, progress=progress))
    if not resume:
        fit["preparing_seconds"] = round(time.process_time() - started - fit["processor_seconds"], 3)
    fit["peak_memory_mb"] = peak_memory()
    fit["threads"] = torch.get_num_threads()
    metric = f"eval_{fit['metric']}"
    curve = [entry for entry in fit.pop("history") if metric in entry]
    if fit["metric"] == "loss":
        del fit["metric"], fit["best"]
    fit["validation_curve"] = [[entry["step"], entry[metric]] for entry in curve]
    fit["commit"] = commit()
    write_card(folder, recipe, fit)
    write_json(folder / FIT, {"training": recipe.training(), "sources": dict(sources or {}), "fit": fit})
    return fit


def finished(folder: Path, recipe: Recipe, sources: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """The record of training, if the folder holds a finished model of this recipe; else None.

    Args:
        folder: of the model.
        recipe: what it should have been trained from, see `Recipe.training`.
        sources: what the models that the recipe reads are trained from now, by name. A model that read
            another version of one of them does not count as finished.

    Raises:
        ValueError: the record is damaged.
    """
    path = folder / FIT
    if not path.is_file():
        return None
    stored = read_object(path)
    try:
        read = stored.get("sources", {})
        now = {**read, **(sources or {})}
        same = is_trained_from(stored["training"], recipe) and all(now[key] == read[key] for key in read)
        return dict(stored["fit"]) if same else None
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path}: damaged: {error}") from None


def is_trained_from(training: Mapping[str, Any], recipe: Recipe) -> bool:
    """Whether a recipe trains as a stored one did. Values count: a key that is missing has its default."""
    try:
        return Recipe.from_dict(training).training() == recipe.training()
    except ValueError:
        return False
