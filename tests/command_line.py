"""The commands as tests run them: what they print, and what they say of bad input."""

from __future__ import annotations

import json
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from typer.testing import CliRunner, Result

from treeformers.cli import app
from treeformers.trees.dependency import DependencyTree

ROOT = Path(__file__).parents[1]
RECIPE = ROOT / "experiments" / "wang2019" / "tree-l10-wsj-all.toml"
SMALL = ("--scale", "smoke", "data.sentences=100", "train.max_steps=2")
SENTENCES = "the dogs run\n\nhe kicks the big cat\nme\n"

DEPENDENCIES = [
    DependencyTree(["he", "runs"], [2, 0], ["nsubj", "root"]),
    DependencyTree(["the", "dogs", "run"], [2, 3, 0], ["det", "nsubj", "root"]),
]


def run(*arguments: object, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def output(*arguments: object, stdin: str | bytes | None = None) -> str:
    """The standard output of a command that succeeds."""
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def complaint(*arguments: object, stdin: str | bytes | None = None) -> str:
    """The one line of a command that ends badly."""
    result = run(*arguments, stdin=stdin)
    lines = [line for line in result.stderr.splitlines() if line.startswith("treeformers: error: ")]
    assert (result.exit_code, len(lines)) == (2, 1), (result.stderr, result.exception)
    assert "Traceback" not in result.stderr
    return lines[0].removeprefix("treeformers: error: ")


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Writing more to a file fails, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def copied(folder: Path, to: Path) -> Path:
    return Path(shutil.copytree(folder, to))


def with_decoding(folder: Path, to: Path, **decoding: object) -> Path:
    """A copy of a model folder that reads its trees in another way."""
    path = copied(folder, to) / "recipe.json"
    recipe = json.loads(path.read_text())
    path.write_text(json.dumps(recipe | {"decoding": decoding}))
    return to


def output_json(command: str, model: Path, folder: Path) -> str:
    path = folder / "own.json"
    output(command, model, "--json", path)
    return path.read_text()
