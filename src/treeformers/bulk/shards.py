"""A shard: some lines of a file to a file of their trees."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Literal, cast

from treeformers.tasks.load import Engine
from treeformers.trees.files import atomic_write, is_gzip
from treeformers.trees.formats import write_trees
from treeformers.trees.tree import Tree

__all__ = ["CHUNK", "UNPARSED", "Format", "Reader", "Shard", "Task", "cut", "parse_lines"]

CHUNK = 4096
"""Lines parsed together; those of like length go in one batch."""
UNPARSED = ".unparsed"
"""What the name of a file of reasons ends in."""

Format = Literal["brackets", "json"]


@dataclass(frozen=True, slots=True)
class Shard:
    """Some lines of a file, and the name of the file for their trees.

    Attributes:
        source: the file.
        name: of the shard, below the folder of the run, with slashes.
        offset: bytes before its first line, of the text where it is gzipped.
        first: number of its first line, from 1.
        lines: how many.
    """

    source: str
    name: str
    offset: int
    first: int
    lines: int


class Reader:
    """Reads shards. In a gzipped file it goes on from the last one to the next, not through all before it."""

    def __init__(self) -> None:
        self._source = ""
        self._file: IO[bytes] | None = None

    def lines(self, shard: Shard) -> Iterator[tuple[str, str]]:
        """The place, as file:line, and every line; bytes that are not UTF-8 as lone surrogates."""
        if self._file is None or shard.source != self._source:
            self.close()
            self._file, self._source = _open(Path(shard.source)), shard.source
        self._file.seek(shard.offset)
        for number, line in enumerate(islice(self._file, shard.lines), start=shard.first):
            text = line.decode("utf-8", errors="surrogateescape")
            yield f"{shard.source}:{number}", text.removeprefix("\ufeff") if number == 1 else text

    def close(self) -> None:
        """Close the file that it reads, if there is one."""
        if self._file is not None:
            self._file.close()
            self._file = None


@dataclass(frozen=True, slots=True)
class Task:
    """What is done with every shard."""

    out: str
    format: Format
    batch_size: int

    def run(self, engine: Engine, reader: Reader, shard: Shard) -> int:
        """Write the trees of a shard, and the reasons for lines without one; gives the number of these."""
        target = Path(self.out, shard.name)
        beside = target.with_name(target.name + UNPARSED)
        target.parent.mkdir(parents=True, exist_ok=True)
        problems: list[str] = []
        with atomic_write(target) as file:
            lines = reader.lines(shard)
            while chunk := list(islice(lines, CHUNK)):
                trees = parse_lines(engine, chunk, self.batch_size, problems)
                for (where, _), tree in zip(chunk, trees, strict=True):
                    file.write(self._line(where, tree, problems))
            # Before the shard takes its place: a shard that is there is finished.
            if problems:
                with atomic_write(beside) as reasons:
                    reasons.writelines(f"{problem}\n" for problem in problems)
            else:
                beside.unlink(missing_ok=True)
        return len(problems)

    def _line(self, where: str, tree: Tree | None, problems: list[str]) -> str:
        if tree is None:
            return "\n"
        text = io.StringIO()
        try:
            write_trees([tree], text, self.format)
        except ValueError as error:
            problems.append(f"{where}: {str(error).removeprefix('<stream>: tree 1: ')}")
            return "\n"
        return text.getvalue()


def parse_lines(
    engine: Engine, lines: Iterable[tuple[str, str]], batch_size: int, problems: list[str]
) -> list[Tree | None]:
    """The trees of lines; None for those that are blank or cannot be parsed.

    Where parsing them together fails, they are parsed one after the other, so that one alone is lost.

    Args:
        engine: the model.
        lines: ("file:line", line); bytes that are not UTF-8 stand as lone surrogates.
        batch_size: sentences computed at once.
        problems: gets "file:line: reason" for each line that cannot be parsed.
    """
    rows: list[tuple[str, str | Sequence[str]]] = []
    for where, line in lines:
        problem = _unreadable(line)
        if problem:
            problems.append(f"{where}: {problem}")
        rows.append((where, "" if problem else engine.read(line)))
    given = [(where, sentence) for where, sentence in rows if sentence]
    try:
        trees: list[Tree | None] = list(engine.parse([sentence for _, sentence in given], batch_size))
    except (ValueError, RuntimeError, MemoryError):
        trees = [_parse_one(engine, where, sentence, problems) for where, sentence in given]
    found = iter(trees)
    return [next(found) if sentence else None for _, sentence in rows]


def _parse_one(engine: Engine, where: str, sentence: str | Sequence[str], problems: list[str]) -> Tree | None:
    try:
        return engine.parse([sentence], 1)[0]
    except (ValueError, RuntimeError, MemoryError) as error:
        problems.append(f"{where}: {str(error).removeprefix('sentence 1 ') or type(error).__name__}")
        return None


def _unreadable(line: str) -> str:
    """What is wrong with a line of text, if anything."""
    if "\0" in line:
        return "not text: byte 0x00"
    if not line.isascii():
        for letter in line:
            if "\udc80" <= letter <= "\udcff":
                return f"not UTF-8 text: byte 0x{ord(letter) - 0xDC00:02x}"
    return ""


def cut(name: str, path: Path, shard_lines: int, suffix: str) -> Iterator[Shard]:
    """The shards of a file, in its order.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a damaged gzip file.
    """
    number, offset, first = 0, 0, 1
    with _open(path) as file:
        while True:
            lines = size = 0
            try:
                for line in islice(file, shard_lines):
                    lines += 1
                    size += len(line)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise ValueError(f"{path}:{first + lines}: damaged gzip file: {error}") from None
            if not lines:
                return
            yield Shard(str(path), f"{name}-{number:06}{suffix}", offset, first, lines)
            number, offset, first = number + 1, offset + size, first + lines


def _open(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path)) if is_gzip(path) else path.open("rb")
