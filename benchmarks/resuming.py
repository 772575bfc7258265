"""Training under kill -9: at random moments and while it saves; resumed, and compared with runs left alone.

python benchmarks/resuming.py --out results.json

The recipes are run at the scale "smoke", on the embedded grammar. A run that is done before all kills were is
followed by another one.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import random
import signal
import subprocess
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

from figures import report
from safetensors import SafetensorError, safe_open

from treeformers.model_folder import CHECKSUMS
from treeformers.recipes import Recipe
from treeformers.reproduction.run import task_functions, train_once

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
FORK = multiprocessing.get_context("fork")  # so that only this process has to import torch
SIZES = ("train.epochs=12", "train.evaluations=12")
RECIPES: dict[str, tuple[Path, tuple[str, ...]]] = {
    "induce": (EXPERIMENTS / "wang2019" / "tree-l10-wsj-all.toml", ("train.average=0.9",)),
    "parse": (
        EXPERIMENTS / "ma2017" / "datt-bound.toml",
        ("data.sentences=100", "data.scored_sentences=5"),
    ),
}
MOMENTS = ("any", "a state is saved", "any", "the model is saved")
"""When a run is killed, in turn."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20, help="of all recipes together")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as place:
        runs = {}
        for name in RECIPES:
            runs[name] = Trial(name, Path(place, name), chance).kill(arguments.kills // len(RECIPES))
    report({"seed": arguments.seed, "recipes": runs}, arguments.out)


@dataclass
class Trial:
    """The runs of a recipe.

    Attributes:
        name: of the recipe.
        folder: for its models.
        chance: draws the moments.
        counts: of kills and of what they left.
    """

    name: str
    folder: Path
    chance: random.Random
    counts: Counter[str] = field(default_factory=Counter)

    def kill(self, kills: int) -> dict[str, Any]:
        """Kill and resume runs until so many kills were, and all runs are done."""
        self.folder.mkdir()
        whole = self.folder / "whole"
        started = time.perf_counter()
        self.check(self.start(whole))
        seconds = time.perf_counter() - started
        done = []
        for number in itertools.count():
            out = self.folder / str(number)
            while self.attempt(out, kills, seconds):
                self.inspect(out)
            done.append(out)
            if self.counts["kills"] == kills:
                break
        expected = contents(whole)
        return {
            "seconds": seconds,
            "models": len(done),
            **self.counts,
            "equal": all(contents(out) == expected and is_whole(out) for out in done),
        }

    def attempt(self, out: Path, kills: int, seconds: float) -> bool:
        """Begin a run or go on with it; whether it was killed."""
        started = time.perf_counter()
        process = self.start(out)
        if self.counts["kills"] < kills:
            moment = MOMENTS[self.counts["kills"] % len(MOMENTS)]
            drawn = started + self.chance.uniform(0, seconds)
            if moment == "the model is saved":
                wait(process, lambda: any(out.glob(".saving-*")))
            else:
                wait(process, lambda: time.perf_counter() > drawn)
            if moment == "a state is saved":
                wait(process, lambda: any(out.glob("checkpoints/.saving/checkpoint-*")))
            time.sleep(self.chance.uniform(0, 0.02))
            process.kill()
            process.join()
            if process.exitcode == -signal.SIGKILL:
                self.counts["kills"] += 1
                return True
        self.check(process)
        return False

    def inspect(self, out: Path) -> None:
        """Count what a kill left: states that are half written, and files that cannot be read."""
        self.counts["while_a_state_was_saved"] += any(out.glob("checkpoints/.saving/checkpoint-*"))
        self.counts["while_the_model_was_saved"] += any(out.glob(".saving-*"))
        states = [*out.glob("checkpoints/checkpoint-*/*"), *out.glob("*.*")]
        self.counts["unreadable_files"] += sum(not is_readable(path) for path in states if path.is_file())

    def start(self, out: Path) -> ForkProcess:
        path, overrides = RECIPES[self.name]
        recipe = Recipe.load(path, "smoke", (*SIZES, *overrides))
        task_functions(recipe)  # imports what the process needs
        process = FORK.Process(target=train_once, args=(recipe, 1, out, True, False))
        process.start()
        return process

    def check(self, process: ForkProcess) -> None:
        process.join()
        if process.exitcode:
            raise ChildProcessError(f"{self.name}: exit status {process.exitcode}")


def wait(process: ForkProcess, until: Callable[[], bool]) -> None:
    while process.is_alive() and not until():
        time.sleep(0.001)


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


def contents(folder: Path) -> tuple[list[str], bytes]:
    """The names of all files of a model folder, and the checksums of the model."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    return names, (folder / CHECKSUMS).read_bytes()


def is_whole(folder: Path) -> bool:
    return subprocess.run(["sha256sum", "--check", "--status", CHECKSUMS], cwd=folder).returncode == 0


if __name__ == "__main__":
    main()
