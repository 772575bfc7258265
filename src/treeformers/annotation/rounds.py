"""Rounds: a parser learns from the accepted trees, is scored on held-out ones, and proposes trees anew."""

from __future__ import annotations

import json
import logging
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from treeformers.annotation.project import Project
from treeformers.annotation.proposals import propose
from treeformers.annotation.transfer import exported
from treeformers.recipes import Beam, ParseRecipe, Recipe, Train, Treebanks
from treeformers.training.lock import lock_folder
from treeformers.training.model_folder import read_recipe
from treeformers.training.model_names import find_model
from treeformers.trees.files import read_object
from treeformers.trees.formats import write_trees
from treeformers.trees.text import count
from treeformers.trees.tree import Tree

__all__ = [
    "MIN_TREES",
    "Round",
    "current_model",
    "list_rounds",
    "retrain",
    "round_recipe",
    "start_round",
    "training_trees",
]

logger = logging.getLogger(__name__)

MIN_TREES = 10
"""Fewest accepted trees outside the held-out set from which a parser is trained."""
PROPOSED = 1000
"""Most sentences for which a round proposes trees."""

SIZES: dict[str, Any] = {
    "attention": "deterministic",
    "head_rule": "right",
    "embedding_size": 256,
    "hidden_size": 256,
    "encoder_layers": 2,
    "char_size": 128,
    "dropout": 0.4,
}
"""The parser of a round that starts from no parser: as in `examples/treebank.toml`, but narrower."""


class Pace(NamedTuple):
    """How a round trains.

    Attributes:
        sentences: number of sentences that it reads in all, a few times each.
        fewest: fewest epochs.
        most: most epochs.
        tokens: size of a batch.
        learning_rate: of the parser.
        encoder_learning_rate: of its pretrained encoder.
    """

    sentences: int
    fewest: int
    most: int
    tokens: int
    learning_rate: float
    encoder_learning_rate: float = 0.0


PACES = {
    "random": Pace(6000, 16, 40, 400, 2e-3),
    "encoder": Pace(2400, 5, 30, 1000, 2e-3, 2e-4),
    "parser": Pace(1200, 3, 20, 1000, 1e-3, 1e-4),
}
"""The pace of a round by what it starts from: random weights, a pretrained encoder, or a parser. With 200
trees of 22 words, a round trains for two to three minutes of processor time."""

_WATCHED = 20
"""Number of training trees that are parsed at each evaluation, to show how training goes on."""
_CALLBACKS = "treeformers.training.callbacks"
"""The logger that writes a line at each evaluation."""


@dataclass(frozen=True, slots=True)
class Round:
    """One retraining.

    Attributes:
        id: its number, from 1.
        state: "running", "finished", "failed" or "stopped".
        progress: what it does, or why it ended.
        start: what the parser started from: the name of a parser or encoder; empty for random weights.
        started: when it began, in seconds since 1970.
        ended: when it ended; None while it runs.
        model: folder of its version; None if there is none.
        trees: number of trees that trained the version.
        held_out: number of held-out trees that scored it.
        f1: labelled F1 on these, in percent; None without held-out trees.
        precision: precision, likewise.
        recall: recall, likewise.
        exact_match: trees with all constituents right, likewise.
        tagging_accuracy: words with the right tag, likewise.
        seconds: how long training took.
        signature: the choices behind the scores.
    """

    id: int
    state: str
    progress: str
    start: str
    started: float
    ended: float | None
    model: Path | None = None
    trees: int = 0
    held_out: int = 0
    f1: float | None = None
    precision: float | None = None
    recall: float | None = None
    exact_match: float | None = None
    tagging_accuracy: float | None = None
    seconds: float | None = None
    signature: str = ""


def list_rounds(project: Project) -> list[Round]:
    """All rounds of a project, oldest first; those with a model make the curve of its figures.

    A round whose process was killed becomes "stopped": nothing of the project is lost with it.
    """
    _find_killed(project)
    found = []
    for row in project.database.rows("SELECT * FROM round ORDER BY id"):
        result = json.loads(row["result"]) if row["result"] else {}
        model = project.models / f"version-{row['id']}" if result else None
        found.append(
            Round(
                row["id"],
                row["state"],
                row["progress"],
                row["start"],
                row["started"],
                row["ended"],
                model,
                **result,
            )
        )
    return found


def current_model(project: Project) -> str:
    """The newest version of the project, else the model that its settings name; empty if there is none."""
    for one in reversed(list_rounds(project)):
        if one.model is not None and (one.model / "config.json").is_file():
            return str(one.model)
    return str(project.settings["model"])


