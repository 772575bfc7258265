"""Word vectors from a text file, as GloVe and word2vec write them.

Shapes: n words, D dimension.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from treeformers.trees.files import read_lines

__all__ = ["WordVectors", "read_vectors"]

_HEADER = re.compile(r"[0-9]+ [0-9]+")
_LARGEST = float(np.finfo(np.float32).max)
_DECIMAL = re.compile(r"[-+]?[0-9]*\.[0-9]+(e[-+]?[0-9]+)?", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors.

    Attributes:
        words: in the order of the alphabet.
        vectors: (n, D) in float32, a row a word.
    """

    words: tuple[str, ...]
    vectors: NDArray[np.float32]

    @property
    def dimension(self) -> int:
        """D."""
        return self.vectors.shape[1]

    def missing(self, words: Iterable[str]) -> tuple[str, ...]:
        """Those of the words that have no vector, each once, in the order given."""
        known = set(self.words)
        return tuple(word for word in dict.fromkeys(words) if word not in known)


def read_vectors(path: str | Path, words: Collection[str]) -> WordVectors:
    """Read the vectors of some words out of a file, line by line: only their rows are kept.

    A line is a word and its numbers, separated by blanks. The first line says how many numbers there are:
    as a row itself (GloVe), or as a header of two whole numbers, "count dimension" (word2vec, fastText). The
    numbers are the last D fields, so that a word may hold blanks, as some of GloVe 840B do. Of a word that
    comes twice the first row counts. The fields of all lines are counted; whether they are numbers is checked
    where the row is kept.

    Args:
        path: the file, gzipped if it ends in .gz.
        words: the words wanted. One that the file does not have gets the vector of its lower-cased form.

    Returns:
        The words that were found, in the form wanted, and their vectors.

    Raises:
        FileNotFoundError: no such file.
        ValueError: an empty file, another number of fields or of rows than the first line says, or a field
            that is no finite number, with file:line; text that is not UTF-8, or a damaged gzip file.
    """
    wanted = {form for word in words for form in (word, word.lower())}
    lines: Iterator[tuple[str, str]] = ((where, line.rstrip("\r\n ")) for where, line in read_lines(path))
    where, opening = next(lines, ("", ""))
    if not where:
        raise ValueError(f"{path}: nothing in it, expected words and their vectors")
    expected = None
    if _HEADER.fullmatch(opening):
        expected, dimension = map(int, opening.split(" "))
    else:
        _numbers(where, opening.split(" ")[1:])
        dimension, lines = opening.count(" "), chain([(where, opening)], lines)
    if not dimension:
        raise ValueError(f"{where}: found {opening[:40]!r}, expected a word and its numbers")
    found: dict[str, NDArray[np.float32]] = {}
    rows = 0
    for where, line in lines:
        word, numbers = _cut(where, line, dimension)
        if word in wanted and word not in found:
            found[word] = _numbers(where, numbers.split(" "))
        rows += 1
    if expected not in (None, rows):
        raise ValueError(f"{path}: found {rows} rows, expected {expected}, as its first line says")
    forms = {word: word if word in found else word.lower() for word in sorted(set(words))}
    row_of = {word: found[form] for word, form in forms.items() if form in found}
    vectors = np.array(list(row_of.values()), dtype=np.float32).reshape(-1, dimension)
    return WordVectors(tuple(row_of), vectors)


def _cut(where: str, line: str, dimension: int) -> tuple[str, str]:
    """The word of a line, and its numbers as they stand there."""
    # Most lines are not wanted: their numbers are counted and never cut apart.
    blanks = line.count(" ")
    *parts, numbers = line.split(" ", max(blanks - dimension, 0) + 1)
    # A word of several parts may end in a number such as 66. One with decimals is one number too many.
    if blanks < dimension or (len(parts) > 1 and _DECIMAL.fullmatch(parts[-1])):
        raise ValueError(f"{where}: expected {dimension} numbers behind the word, found {blanks}")
    return " ".join(parts).strip(" "), numbers


def _numbers(where: str, fields: Sequence[str]) -> NDArray[np.float32]:
    values = []
    for field in fields:
        try:
            value = float(field)
        except ValueError:
            value = math.nan
        if not abs(value) <= _LARGEST:
            raise ValueError(f"{where}: found {field[:40]!r}, expected a finite number")
        values.append(value)
    return np.array(values, dtype=np.float32)
