"""Recipes to results files: train every seed, score the models, write JSON.

An experiment folder holds `README.md`, one TOML recipe a table row and `results/*.json`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from lab.model_cache import share, sources, train_row
from lab.recipes import BenchmarkRecipe, FineTuneRecipe, ProbeRecipe, VisualizeRecipe
from lab.row_status import members, read_row
from lab.rows import RowInfo, recipe_paths
from treeformers.recipes import (
    ClassifyRecipe,
    InduceRecipe,
    ParseRecipe,
    Recipe,
    Scale,
    SimilarityRecipe,
    TranslateRecipe,
)
from treeformers.training import model_card as card
from treeformers.training.workers import start_workers
from treeformers.trees.files import write_json

logger = logging.getLogger(__name__)


class RowsFailed(ValueError):
    """Rows of an experiment ended with an error; the others are done.

    Attributes:
        rows: those that failed.
        written: the results files of the others.
    """

    def __init__(self, message: str, rows: Sequence[str], written: Sequence[Path]) -> None:
        super().__init__(message)
        self.rows = tuple(rows)
        self.written = tuple(written)


class TaskFunctions(NamedTuple):
    """How the laboratory scores the models of a recipe.

    Attributes:
        collect: scores the models of all seeds: from recipe, model folders and what `train_row` returned to
            the content of the results file.
        check: reads the data to score against, so that a missing corpus shows before training.
    """

    collect: Callable[[Any, Sequence[Path], Sequence[Mapping[str, Any]]], dict[str, Any]]
    check: Callable[[], Any]


def task_functions(recipe: Recipe, processes: int = 1) -> TaskFunctions:
    """How to score a recipe whose task trains models.

    Args:
        recipe: of the task.
        processes: processes that score at the same time, where scoring takes long.
    """
    match recipe:
        case InduceRecipe():
            from lab import induce

            collect = partial(induce.collect, processes=processes)
            return TaskFunctions(collect, lambda: induce.read_tests(recipe.data))
        case ParseRecipe():
            from lab import parse

            collect = partial(parse.collect, processes=processes)
            return TaskFunctions(collect, lambda: parse.read_gold(recipe.data))
        case ClassifyRecipe() | SimilarityRecipe():
            from lab import classify

            pairs = isinstance(recipe, SimilarityRecipe)
            return TaskFunctions(classify.collect, lambda: classify.read_gold(recipe.data, pairs))
        case TranslateRecipe():
            from lab import translate
            from treeformers.tasks.translate.train import read_pairs

            return TaskFunctions(translate.collect, lambda: read_pairs(recipe.data, "test"))
        case FineTuneRecipe():
            from lab import fine_tune
            from lab.fine_tuning import check_base, read_tests

            return TaskFunctions(
                fine_tune.collect, lambda: (check_base(recipe.data), read_tests(recipe.data))
            )
        case _:
            raise ValueError(f"nothing trains the task {recipe.task!r}")


def run_recipe(
    path: Path,
    scale: Scale,
    runs: Path,
    overrides: Iterable[str] = (),
    progress: bool = True,
    processes: int = 1,
    shared: Path | None = None,
) -> dict[str, Any]:
    """Train and score a recipe for all its seeds; a finished seed is not trained again.

    Args:
        path: the recipe.
        scale: its sizes.
        runs: folder for the models.
        overrides: changes to the recipe, see `Recipe.load`.
        progress: show progress bars; several processes show none.
        processes: models that are trained at the same time, or scored where that takes long.
        shared: folder for the models of all papers: one that another row trained from the same is copied.

    Returns:
        What is written to the results file, but for the `sources`.
    """
    overrides = tuple(overrides)
    recipe = Recipe.load(path, scale, overrides)
    if isinstance(recipe, ProbeRecipe):
        from lab import probe

        return probe.collect(recipe)
    if isinstance(recipe, BenchmarkRecipe):
        from lab import benchmark as measure

        return measure.collect(recipe)
    parts = members(path, recipe, overrides)
    if isinstance(recipe, VisualizeRecipe):
        from lab import visualize as look

        seeds = {name: row.train.seeds[0] for name, row in parts.items()}
        folders = {name: runs / f"{name}-{scale}" / f"seed-{seed}" for name, seed in seeds.items()}
        for name, row in parts.items():
            train_row(row, seeds[name], folders[name], progress=progress)
        return look.collect(recipe, folders, parts) | {
            "members": {name: row.to_dict() for name, row in parts.items()}
        }
    functions = task_functions(recipe, processes)
    functions.check()
    models = {
        runs / f"{name}-{scale}" / f"seed-{seed}": (trained, seed)
        for name, trained in (parts or {path.stem: recipe}).items()
        for seed in trained.train.seeds
    }
    if shared is not None:
        for folder, (trained, _) in models.items():
            share(folder, trained, shared)
    fits = _train_all(models, progress, processes)
    started = time.process_time()
    result = functions.collect(recipe, list(models), fits)
    result["scoring_seconds"] = time.process_time() - started
    if processes == 1:  # otherwise those of the models are of other processes
        apart = [*result["seeds"], result.get("ensemble", {})]
        result["scoring_seconds"] -= sum(part.get("scoring_seconds", 0.0) for part in apart)
    if parts:
        result["members"] = {name: part.to_dict() for name, part in parts.items()}
    else:
        for folder, seed in zip(models, result["seeds"], strict=True):
            card.write_card(folder, recipe, seed, result)
    return result


def _train_all(
    models: Mapping[Path, tuple[Recipe, int]], progress: bool, processes: int
) -> list[dict[str, Any]]:
    """`train_row` for every folder: recipe and seed. The models of a short last round share all cores."""
    processes = min(processes, len(models))
    if processes <= 1:
        return [train_row(*what, folder, progress=progress) for folder, what in models.items()]
    if last := len(models) % processes:
        folders = list(models)
        rounds = [{folder: models[folder] for folder in part} for part in (folders[:-last], folders[-last:])]
        return [fit for part in rounds for fit in _train_all(part, progress, processes)]
    with start_workers(processes) as pool:
        started = [pool.submit(train_row, *what, folder, progress=False) for folder, what in models.items()]
        return [future.result() for future in started]


def reproduce(
    experiment: Path,
    row: str | None = None,
    scale: Scale = "small",
    runs: Path = Path("runs"),
    overrides: Sequence[str] = (),
    progress: bool = True,
    again: bool = False,
    processes: int = 1,
) -> list[Path]:
    """Run the recipes of an experiment folder that have no results yet, and write them.

    A row whose results were made from the same recipe is left as it is, see `read_row`; only its title,
    tables and published figures are brought up to date. A model that another row trained from the same is
    copied. Of several rows, those whose corpora are not there are left out with a warning, and one that fails
    does not end the others.

    Args:
        experiment: folder of a paper, such as `experiments/wang2019`.
        row: name of one recipe; all of them by default.
        scale: their sizes.
        runs: folder for the models.
        overrides: changes to every recipe.
        progress: show progress bars; several processes show none.
        again: run rows that are up to date, too; trained seeds are not trained again.
        processes: models of a row that are trained at the same time, or scored where that takes long.

    Returns:
        The results files, with those that were up to date.

    Raises:
        FileNotFoundError: no such experiment or row, or no corpus for any of its recipes.
        ValueError: fewer than one process.
        ChildProcessError: one of several processes was killed.
        RowsFailed: of several rows, some failed.
    """
    if processes < 1:
        raise ValueError(f"processes is {processes}, expected at least 1")
    if not experiment.is_dir():
        raise FileNotFoundError(f"{experiment}: no such folder, expected one that holds recipes")
    recipes = recipe_paths(experiment, row or "*")
    if not recipes:
        known = ", ".join(path.stem for path in recipe_paths(experiment)) or "none"
        raise FileNotFoundError(f"{experiment / (row or '*')}.toml: no such recipe; there are: {known}")
    written: list[Path] = []
    failed: list[str] = []
    for path in recipes:
        try:
            written.append(_run_row(path, scale, runs, overrides, progress, again, processes))
        except FileNotFoundError as error:
            if len(recipes) == 1 or (path == recipes[-1] and not written and not failed):
                raise
            logger.warning("%s is left out: %s", path, error)
        except Exception as error:
            if len(recipes) == 1:
                raise
            failed.append(path.stem)
            logger.error("%s failed: %s: %s", path, type(error).__name__, " ".join(str(error).split()))
            logger.debug("where %s failed", path, exc_info=True)
    if failed:
        raise RowsFailed(
            f"{experiment}: {len(failed)} of {len(recipes)} rows failed: {', '.join(failed)}", failed, written
        )
    return written


def _run_row(
    path: Path,
    scale: Scale,
    runs: Path,
    overrides: Sequence[str],
    progress: bool,
    again: bool,
    processes: int,
) -> Path:
    """Bring the results file of a recipe up to date."""
    row = read_row(path, scale, overrides)
    if row.state == "done" and not again:
        logger.info("%s is up to date: %s", path, row.target.relative_to(path.parent))
        retitled = row.retitled()
        if retitled != row.result:
            write_json(row.target, retitled)
        return row.target
    why = "".join(f", changed: {key}" for key in row.changed)
    logger.info("%s at scale %s%s", path, scale, why)
    models = runs / path.parent.name
    if overrides and row.result:
        logger.warning(
            "%s is replaced by what %s gives, and so is its row in the tables",
            row.target,
            " ".join(overrides),
        )
    result = run_recipe(path, scale, models, overrides, progress, processes, shared=runs)
    result = _with_row_info(result, row.info)
    if known := sources(row.recipe.to_dict(), scale):
        result["sources"] = known
    row.target.parent.mkdir(exist_ok=True)
    write_json(row.target, result)
    return row.target


def _with_row_info(result: dict[str, Any], info: RowInfo) -> dict[str, Any]:
    """A result with what the paper says about the row behind the recipe."""
    return {"recipe": result["recipe"], "row": info.shown(), **result}
