"""A file of trees together with the line number of each tree, for error messages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from treeformers.trees.files import read_lines, suffix_of
from treeformers.trees.formats import JSON, read_trees
from treeformers.trees.tree import Tree, parse_brackets

__all__ = ["TreeFile"]


@dataclass(frozen=True, slots=True)
class TreeFile:
    """The trees of a file and their places in it.

    Attributes:
        trees: the trees.
        places: "file:line" of the last line of each tree.
    """

    trees: tuple[Tree, ...]
    places: tuple[str, ...]

    @classmethod
    def read(cls, path: str | os.PathLike[str], encoding: str = "utf-8") -> TreeFile:
        """Read a file of brackets, or of JSON lines if its name ends in .json or .jsonl.

        Args:
            path: the file.
            encoding: its encoding.

        Raises:
            FileNotFoundError: the file does not exist.
            ValueError: the text is malformed (with file:line), or the file holds no trees.
        """
        name = os.fspath(path)
        if suffix_of(name) in JSON:
            filled = [where for where, line in read_lines(path, encoding=encoding) if line.strip()]
            placed = list(zip(read_trees(path, encoding=encoding), filled, strict=True))
        else:
            placed = list(_placed_trees(name, encoding))
        if not placed:
            raise ValueError(f"{name}: no trees in it")
        trees, places = zip(*placed, strict=True)
        return cls(trees, places)


def _placed_trees(name: str, encoding: str) -> Iterator[tuple[Tree, str]]:
    """Yield each tree of a file of brackets with the place of its last line."""
    place = ""

    def lines() -> Iterator[tuple[str, str]]:
        nonlocal place
        for where, line in read_lines(name, encoding=encoding):
            place = where
            yield where, line

    for tree in parse_brackets(lines()):
        yield tree, place
