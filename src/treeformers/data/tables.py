"""Tables of examples: tab-separated columns without quoting.

The column names in the first row determine the type of the examples:

- label, text, and optionally group: `LabeledText`;
- first and second, with label, score or both: `TextPair`;
- two or more language codes, such as en and de: a dictionary from language to text.

Columns may come in any order. If at least half of the cells in a text column are trees in brackets, the
column holds trees.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import nan
from typing import TypeAlias

from treeformers.data.catalogue import Kind
from treeformers.data.examples import LabeledText, Text, TextPair
from treeformers.trees.files import read_lines
from treeformers.trees.tree import Tree, parse_brackets

__all__ = ["parse_score", "parse_tree", "read_rows", "read_table", "split_rows"]

TableExample: TypeAlias = LabeledText | TextPair | dict[str, Text]

_LANGUAGE = re.compile(r"[a-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_NOT_TEXT = {"label", "group", "score"}
_EXPECTED = (
    "expected the columns label and text (and group), first and second with label or score, "
    "or language codes such as en and de"
)


def read_table(
    path: str | os.PathLike[str], clean: Callable[[Tree], Tree | None] | None = None
) -> list[TableExample]:
    """Read a table whose first row names the columns.

    Args:
        path: the file; gzipped if its name ends in .gz.
        clean: applied to every tree; None keeps trees unchanged.

    Returns:
        The examples, all of one type.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: the columns are unknown, there are no rows, a row has a wrong number of cells, a cell
            other than group is empty, a score is not a number from 1 to 5, a cell in a column of trees is not
            one tree, or `clean` leaves nothing of a tree. The message begins with file:line.
    """
    lines = read_lines(path)
    where, header = next(lines, (f"{os.fspath(path)}:1", ""))
    names = [name.strip() for name in header.split("\t")]
    kind = _kind(names)
    if kind is None:
        raise ValueError(f"{where}: {_EXPECTED}, separated by tabs, got {' '.join(names)[:60]!r}")
    rows = list(split_rows(lines, names))
    if not rows:
        raise ValueError(f"{os.fspath(path)}: no rows below the column names")
    places = [where for where, _ in rows]
    columns = dict(zip(names, map(list, zip(*(cells for _, cells in rows), strict=True)), strict=True))
    texts = {name: _texts(places, columns[name], clean) for name in names if name not in _NOT_TEXT}
    empty = [""] * len(rows)
    labels = columns.get("label", empty)
    if kind == "labeled":
        return list(map(LabeledText, texts["text"], labels, columns.get("group", empty)))
    if kind == "pairs":
        scores: Sequence[float | None] = [None] * len(rows)
        if "score" in columns:
            scores = list(map(parse_score, places, columns["score"]))
        return list(map(TextPair, texts["first"], texts["second"], labels, scores))
    return [dict(zip(texts, row, strict=True)) for row in zip(*texts.values(), strict=True)]


def _kind(names: Sequence[str]) -> Kind | None:
    found = set(names)
    if len(found) == len(names):
        if {"label", "text"} <= found <= {"label", "text", "group"}:
            return "labeled"
        if {"first", "second"} < found <= {"first", "second", "label", "score"}:
            return "pairs"
        if len(names) > 1 and all(map(_LANGUAGE.fullmatch, names)):
            return "parallel"
    return None


def read_rows(path: str | os.PathLike[str], columns: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Read a table with known columns, which its first row names.

    Yields:
        ("file:line", cells) for each row below the first, as in `split_rows`.

    Raises:
        ValueError: the first row has other names; other errors as in `split_rows`.
    """
    rows = split_rows(read_lines(path), columns)
    where, names = next(rows, (f"{os.fspath(path)}:1", []))
    if names != list(columns):
        found = " ".join(names) or "nothing"
        raise ValueError(f"{where}: expected the column names {' '.join(columns)}, got {found[:80]}")
    yield from rows


def split_rows(lines: Iterable[tuple[str, str]], columns: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Split lines at tabs and skip empty lines.

    Args:
        lines: ("file:line", line), as `read_lines` yields them.
        columns: the column names.

    Yields:
        ("file:line", cells), one cell per column, stripped of blanks.

    Raises:
        ValueError: a line has a wrong number of cells, or a cell in a column other than "group" is empty.
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
    """Parse a score from 1 to 5.

    Raises:
        ValueError: the text is anything else; the message begins with `where`.
    """
    try:
        score = float(text)
    except ValueError:
        score = nan
    if not 1 <= score <= 5:
        raise ValueError(f"{where}: expected a score from 1 to 5, got {text[:20]!r}")
    return score


def parse_tree(where: str, text: str) -> Tree:
    """Parse a text that holds exactly one tree.

    Raises:
        ValueError: there is no tree, more than one, or a malformed one; the message begins with `where`.
    """
    trees = list(parse_brackets([(where, text)]))
    if len(trees) != 1:
        raise ValueError(f"{where}: expected one tree in brackets, got {len(trees)}")
    return trees[0]


def _texts(
    places: Sequence[str], cells: Sequence[str], clean: Callable[[Tree], Tree | None] | None
) -> Sequence[Text]:
    """Parse a text column: trees if at least half of the cells are trees, otherwise strings."""
    trees = [_find_tree(cell) for cell in cells]
    if sum(tree is not None for tree in trees) * 2 < len(cells):
        return cells
    texts = []
    for where, cell, tree in zip(places, cells, trees, strict=True):
        if tree is None:
            tree = parse_tree(where, cell)  # raises an error that says what is wrong
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
