"""Documents to sentences: where they end, and that nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treeformers.data.penn_tokenizer import tokenize
from treeformers.data.treebank_segmentation import split_document, split_treebank_words


@pytest.mark.parametrize(
    "sentences",
    [
        ["The owl hoots.", "It is late."],
        ["Why?", "Who knows!", "Nobody!?", "Yes."],
        ['"It hoots," she said.', '"So?"', "'No.'", "Owls do."],
        ["It hoots (late.)", "(Why?)", "[Nobody knows.]", "Well."],
        ["Dr. Owl, of the U.S. Navy, saw Mrs. Hawk at No. 5, Elm St. yesterday."],
        ["She lives in the U.S.", "He does not."],
        ["Hawk Inc. sold 5.5 mice at 8 p.m. to Owl Corp.", "The price fell."],
        ["It hoots... and hoots.", "I left...", "Then it slept."],
        ["so what? nobody cares! not me. really.", "Me neither"],
        ["A score of 10/10!!!", "5 owls hoot.", "100 sleep."],
        ["no stop at all"],
        ["great.", "The end."],
        ["Wer ruft?", "Ögon ser.", "Ça va."],
    ],
)
def test_where_sentences_end(sentences: list[str]) -> None:
    text = " ".join(sentences)
    assert split_document(text) == sentences
    assert split_document(f"\n {text} \t") == sentences


def test_without_blanks_between_them() -> None:
    assert split_document("It was great.The end.") == ["It was great.", "The end."]
    assert split_document("It hoots.\n\nIt sleeps.") == ["It hoots.", "It sleeps."]


def test_without_words() -> None:
    assert split_document("") == split_document(" \n\t") == split_treebank_words([]) == []


def test_words_as_the_treebank_writes_them() -> None:
    words = [
        "``",
        "It",
        "hoots",
        ".",
        "''",
        "She",
        "left",
        "-LRB-",
        "late",
        "!",
        "-RRB-",
        "...",
        "and",
        "slept",
    ]
    assert split_treebank_words(words) == [words[:5], words[5:]]


def _letters(text: str) -> str:
    """A text without blanks and the control characters that no word has."""
    return "".join(letter for letter in text if tokenize(letter))


@settings(max_examples=60, deadline=None)
@given(text=st.text(st.sampled_from(list("aB .?!()\"'…5é\n")), max_size=30) | st.text(max_size=20))
def test_no_word_is_lost(text: str) -> None:
    sentences = split_document(text)
    assert all(tokenize(sentence) for sentence in sentences)
    assert _letters("".join(sentences)) == _letters(text)
    words = [word.text for word in tokenize(text)]
    cut = split_treebank_words(words)
    assert [word for sentence in cut for word in sentence] == words
    assert len(cut) == len(sentences)
