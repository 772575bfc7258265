"""Escapes of the Penn Treebank for brackets and slashes inside words."""

from __future__ import annotations

import re

__all__ = ["escape_word", "unescape_word"]

_UNESCAPED = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    r"\/": "/",
    r"\*": "*",
}
_ESCAPE = re.compile("|".join(map(re.escape, _UNESCAPED)))


def escape_word(word: str) -> str:
    """Write round brackets as the Penn Treebank does: "(" as "-LRB-", ")" as "-RRB-"."""
    return word.replace("(", "-LRB-").replace(")", "-RRB-")


def unescape_word(word: str) -> str:
    r"""Undo the escapes of the Penn Treebank: -LRB- -RRB- -LSB- -RSB- -LCB- -RCB-, "\/" and "\*"."""
    return _ESCAPE.sub(lambda match: _UNESCAPED[match[0]], word)
