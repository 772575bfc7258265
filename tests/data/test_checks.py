"""Checks of what callers pass."""

from __future__ import annotations

from typing import Any

import pytest

from treeformers.data.checks import check_positive, ensure_list, words_in, words_of
from treeformers.data.penn_tokenizer import word_tokenize


def test_sentences_are_strings_or_lists_of_words() -> None:
    assert words_of(["owls  hoot", ("at night", "too")]) == [["owls", "hoot"], ["at night", "too"]]
    assert words_of(iter(["don't"]), word_tokenize) == [["do", "n't"]]


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ("owls hoot", "expected a list of sentences, got one string"),
        (3, "expected a list of sentences, got 3"),
        (["owls", ""], "sentence 2 has no words"),
        (["owls", b"hoot"], "sentence 2 is b'hoot', expected a string or a list of words"),
        ([None], "sentence 1 is None, expected a string or a list of words"),
        ([["owls", 5]], "sentence 1 has the word 5: expected a string"),
        ([["owls", " "]], "sentence 1 has the word ' ': expected more than blanks"),
    ],
)
def test_errors_name_the_sentence(sentences: Any, message: str) -> None:
    with pytest.raises(ValueError) as error:
        words_of(sentences)
    assert str(error.value) == message


def test_the_caller_names_the_sentence_and_what_it_expects() -> None:
    with pytest.raises(ValueError, match=r"^text 7 is None, expected a tree$"):
        words_in(None, "text 7", expected="a tree")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^expected a list of pairs, got one string$"):
        ensure_list("ab", "pairs")


def test_positive_numbers() -> None:
    check_positive(batch_size=1, beam=2)
    with pytest.raises(ValueError, match=r"^beam is 0, expected at least 1$"):
        check_positive(batch_size=1, beam=0)
