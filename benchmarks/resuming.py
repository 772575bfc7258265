"""Benchmark of resuming: train under kill -9, resume, and compare with an uninterrupted run.

python benchmarks/resuming.py --out results.json

The recipes run at the scale "smoke", on the embedded grammar. If a run finishes before all kills, another one
follows. Every second kill happens when a file is created, moved or removed; the others are at random moments.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

from provenance import report
from safetensors import SafetensorError, safe_open

from lab.model_cache import find_train_function, train_model
from treeformers.recipes import Recipe

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
FORK = multiprocessing.get_context("fork")  # so that only this process has to import torch
SIZES = ("train.epochs=6", "train.num_evaluations=8")
RECIPES: dict[str, tuple[Path, tuple[str, ...]]] = {
    "induce": (EXPERIMENTS / "wang2019" / "tree-l10-wsj-all.toml", ("train.ema_decay=0.9",)),
    "parse": (
        EXPERIMENTS / "ma2017" / "datt-bound.toml",
        ("data.sentences=100", "data.scored_sentences=5"),
    ),
    "classify": (EXPERIMENTS / "ahmed2019" / "sst-ctt-highway.toml", ("train.tokens_per_batch=60",)),
    "translate": (EXPERIMENTS / "nguyen2020" / "multi30k-en-de-tree.toml", ()),
    "fine-tune": (  # a learning rate that triggers early stopping
        EXPERIMENTS / "ginn2024" / "table11-id-bert.toml",
        ("train.epochs=40", "train.num_evaluations=40", "train.patience=2", "train.learning_rate=0.02"),
    ),
}
CHANGES = ("open", "os.mkdir", "os.remove", "os.rename", "os.rmdir")
"""Audit events of Python for creating, moving and removing files and folders."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20, help="number of kills of all recipes together")
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments")
    parser.add_argument("--out", type=Path, help="write the metrics as JSON")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as place:
        runs = {}
        for name in RECIPES:
            runs[name] = Trial(name, Path(place, name), rng).kill(arguments.kills // len(RECIPES))
    report({"seed": arguments.seed, "recipes": runs}, arguments.out)


@dataclass
class Trial:
    """The runs of a recipe.

    Attributes:
        name: name of the recipe.
        folder: folder of its models.
        rng: draws the moments.
        counts: number of kills and of damaged files.
    """

    name: str
    folder: Path
    rng: random.Random
    counts: Counter[str] = field(default_factory=Counter)

    def kill(self, kills: int) -> dict[str, Any]:
        """Kill and resume runs until the number of kills is reached and all runs have finished."""
        whole = self.folder / "whole"
        started = time.perf_counter()
        process, changes = self.start(whole)
        self.check(process)
        seconds, most = time.perf_counter() - started, changes.value
        done = []
        for number in itertools.count():
            out = self.folder / str(number)
            while self.attempt(out, kills, seconds, most):
                self.inspect(out)
            done.append(out)
            if self.counts["kills"] == kills:
                break
        different = {name for out in done for name in differences(out, whole)}
        counts = {"seconds": seconds, "file_changes": most, "models": len(done), **self.counts}
        return {**counts, "different": sorted(different)}

    def attempt(self, out: Path, kills: int, seconds: float, most: int) -> bool:
        """Start or resume a run. Returns whether it was killed, at a random moment or at a file change."""
        kill = self.counts["kills"] < kills
        at_change = kill and self.counts["kills"] % 2 == 1
        process, _ = self.start(out, self.rng.randint(1, most // 2) if at_change else 0)
        if kill and not at_change:
            process.join(self.rng.uniform(0, seconds / 2))
            process.kill()
        process.join()
        if process.exitcode == -signal.SIGKILL:
            self.counts["kills"] += 1
            self.counts["at_a_change_of_a_file"] += at_change
            return True
        self.check(process)
        return False

    def inspect(self, out: Path) -> None:
        """Count the half-written checkpoints and models and the unreadable files that a kill left."""
        self.counts["half_written"] += any(out.glob("checkpoints/.saving/checkpoint-*"))
        self.counts["half_written"] += any(out.glob(".saving-*"))
        files = [*out.glob("checkpoints/checkpoint-*/*"), *out.glob("*.*")]
        self.counts["unreadable_files"] += sum(not is_readable(path) for path in files if path.is_file())

    def start(self, out: Path, last_change: int = 0) -> tuple[ForkProcess, Any]:
        """Start a process that trains. Returns it and the counter of its file changes."""
        path, overrides = RECIPES[self.name]
        recipe = Recipe.load(path, "smoke", (*SIZES, *overrides))
        find_train_function(recipe)  # imports what the process needs
        changes = FORK.Value("i", 0)
        process = FORK.Process(target=train, args=(recipe, out, changes, last_change))
        process.start()
        return process, changes

    def check(self, process: ForkProcess) -> None:
        process.join()
        if process.exitcode:
            raise ChildProcessError(f"{self.name}: exit status {process.exitcode}")


def train(recipe: Recipe, out: Path, changes: Any, last: int) -> None:
    """Train or resume. Count file changes, and kill this process at number `last` unless that is 0."""

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in CHANGES and (event != "open" or is_written(arguments)):
            changes.value += 1
            if changes.value == last:
                os.kill(os.getpid(), signal.SIGKILL)

    def is_written(arguments: tuple[Any, ...]) -> bool:
        path, _, flags = arguments
        return bool(flags & (os.O_WRONLY | os.O_RDWR)) and str(path).startswith(str(out))

    sys.addaudithook(watch)
    train_model(recipe, 1, out, resume=True, progress=False)


def is_readable(path: Path) -> bool:
    try:
        match path.suffix:
            case ".safetensors":
                with safe_open(path, "pt") as weights:
                    weights.keys()
            case ".json":
                json.loads(path.read_text(encoding="utf-8"))
            case ".pt" | ".pth" | ".bin":
                with zipfile.ZipFile(path) as archive:
                    return archive.testzip() is None
    except (SafetensorError, ValueError, zipfile.BadZipFile):
        return False
    return True


def differences(folder: Path, whole: Path) -> set[str]:
    """The files that differ between two folders, except those that hold times."""
    found, expected = (
        {path.relative_to(one).as_posix(): path.read_bytes() for path in one.rglob("*") if path.is_file()}
        for one in (folder, whole)
    )
    names = (found.keys() | expected.keys()) - {"fit.json", "README.md"}
    return {name for name in names if found.get(name) != expected.get(name)}


if __name__ == "__main__":
    main()
