"""Tables of examples: rows of columns that tabs separate, read without quoting.

The names in the first row tell what the examples are:

- label, text, and group if need be: `Labelled`;
- first and second, with label or score or both: `Pair`;
- two or more codes of languages, such as en and de: a dictionary from language to text.

Columns come in any order. A column of texts of which half or more are trees in brackets is one of trees.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import nan
from typing import TypeAlias

from treeformers.data.catalogue import Kind
from treeformers.data.examples import Labelled, Pair, Text
from treeformers.trees.files import read_lines
from treeformers.trees.tree import Tree, parse_brackets

__all__ = ["parse_score", "parse_tree", "read_rows", "read_table", "split_rows"]

Example: TypeAlias = Labelled | Pair | dict[str, Text]

_LANGUAGE = re.compile(r"[a-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_NOT_TEXT = {"label", "group", "score"}
_EXPECTED = (
    "expected the columns label and text (and group), first and second with label or score, "
    "or codes of languages such as en and de"
)


def read_table(
    path: str | os.PathLike[str], clean: Callable[[Tree], Tree | None] | None = None
) -> list[Example]:
    """Read a table whose first row names the columns.

    Args:
        path: the file, gzipped if it ends in .gz.
        clean: what to do with every tree; None leaves them as they stand.

    Returns:
        The examples, all of one kind.

    Raises:
        FileNotFoundError: no such file.
        ValueError: other columns, none, or no rows; a row with more or fewer cells than names; an empty
            cell (but for group); a score that is no number from 1 to 5; in a column of trees a cell that is
            not one tree, or one of which `clean` leaves nothing.
    """
    lines = read_lines(path)
    where, header = next(lines, (f"{os.fspath(path)}:1", ""))
    names = [name.strip() for name in header.split("\t")]
    kind = _kind(names)
    if kind is None:
        raise ValueError(f"{where}: {_EXPECTED}, separated by tabs, got {' '.join(names)[:60]!r}")
    rows = list(split_rows(lines, names))
    if not rows:
        raise ValueError(f"{os.fspath(path)}: nothing in it, expected rows below the names of the columns")
    places = [where for where, _ in rows]
    columns = dict(zip(names, map(list, zip(*(cells for _, cells in rows), strict=True)), strict=True))
    texts = {name: _texts(places, columns[name], clean) for name in names if name not in _NOT_TEXT}
    none = [""] * len(rows)
    labels = columns.get("label", none)
    if kind == "labelled":
        return list(map(Labelled, texts["text"], labels, columns.get("group", none)))
    if kind == "pairs":
        scores: Sequence[float | None] = [None] * len(rows)
        if "score" in columns:
            scores = list(map(parse_score, places, columns["score"]))
        return list(map(Pair, texts["first"], texts["second"], labels, scores))
    return [dict(zip(texts, row, strict=True)) for row in zip(*texts.values(), strict=True)]


def _kind(names: Sequence[str]) -> Kind | None:
    found = set(names)
    if len(found) == len(names):
        if {"label", "text"} <= found <= {"label", "text", "group"}:
            return "labelled"
        if {"first", "second"} < found <= {"first", "second", "label", "score"}:
            return "pairs"
        if len(names) > 1 and all(map(_LANGUAGE.fullmatch, names)):
            return "parallel"
    return None


def read_rows(path: str | os.PathLike[str], columns: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Read a table with known columns, which its first row names.

    Yields:
        ("file:line", cells) below the first row, cells as in `split_rows`.

    Raises:
        ValueError: other names; else as `split_rows`.
    """
    rows = split_rows(read_lines(path), columns)
    where, names = next(rows, (f"{os.fspath(path)}:1", []))
    if names != list(columns):
        found = " ".join(names) or "nothing"
        raise ValueError(f"{where}: expected the names of the columns, {' '.join(columns)}, got {found[:80]}")
    yield from rows


def split_rows(lines: Iterable[tuple[str, str]], columns: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Cut lines at their tabs; empty lines are skipped.

    Args:
        lines: ("file:line", line), as `read_lines` gives them.
        columns: the names of the columns.

    Yields:
        ("file:line", cells), one cell a column, without the blanks around it.

    Raises:
        ValueError: another number of cells, or an empty cell in a column other than "group".
    """
    for where, line in lines:
        if not line.strip(" \r\n"):
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != len(columns):
            raise ValueError(
                f"{where}: expected {len(columns)} columns separated by tabs ({', '.join(columns)}), "
                f"got {len(cells)}"
            )
        for name, cell in zip(columns, cells, strict=True):
            if not cell and name != "group":
                raise ValueError(f"{where}: the column {name} is empty")
        yield where, cells


def parse_score(where: str, text: str) -> float:
    """Read a score from 1 to 5.

    Raises:
        ValueError: anything else; the message opens with `where`.
    """
    try:
        score = float(text)
    except ValueError:
        score = nan
    if not 1 <= score <= 5:
        raise ValueError(f"{where}: expected a score from 1 to 5, got {text[:20]!r}")
    return score


def parse_tree(where: str, text: str) -> Tree:
    """Read the one tree of a line or cell.

    Raises:
        ValueError: no tree, a malformed one, or several; the message opens with `where`.
    """
    trees = list(parse_brackets([(where, text)]))
    if len(trees) != 1:
        raise ValueError(f"{where}: expected one tree in brackets, got {len(trees)}")
    return trees[0]


def _texts(
    places: Sequence[str], cells: Sequence[str], clean: Callable[[Tree], Tree | None] | None
) -> Sequence[Text]:
    """A column of texts: of trees if half of the cells are, and then each has to be one."""
    trees = [_find_tree(cell) for cell in cells]
    if sum(tree is not None for tree in trees) * 2 < len(cells):
        return cells
    texts = []
    for where, cell, tree in zip(places, cells, trees, strict=True):
        if tree is None:
            tree = parse_tree(where, cell)  # says what is wrong with it
        cleaned = clean(tree) if clean else tree
        if cleaned is None:
            raise ValueError(f"{where}: the tree holds only traces")
        texts.append(cleaned)
    return texts


def _find_tree(cell: str) -> Tree | None:
    if not cell.startswith("("):
        return None
    try:
        return parse_tree("", cell)
    except ValueError:
        return None
