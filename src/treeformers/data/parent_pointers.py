"""Trees as rows of parents, beside a file of their words: the format that Tai et al. (2015) made common.

A sentence is a line of each of several files: its words, the parents of the nodes, perhaps their relations.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import TypeAlias

from treeformers.trees.dependency import DependencyTree, find_head_fault
from treeformers.trees.files import read_lines
from treeformers.trees.tree import Tree

__all__ = ["Line", "build_constituents", "build_dependencies", "read_aligned", "split_words"]

Line: TypeAlias = tuple[str, str]

# Only ASCII blanks separate words: some hold a no-break space.
_WORD = re.compile(r"[^ \t\r\n\f\v]+")


def read_aligned(*paths: str | os.PathLike[str]) -> Iterator[tuple[Line, ...]]:
    """Read files side by side whose lines belong together.

    Args:
        paths: the files, gzipped if they end in .gz.

    Yields:
        For each line ("file:line", line) of every file.

    Raises:
        ValueError: files of different length; else as `read_lines`.
    """
    for lines in zip_longest(*map(read_lines, paths)):
        if None in lines:
            where = next(line[0] for line in lines if line)
            short = os.fspath(paths[lines.index(None)])
            raise ValueError(f"{where}: a line too many, or one too few in {short}: expected as many in both")
        yield lines


def split_words(line: Line) -> list[str]:
    """The words of a line.

    Raises:
        ValueError: there are none.
    """
    where, text = line
    words = _WORD.findall(text)
    if not words:
        raise ValueError(f"{where}: expected the words of a sentence, got an empty line")
    return words


def build_dependencies(words: Sequence[str], heads: Line, relations: Line) -> DependencyTree:
    """Build a dependency tree.

    Args:
        words: the words.
        heads: a line with the head of every word, counted from 1; 0 for the root.
        relations: a line with the relation of every word.

    Raises:
        ValueError: something else than one number and one relation a word, or heads that are no tree with
            one root; the message opens with the place of the line at fault.
    """
    names = _WORD.findall(relations[1])
    if len(names) != len(words):
        raise ValueError(f"{relations[0]}: expected {len(words)} relations, one a word, got {len(names)}")
    try:
        return DependencyTree(words, _numbers(heads), names)
    except ValueError as error:
        raise ValueError(f"{heads[0]}: {error}") from None


def build_constituents(words: Sequence[str], parents: Line) -> Tree:
    """Build a constituency tree, with "X" for every label and tag.

    The words are the nodes 1 to n, and the nodes above them have the numbers that follow, in any order.

    Args:
        words: the words.
        parents: a line with the parent of every node; 0 for the root.

    Raises:
        ValueError: parents that are no tree with one root, whose leaves are not the words, or in which a node
            covers words that are not side by side; the message opens with the place of the line.
    """
    try:
        return _constituents(words, _numbers(parents))
    except ValueError as error:
        raise ValueError(f"{parents[0]}: {error}") from None


def _constituents(words: Sequence[str], parents: Sequence[int]) -> Tree:
    if len(parents) < len(words):
        raise ValueError(f"expected parents of {len(words)} words and the nodes above, got {len(parents)}")
    if fault := find_head_fault(parents):
        raise ValueError(f"parents of words and nodes that are no tree: {fault[1]}")
    children: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    for node, parent in enumerate(parents, start=1):
        children[parent].append(node)
    order = list(children[0])
    for node in order:
        order += children[node]
    built: dict[int, tuple[int, int, Tree]] = {}
    for node in reversed(order):
        below = sorted(built.pop(child) for child in children[node])
        if (node <= len(words)) is bool(below):
            raise ValueError(
                f"expected the {len(words)} words as leaves: node {node} "
                + ("is a word with nodes below it" if below else "is none and has no words below it")
            )
        if not below:
            built[node] = node - 1, node, Tree("X", word=words[node - 1])
        elif all(left[1] == right[0] for left, right in pairwise(below)):
            built[node] = below[0][0], below[-1][1], Tree("X", tuple(tree for *_, tree in below))
        else:
            raise ValueError(f"the words below node {node} are not side by side")
    (_, _, tree) = built[order[0]]
    return tree


def _numbers(line: Line) -> list[int]:
    try:
        return list(map(int, line[1].split()))
    except ValueError:
        raise ValueError(f"expected numbers of nodes, got {line[1].strip()[:30]!r}") from None
