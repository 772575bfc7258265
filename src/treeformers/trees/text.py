"""Text as terminals and captions show it: columns, control characters, shortening, plurals."""

from __future__ import annotations

import unicodedata
from itertools import accumulate
from shutil import get_terminal_size

__all__ = ["check_columns", "clip", "count", "plain", "shorten", "terminal_columns", "text_columns"]

MIN_COLUMNS = 20

_CONTROLS = {code: "\N{REPLACEMENT CHARACTER}" for code in (*range(32), *range(127, 160))}


def terminal_columns() -> int:
    """Width of the terminal, at least 20 columns; 100 without a terminal."""
    return max(MIN_COLUMNS, get_terminal_size((100, 24)).columns)


def check_columns(width: int) -> None:
    """Refuse a width that is too narrow for a drawing.

    Raises:
        ValueError: `width` is below 20.
    """
    if width < MIN_COLUMNS:
        raise ValueError(f"a drawing needs a width of at least {MIN_COLUMNS} columns, got {width}")


def text_columns(text: str) -> int:
    """Number of terminal columns that a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) or unicodedata.category(c) in {"Cf", "Me", "Mn"}
        else 2 if unicodedata.east_asian_width(c) in "WF"
        else 1
        for c in text
    )  # fmt: skip


def clip(line: str, columns: int) -> str:
    """Cut a line that is wider than `columns`, and mark the cut with "…"."""
    if text_columns(line) <= columns:
        return line
    ends = accumulate(map(text_columns, line))
    return "".join(char for char, end in zip(line, ends, strict=True) if end < columns) + "…"


def plain(text: str) -> str:
    """Replace the characters that move a terminal's cursor or change its colours."""
    return text.translate(_CONTROLS)


def shorten(text: str, length: int) -> str:
    """Cut a text to `length` characters, and mark the cut with "…"."""
    return text if len(text) <= length else text[: length - 1] + "…"


def count(number: int, noun: str) -> str:
    """ "1 word", "2 words", "1,000 words"."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"
