"""Documents to sentences, by the words that the Penn Treebank's tokeniser finds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from treeformers.data.penn_tokenizer import tokenize

__all__ = ["split_document", "split_sentences"]

_STOP = re.compile(r"\.|[?!]+")
_PAUSE = re.compile(r"\.{2,}|…")
_CLOSING = frozenset({"''", "'", "-RRB-", "-RSB-", "-RCB-", '"'})
_ABBREVIATION = re.compile(r"(?:\w\.)+|(?:Inc|Corp|Co|Ltd|Jr|Sr|Bros|etc|al)\.", re.IGNORECASE)
# fmt: off
_STARTERS = frozenset({
    "a", "after", "all", "although", "an", "and", "as", "at", "both", "but", "each", "even", "every", "for",
    "from", "he", "her", "here", "his", "how", "however", "if", "in", "instead", "it", "its", "many", "most",
    "my", "no", "nor", "not", "now", "of", "on", "one", "or", "our", "she", "since", "so", "some", "still",
    "such", "that", "the", "their", "then", "there", "these", "they", "this", "those", "though", "to", "we",
    "what", "when", "where", "while", "who", "why", "with", "yet", "you", "your",
})
# fmt: on
"""Words that begin sentences, and no names."""


def split_document(text: str) -> list[str]:
    """Cut a text into its sentences.

    Returns:
        The sentences, in order, without the blanks between them; none for a text without words.
    """
    words = tokenize(text)
    ends = _ends([word.text for word in words])
    return [text[words[start].start : words[end - 1].end] for start, end in pairwise([0, *ends])]


def split_sentences(words: Sequence[str]) -> list[list[str]]:
    """Cut the words of a text, as the Penn Treebank writes them, into its sentences."""
    ends = _ends(words)
    return [list(words[start:end]) for start, end in pairwise([0, *ends])]


def _ends(words: Sequence[str]) -> list[int]:
    """The places behind the last word of each sentence.

    A sentence ends with a full stop, an exclamation or question mark, and the quotation marks and brackets
    that it closes, unless a word in lower case follows; with three dots only before a capital, and with an
    abbreviation such as "U.S." only before a capital of a word that begins sentences.
    """
    ends = []
    place = 0
    while place < len(words):
        last = words[place]
        place += 1
        while place < len(words) and words[place] in _CLOSING:
            place += 1
        following = next((word for word in words[place : place + 3] if word[:1].isalnum()), "")
        if _STOP.fullmatch(last):
            over = not following[:1].islower()
        elif _PAUSE.fullmatch(last):
            over = following[:1].isupper()
        elif _ABBREVIATION.fullmatch(last):
            over = following[:1].isupper() and following.lower() in _STARTERS
        else:
            over = False
        if over or place == len(words):
            ends.append(place)
    return ends
