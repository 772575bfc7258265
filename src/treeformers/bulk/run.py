"""A run: the shards of all inputs, and a manifest that lets it go on after any stop."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treeformers import __version__
from treeformers.bulk.shards import UNPARSED, Format, Shard, Task, cut
from treeformers.bulk.workers import Load, by_processes, by_ray, here
from treeformers.tasks.load import check_positive
from treeformers.training.lock import LOCK_FILE, lock_folder
from treeformers.trees.files import atomic_write, read_object

__all__ = ["MANIFEST", "NAMED", "SHARD_LINES", "Progress", "Summary", "parse_files"]

logger = logging.getLogger(__name__)

MANIFEST = "manifest.json"
SHARD_LINES = 10_000
"""Lines of a shard, by default."""
NAMED = 10
"""Lines without a tree that a summary names."""
_SAVED_EVERY = 10.0  # seconds between two manifests
_SUFFIXES = {"brackets": ".txt", "json": ".jsonl"}
_TEMPORARY = re.compile(r"\..*\.[0-9a-f]{8}\.tmp")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    Attributes:
        done: lines that have their place in a shard, those of earlier runs too.
        lines: of all inputs.
        unparsed: of the lines done, those without a tree although they are not blank.
        per_second: lines done a second in this run.
        seconds_left: at this pace.
    """

    done: int
    lines: int
    unparsed: int
    per_second: float
    seconds_left: float


@dataclass(frozen=True, slots=True)
class Summary:
    """What a finished run made.

    Attributes:
        lines: of all inputs.
        shards: files of trees.
        unparsed: lines without a tree although they are not blank.
        problems: the first of these, as "file:line: reason".
    """

    lines: int
    shards: int
    unparsed: int
    problems: tuple[str, ...]


