"""Recipes to results files: train every seed, score the models, write JSON.

An experiment folder holds `README.md`, one TOML recipe a table row and `results/*.json`.
"""

from __future__ import annotations

import json
import logging
import math
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from treeformers import __version__
from treeformers.processes import start_processes
from treeformers.recipes import (
    ClassifyRecipe,
    InduceRecipe,
    JudgeRecipe,
    LookRecipe,
    MeasureRecipe,
    ParseRecipe,
    ProbeRecipe,
    Recipe,
    Scale,
    SimilarityRecipe,
    TranslateRecipe,
)
from treeformers.reproduction.memory import peak_memory, reset_peak_memory
from treeformers.reproduction.status import members, read_row
from treeformers.reproduction.trained import FIT, finished, share, sources

logger = logging.getLogger(__name__)

_RECIPES = ("recipe", "members", "sources", "training")
"""Keys that hold recipes, whose numbers are not rounded: a small rate would be lost."""


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
    """What a task does with its recipe.

    Attributes:
        train: trains one model, called as `train(recipe, folder, seed, resume=..., progress=...)`: a `Fit`.
        collect: scores the models of all seeds: from recipe, model folders and what `train_once` gave to the
            content of the results file.
        check: reads what is scored against, so that what is missing shows before training.
    """

    train: Callable[..., Any]
    collect: Callable[[Any, Sequence[Path], Sequence[Mapping[str, Any]]], dict[str, Any]]
    check: Callable[[], Any]


def task_functions(recipe: Recipe, processes: int = 1) -> TaskFunctions:
    """What there is to do for a recipe whose task trains models.

    Args:
        recipe: of the task.
        processes: that score at the same time, where scoring takes long.
    """
    match recipe:
        case InduceRecipe():
            from treeformers.reproduction import induce
            from treeformers.training import train_inducer

            collect = partial(induce.collect, processes=processes)
            return TaskFunctions(train_inducer, collect, lambda: induce.read_tests(recipe.data))
        case ParseRecipe():
            from treeformers.reproduction import parse
            from treeformers.training.parse import train_parser

            collect = partial(parse.collect, processes=processes)
            return TaskFunctions(train_parser, collect, lambda: parse.read_gold(recipe.data))
        case ClassifyRecipe() | SimilarityRecipe():
            from treeformers.reproduction import classify
            from treeformers.training.classify import train_classifier

            pairs = isinstance(recipe, SimilarityRecipe)
            return TaskFunctions(
                train_classifier, classify.collect, lambda: classify.read_gold(recipe.data, pairs)
            )
        case TranslateRecipe():
            from treeformers.reproduction import translate
            from treeformers.training.translate import read_pairs, train_translator

            return TaskFunctions(train_translator, translate.collect, lambda: read_pairs(recipe.data, "test"))
        case JudgeRecipe():
            from treeformers.reproduction import judge
            from treeformers.training.judge import check_base, read_tests, train_judge

            return TaskFunctions(
                train_judge, judge.collect, lambda: (check_base(recipe.data), read_tests(recipe.data))
            )
        case _:
            raise ValueError(f"nothing trains the task {recipe.task!r}")


def environment() -> dict[str, Any]:
    """Versions and devices, for results and bug reports."""
    import torch

    devices = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "device": ", ".join(devices) or f"{torch.cpu.get_capabilities().get('cpu_name', 'CPU')} (CPU)",
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "treeformers": __version__,
        "torch": str(torch.__version__),  # names the build, which the package's version may not
        **{name: version(name) for name in ("transformers", "tokenizers", "accelerate")},
    }


def origin(recipe: Recipe) -> dict[str, Any]:
    """Where a result comes from: the first entries of every results file."""
    return {
        "recipe": recipe.to_dict(),
        "scale": recipe.scale,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": commit(),
        "environment": environment(),
    }


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
        from treeformers.reproduction import probe

        return probe.collect(recipe)
    if isinstance(recipe, MeasureRecipe):
        from treeformers.reproduction import measure

        return measure.collect(recipe)
    parts = members(path, recipe, overrides)
    if isinstance(recipe, LookRecipe):
        from treeformers.reproduction import look

        seeds = {name: row.train.seeds[0] for name, row in parts.items()}
        folders = {name: runs / f"{name}-{scale}" / f"seed-{seed}" for name, seed in seeds.items()}
        for name, row in parts.items():
            train_once(row, seeds[name], folders[name], progress=progress)
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
        from treeformers.results import card

        for folder, seed in zip(models, result["seeds"], strict=True):
            card.write_card(folder, recipe, seed, result)
    return result


