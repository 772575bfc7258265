"""Text as LaTeX takes it."""

from __future__ import annotations

from treeformers.trees.svg import plain

_ESCAPED = {char: f"\\{char}" for char in "{}$&#_%"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}


def escape(text: str) -> str:
    """Escape the characters that mean something to LaTeX, and replace those that control a terminal."""
    return "".join(_ESCAPED.get(char, char) for char in plain(text))