def parse_files(
    load: Load,
    source: str | Path,
    out: str | Path,
    *,
    settings: Mapping[str, Any] | None = None,
    format: Format = "brackets",
    batch_size: int = 64,
    shard_lines: int = SHARD_LINES,
    workers: int = 1,
    ray: bool = False,
    resume: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Summary:
    """Parse a file, or all files of a folder, into a folder of shards.

    The shards of FILE are `OUT/FILE-000000.txt` (`.jsonl` as JSON) and so on, those of files in a folder
    stand in folders like theirs; hidden files and links to folders are left out. Lines that cannot be parsed
    leave an empty line, and the reasons stand in a file beside their shard, `.unparsed`.

    Args:
        load: gives the engine; called once in every process, so it is a function of a module or a
            `functools.partial` of one.
        source: text with one sentence a line, gzipped if it ends in .gz, or a folder of such files.
        out: the folder; new or empty, or that of a run to resume.
        settings: what else decides on the trees, as the checksum of the model, in JSON's types; a run is
            resumed with the same.
        format: of the trees.
        batch_size: sentences computed at once.
        shard_lines: lines of a shard.
        workers: processes; with `ray`, actors.
        ray: work on a Ray cluster (extra `ray`), or a local one where there is none; its machines have the
            folders of `source` and `out` in common.
        resume: go on with the run in `out`, or begin it.
        progress: called when a shard is done.

    Raises:
        FileNotFoundError: no such input.
        ValueError: no lines, a damaged gzip file, a name that is not UTF-8, a number below 1, no Ray, or a
            folder that holds another run or anything else.
        BlockingIOError: another run writes there now.
        ChildProcessError: a worker was killed; the run can be resumed.
    """
    source, out = Path(source).absolute(), Path(out).absolute()
    check_positive(batch_size=batch_size, shard_lines=shard_lines, workers=workers)
    inputs = list(_inputs(source, out))
    shards, files = [], []
    for name, path in inputs:
        status = path.stat()
        own = list(cut(name, path, shard_lines, _SUFFIXES[format]))
        lines = sum(shard.lines for shard in own)
        files.append({"name": name, "bytes": status.st_size, "mtime": status.st_mtime, "lines": lines})
        shards += own
    if not shards:
        raise ValueError(f"{source}: no sentences in it")
    job = {
        "treeformers": __version__,
        "settings": dict(settings or {}),
        "format": format,
        "batch_size": batch_size,
        "shard_lines": shard_lines,
        "inputs": files,
    }
    with lock_folder(out):
        _begin(out, job, resume)
        book = _Book(out, job, shards, progress)
        pending = [shard for shard in shards if not (out / shard.name).is_file()]
        task = Task(str(out), format, batch_size)
        if ray and pending:
            book.follow(by_ray(load, task, pending, workers))
        elif workers > 1 and len(pending) > 1:
            book.follow(by_processes(load, task, pending, workers))
        elif pending:
            book.follow(here(load, task, pending))
        return book.close()


class _Book:
    """Keeps the manifest of a run, and tells how far it is."""

    def __init__(
        self,
        out: Path,
        job: Mapping[str, Any],
        shards: Sequence[Shard],
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.out, self.job, self.shards, self.progress = out, job, shards, progress
        self.lines = sum(shard.lines for shard in shards)
        self.done = sum(shard.lines for shard in shards if (out / shard.name).is_file())
        self.unparsed, _ = self._problems()
        self.saved = 0.0

    def follow(self, results: Iterable[tuple[Shard, int]]) -> None:
        """Note shards as they are done."""
        began, before = time.monotonic(), self.done
        for shard, unparsed in results:
            self.done += shard.lines
            self.unparsed += unparsed
            now = time.monotonic()
            if now - self.saved >= _SAVED_EVERY:
                self._save()
                self.saved = now
            if self.progress:
                pace = (self.done - before) / max(now - began, 1e-9)
                left = (self.lines - self.done) / pace
                self.progress(Progress(self.done, self.lines, self.unparsed, pace, left))

    def close(self) -> Summary:
        """Check that all shards are there, and write the manifest of a finished run."""
        for shard in self.shards:
            if not (self.out / shard.name).is_file():
                raise FileNotFoundError(f"{self.out / shard.name}: gone during the run; resume it")
        self.done = self.lines
        self.unparsed, first = self._problems()
        self._save()
        return Summary(self.lines, len(self.shards), self.unparsed, tuple(first))

    def _save(self) -> None:
        state = {"lines": self.lines, "lines_done": self.done, "unparsed": self.unparsed}
        _write_manifest(self.out, {**self.job, **state})

    def _problems(self) -> tuple[int, list[str]]:
        """How many lines of finished shards have no tree, and the reasons for the first."""
        number = 0
        first: list[str] = []
        for shard in self.shards:
            beside = self.out / f"{shard.name}{UNPARSED}"
            if beside.is_file() and (self.out / shard.name).is_file():
                with beside.open(encoding="utf-8") as file:
                    for line in file:
                        number += 1
                        if len(first) < NAMED:
                            first.append(line.rstrip("\n"))
        return number, first


def _inputs(source: Path, out: Path) -> Iterator[tuple[str, Path]]:
    """Name and place of every input file, in the order of names."""
    if not source.is_dir():
        yield source.name, source
        return
    if out.resolve().is_relative_to(source.resolve()):
        raise ValueError(f"{out}: inside the folder that is parsed; expected a folder elsewhere")
    found = sorted((path.relative_to(source), path) for path in source.rglob("*"))
    seen = [(name, path) for name, path in found if not any(part.startswith(".") for part in name.parts)]
    if links := [str(path) for _, path in seen if path.is_symlink() and not path.is_file()]:
        logger.warning("left out: %d links to folders or to nothing, the first: %s", len(links), links[0])
    for name, path in seen:
        if path.is_file():
            try:
                str(path).encode()
            except UnicodeEncodeError:
                shown = str(path).encode(errors="backslashreplace").decode()
                raise ValueError(f"{shown}: a name that is not UTF-8; rename the file") from None
            yield name.as_posix(), path


def _begin(out: Path, job: Mapping[str, Any], resume: bool) -> None:
    """Begin a run in a folder, or find the one that is to go on there."""
    path = out / MANIFEST
    if path.is_file():
        if not resume:
            raise ValueError(f"{out}: holds a run; expected --resume to go on with it, or another folder")
        if difference := _difference(read_object(path), job):
            raise ValueError(f"{path}: the run was begun with {difference}; resume it as it was begun")
    elif any(entry.name != LOCK_FILE and not _TEMPORARY.fullmatch(entry.name) for entry in out.iterdir()):
        raise ValueError(f"{out}: not empty, and without {MANIFEST}; expected a new folder")
    else:
        _write_manifest(out, job)
    for entry in out.rglob(".*.tmp"):  # what a killed process was writing
        if _TEMPORARY.fullmatch(entry.name):
            entry.unlink(missing_ok=True)


def _difference(stored: Mapping[str, Any], job: Mapping[str, Any]) -> str:
    """The first thing in which a run differs from the one that was begun."""
    for key, value in job.items():
        before = stored.get(key)
        if before == value:
            continue
        if key == "inputs":
            old = {file["name"]: file for file in before or ()}
            new = {file["name"]: file for file in value}
            names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
            return f"another {names[0]}: {old.get(names[0])}, it is {new.get(names[0])} now"
        if key == "settings":
            return _difference(before or {}, value) or f"other settings: {before}"
        return f"{key} {before}, it is {value} now"
    return ""


def _write_manifest(out: Path, content: Mapping[str, Any]) -> None:
    with atomic_write(out / MANIFEST) as file:
        json.dump(content, file, indent=1, ensure_ascii=False)
        file.write("\n")