def training_trees(project: Project) -> tuple[list[Tree], list[Tree]]:
    """The accepted trees that may train a parser, and those of the held-out set.

    A sentence outside the held-out set that has the words of a sentence inside is in neither.
    """
    held_out = [one.tree for one in exported(project, held_out=True)]
    known = {tree.words for tree in held_out}
    trees = [one.tree for one in exported(project, held_out=False) if one.tree.words not in known]
    return trees, held_out


def start_round(project: Project, start: str = "") -> subprocess.Popen[bytes]:
    """Retrain in a process of its own, which goes on if this one ends. `list_rounds` shows its progress.

    The arguments and errors are those of `retrain`; an error that comes later is in `Round.progress`.
    """
    _checked_trees(project)
    with _alone(project):
        pass
    with open(project.models / "round.log", "wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "treeformers.annotation", os.path.abspath(project.path), start],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def retrain(project: Project, start: str = "", propose_to: int = PROPOSED) -> Round:
    """Train a parser on the accepted trees, score it on the held-out ones, and propose trees anew.

    The version is a model folder beside the project, with the trees that it learned from. The last weights
    are kept: no tree of the held-out set chooses among them.

    Args:
        project: the project.
        start: a parser to train further, or a pretrained encoder. By default the newest version, if it has a
            pretrained encoder; else the parser of the settings; else their encoder; else random weights.
        propose_to: most sentences to propose trees for.

    Raises:
        ValueError: there are fewer than ten accepted trees outside the held-out set, or `start` is neither a
            parser nor an encoder.
        BlockingIOError: a round of this project is running.
        OSError: the disk is full.
    """
    trees, held_out = _checked_trees(project)
    with _alone(project):
        _find_killed(project, is_locked=False)
        _remove_unfinished(project)
        with project.database.write() as connection:
            number = connection.execute(
                "INSERT INTO round (state, progress, started) VALUES ('running', 'loading', ?)",
                (time.time(),),
            ).lastrowid
        assert number is not None
        try:
            said = _run(project, number, start, trees, held_out, propose_to)
        except BaseException as error:
            failed = isinstance(error, Exception)
            reason = " ".join((str(error) or type(error).__name__).split())
            _note(project, number, reason, "failed" if failed else "stopped")
            raise
        _note(project, number, said, "finished")
    return next(one for one in list_rounds(project) if one.id == number)


def _run(
    project: Project, number: int, start: str, trees: list[Tree], held_out: list[Tree], propose_to: int
) -> str:
    from treeformers.metrics import parseval
    from treeformers.tasks.parse.predictor import Parser
    from treeformers.tasks.parse.score import with_gold_tags
    from treeformers.tasks.train import train_once

    folder = project.models / f"version-{number}"
    folder.mkdir(parents=True, exist_ok=True)
    files = folder / "train.jsonl", folder / "watched.jsonl"
    write_trees(trees, files[0])
    write_trees(random.Random(number).sample(trees, min(_WATCHED, len(trees))), files[1])
    recipe = round_recipe(project, trees, start, files)
    name = str(recipe.model.get("start_from") or recipe.model.get("pretrained") or "")
    with project.database.write() as connection:
        connection.execute("UPDATE round SET start = ? WHERE id = ?", (name, number))
    with _followed(project, number):
        fit = train_once(recipe, recipe.train.seeds[0], folder, resume=False)
    parser = Parser.from_pretrained(folder)
    result: dict[str, Any] = {"trees": len(trees), "held_out": len(held_out)}
    result["seconds"] = round(fit["wall_seconds"], 1)
    said = "no figure: no tree of the held-out set is accepted"
    if held_out:
        _note(project, number, f"scoring {count(len(held_out), 'held-out tree')}")
        parses = parser.parse([tree.words for tree in held_out])
        score = parseval(held_out, with_gold_tags(parses, held_out), missing="zero")
        tags = parseval(held_out, parses, missing="zero")
        result |= {
            "f1": score.f1,
            "precision": score.precision,
            "recall": score.recall,
            "exact_match": score.exact_match,
            "tagging_accuracy": tags.tagging_accuracy,
            "signature": score.signature,
        }
        said = f"F1 {score.f1:.1f} on {count(len(held_out), 'held-out tree')}"
    with project.database.write() as connection:
        connection.execute("UPDATE round SET result = ? WHERE id = ?", (json.dumps(result), number))
    propose(
        project,
        parser,
        folder.name,
        propose_to,
        progress=lambda done, of: _note(project, number, f"parsing sentence {done} of {of}"),
    )
    return said


def round_recipe(
    project: Project, trees: Sequence[Tree], start: str = "", files: tuple[Path, Path] | None = None
) -> ParseRecipe:
    """The recipe of a round.

    Args:
        project: the project.
        trees: the trees to learn from.
        start: as in `retrain`.
        files: the files of these trees, and of those that are parsed at each evaluation.

    Raises:
        FileNotFoundError: `start` does not exist.
        ValueError: it is neither a parser nor an encoder.
    """
    start = start or _default_start(project)
    kind = _kind(start) if start else "random"
    if kind not in PACES:
        raise ValueError(f"{start}: an inducer, expected a parser or a pretrained encoder")
    pace = PACES[kind]
    tagged = any(tag != "X" for tree in trees for tag in tree.tags)
    model: dict[str, Any]
    if kind == "parser":
        model = {"start_from": start}
    else:
        model = dict(SIZES) | {"tagging_loss_weight": 1.0 if tagged else 0.0}
        if kind == "encoder":
            model |= {"encoder": "pretrained", "pretrained": start, "char_size": 0, "dropout": 0.3}
    train, watched = files or (Path("train.jsonl"), Path("watched.jsonl"))
    return ParseRecipe(
        title=f"{project.path.stem}, {count(len(trees), 'tree')}",
        data=Treebanks(train=(str(train),), validation=(str(watched),), test=(str(watched),)),
        model=model,
        train=Train(
            epochs=max(pace.fewest, min(pace.most, pace.sentences // len(trees))),
            tokens_per_batch=pace.tokens,
            learning_rate=pace.learning_rate,
            encoder_learning_rate=pace.encoder_learning_rate,
            warmup_steps=50,
            max_grad_norm=1.0,
            num_evaluations=1,
        ),
        beam=Beam(size=10),
    )


def _default_start(project: Project) -> str:
    newest = current_model(project)
    settings = project.settings
    if newest and _kind(newest) == "parser" and _has_encoder(newest):
        return newest
    # Without a pretrained encoder, the vocabulary is that of the training trees: a round begins anew.
    if settings["model"] and _kind(settings["model"]) == "parser":
        return str(settings["model"])
    return str(settings["encoder"])


def _kind(name: str) -> str:
    """The kind of a model: "parser", "inducer" or "encoder".

    Raises:
        FileNotFoundError: there is no such model.
        ValueError: it does another task.
    """
    try:
        found = find_model(name)
        recipe = read_recipe(found, several=(Recipe,))
    except FileNotFoundError:
        from treeformers.models.pretrained import find_pretrained

        find_pretrained(name)
        return "encoder"
    if recipe.task == "parse":
        return "parser"
    if recipe.task == "induce":
        return "inducer"
    raise ValueError(
        f"{name}: a model of the task {recipe.task!r}, expected a parser or a pretrained encoder"
    )


def _has_encoder(name: str) -> bool:
    config = read_object(find_model(name) / "config.json")
    return config.get("encoder") == "pretrained"


def _checked_trees(project: Project) -> tuple[list[Tree], list[Tree]]:
    trees, held_out = training_trees(project)
    if len(trees) < MIN_TREES:
        raise ValueError(
            f"{count(len(trees), 'accepted tree')} outside the held-out set, expected at least {MIN_TREES} "
            "to train a parser"
        )
    return trees, held_out


def _remove_unfinished(project: Project) -> None:
    """Remove the folders of rounds that left no version: checkpoints are large."""
    for one in list_rounds(project):
        if one.model is None:
            shutil.rmtree(project.models / f"version-{one.id}", ignore_errors=True)


@contextmanager
def _alone(project: Project) -> Iterator[None]:
    """Let one round of a project run at a time."""
    try:
        with lock_folder(project.models):
            yield
    except BlockingIOError:
        raise BlockingIOError(f"{project.path}: a round is running; wait until it has ended") from None


def _find_killed(project: Project, is_locked: bool = True) -> None:
    """Mark the rounds whose process is gone: nobody holds the lock, or this process does."""
    if not project.database.rows("SELECT 1 FROM round WHERE state = 'running'"):
        return
    if is_locked:
        try:
            with _alone(project):
                _find_killed(project, is_locked=False)
        except BlockingIOError:
            pass
        return
    with project.database.write() as connection:
        connection.execute(
            "UPDATE round SET state = 'stopped', ended = ?, progress = 'killed while ' || progress "
            "WHERE state = 'running'",
            (time.time(),),
        )


def _note(project: Project, number: int, progress: str, state: str = "running") -> None:
    ended = None if state == "running" else time.time()
    with project.database.write() as connection:
        connection.execute(
            "UPDATE round SET progress = ?, state = ?, ended = ? WHERE id = ?",
            (progress, state, ended, number),
        )


@contextmanager
def _followed(project: Project, number: int) -> Iterator[None]:
    """Write the progress of training into the project."""

    class Follower(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            _note(project, number, f"training: {record.getMessage()}")

    _note(project, number, "training")
    follower, callbacks = Follower(), logging.getLogger(_CALLBACKS)
    level = callbacks.level
    callbacks.addHandler(follower)
    callbacks.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        callbacks.removeHandler(follower)
        callbacks.setLevel(level)
