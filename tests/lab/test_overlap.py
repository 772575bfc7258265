"""Texts that train and are scored."""

from __future__ import annotations

from lab.overlap import Overlap, count_overlap, texts_of
from treeformers.data.examples import LabeledText, TextPair
from treeformers.trees.tree import Tree

TRAIN = [["The old dog sleeps on the mat ."], ["A bird , in 1999 , sang ."]]


def test_case_punctuation_and_numbers_do_not_count() -> None:
    assert count_overlap(TRAIN, [["the old dog sleeps on the mat"], ["A bird in 2001 sang !"]]) == Overlap(
        2, 2, 2
    )


def test_a_near_text_shares_most_word_pairs_with_one_training_text() -> None:
    near, far = ["the old dog sleeps on the rug ."], ["the old dog sang in the mat ."]
    assert count_overlap(TRAIN, [near, far]) == Overlap(2, 0, 1)
    assert count_overlap(TRAIN, [["Dog ."]]) == Overlap(1, 0, 0)


def test_a_pair_is_equal_to_a_pair() -> None:
    train = [["the dog sleeps", "the dog rests"], ["a cat", "a bird"]]
    assert count_overlap(train, [["a bird", "a cat"], ["the dog sleeps", "a bird"]]).exact == 1


def test_texts_of_examples() -> None:
    tree = Tree.from_brackets("(NP (-LRB- -LRB-) (NN dog))")
    assert texts_of(tree) == texts_of(LabeledText(tree, "a")) == ["( dog"]
    assert texts_of(TextPair("a", "b")) == ["a", "b"]
    assert texts_of({"en": "a", "de": "b"}) == ["a"] and texts_of("a b") == ["a b"]
