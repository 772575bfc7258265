"""Checks of what callers pass: sentences, lists of inputs, and positive numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar

__all__ = ["Sentence", "check_positive", "ensure_list", "words_in", "words_of"]

T = TypeVar("T")

Sentence: TypeAlias = str | Sequence[str]
"""A sentence as callers pass it: a string or a list of words."""


def words_of(
    sentences: Iterable[Sentence], split: Callable[[str], Sequence[str]] = str.split
) -> list[list[str]]:
    """Split sentences into words and check the words.

    Args:
        sentences: strings or lists of words.
        split: splits a string into words; by default at white space.

    Raises:
        ValueError: `sentences` is one string or no list, a sentence is neither a string nor a list of
            strings, a sentence has no words, or a word is blank.
    """
    rows = enumerate(ensure_list(sentences, "sentences"), start=1)
    return [words_in(sentence, f"sentence {number}", split) for number, sentence in rows]


def words_in(
    sentence: Sentence,
    name: str,
    split: Callable[[str], Sequence[str]] = str.split,
    expected: str = "a string or a list of words",
) -> list[str]:
    """Split one sentence into words and check the words.

    Args:
        sentence: a string or a list of words.
        name: name of the sentence in error messages, such as "sentence 3".
        split: splits a string into words.
        expected: kinds of input that the caller accepts, for error messages.

    Raises:
        ValueError: as in `words_of`.
    """
    if isinstance(sentence, bytes) or not isinstance(sentence, Iterable):
        raise ValueError(f"{name} is {sentence!r}, expected {expected}")
    words = list(split(sentence) if isinstance(sentence, str) else sentence)
    if not words:
        raise ValueError(f"{name} has no words")
    for word in words:
        if not isinstance(word, str):
            raise ValueError(f"{name} has the word {word!r}: expected a string")
        if not word or word.isspace():
            raise ValueError(f"{name} has the word {word!r}: expected more than blanks")
    return words


def ensure_list(items: Iterable[T], kind: str) -> list[T]:
    """Return the items as a list, and refuse a single string.

    Args:
        items: any iterable but a string.
        kind: name of the items in the error message, such as "sentences".

    Raises:
        ValueError: `items` is one string or is not iterable.
    """
    if isinstance(items, str) or not isinstance(items, Iterable):
        given = "one string" if isinstance(items, str) else repr(items)
        raise ValueError(f"expected a list of {kind}, got {given}")
    return list(items)


def check_positive(**numbers: int) -> None:
    """Refuse numbers below 1, such as `batch_size=0`.

    Raises:
        ValueError: a number is below 1; the message names it.
    """
    for name, number in numbers.items():
        if number < 1:
            raise ValueError(f"{name} is {number}, expected at least 1")