def _train_all(
    models: Mapping[Path, tuple[Recipe, int]], progress: bool, processes: int
) -> list[dict[str, Any]]:
    """`train_once` for every folder: recipe and seed. The models of a short last round share all cores."""
    processes = min(processes, len(models))
    if processes <= 1:
        return [train_once(*what, folder, progress=progress) for folder, what in models.items()]
    if last := len(models) % processes:
        folders = list(models)
        rounds = [{folder: models[folder] for folder in part} for part in (folders[:-last], folders[-last:])]
        return [fit for part in rounds for fit in _train_all(part, progress, processes)]
    with start_processes(processes) as pool:
        started = [pool.submit(train_once, *what, folder, progress=False) for folder, what in models.items()]
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
    recipes = sorted(experiment.glob(f"{row or '*'}.toml"))
    if not recipes:
        known = ", ".join(sorted(path.stem for path in experiment.glob("*.toml"))) or "none"
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


def commit() -> str:
    """The commit of the code that runs, "+" after it if files differ; "" outside a checkout."""
    folder = Path(__file__).parents[1]  # of the package

    def git(*arguments: str) -> str:
        try:
            done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""

    return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain", "--", ".") else "")


def write_json(path: Path, content: Any) -> None:
    """Write JSON in one step: a file that stood there stays whole until the new one is.

    Numbers keep four decimal places, those of recipes all.
    """
    from treeformers.trees.formats import atomic_write

    with atomic_write(path) as file:
        json.dump(_rounded(content), file, indent=1, ensure_ascii=False)
        file.write("\n")


def train_once(
    recipe: Recipe, seed: int, folder: Path, resume: bool = True, progress: bool = True
) -> dict[str, Any]:
    """Train one seed, unless that was done: `FIT` in the folder says so.

    Args:
        recipe: what to train.
        seed: its seed.
        folder: of the model.
        resume: keep a finished model and go on with an unfinished one; otherwise train anew.
        progress: show a progress bar.

    Returns:
        The fields of `treeformers.training.Fit`, with the validation curve of the figure that chose the
        weights for the history, the commit, the `threads` that computed, `preparing_seconds`, those of the
        processor for reading data and saving (not of a resumed run), and `peak_memory_mb`, see
        `treeformers.reproduction.memory`: of the process, with the data and, of a first seed, with what made
        them ready. Where that figure is the loss, `metric` and `best` are left out: they would say no more
        than `loss`.
    """
    import torch

    functions = task_functions(recipe)
    if resume and (known := finished(folder, recipe)) is not None:
        return known
    resume = resume and (folder / "checkpoints").is_dir()
    reset_peak_memory()
    started = time.process_time()
    fit = asdict(functions.train(recipe, folder, seed, resume=resume, progress=progress))
    if not resume:
        fit["preparing_seconds"] = round(time.process_time() - started - fit["processor_seconds"], 3)
    fit["peak_memory_mb"] = peak_memory()
    fit["threads"] = torch.get_num_threads()
    figure = f"eval_{fit['metric']}"
    curve = [entry for entry in fit.pop("history") if figure in entry]
    if fit["metric"] == "loss":
        del fit["metric"], fit["best"]
    fit["validation_curve"] = [[entry["step"], entry[figure]] for entry in curve]
    fit["commit"] = commit()
    from treeformers.results import card

    card.write_card(folder, recipe, fit)
    read = sources(recipe.to_dict(), recipe.scale)
    write_json(folder / FIT, {"training": recipe.training(), "sources": read, "fit": fit})
    return fit


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
    if known := sources(row.recipe.to_dict(), scale):
        result["sources"] = known
    row.target.parent.mkdir(exist_ok=True)
    write_json(row.target, result)
    return row.target


def _rounded(content: Any) -> Any:
    if isinstance(content, float):
        if not math.isfinite(content):
            return None
        # By decimals a small p-value would become 0.
        return round(content, 4) if abs(content) >= 1 else float(f"{content:.4g}")
    if isinstance(content, Mapping):
        return {key: value if key in _RECIPES else _rounded(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_rounded(value) for value in content]
    return content
