"""Dependency distance: hand-computed trees, and punctuation as head."""

from __future__ import annotations

import math

import pytest

from treeformers.measures.dependencies import count_words, dependency_facts, dependency_heads
from treeformers.trees.dependency import DependencyTree

TREE = DependencyTree(
    ["The", "dog", ",", "tired", ",", "sleeps", "."],
    [2, 6, 4, 2, 4, 0, 6],
    tags=["DT", "NN", ",", "JJ", ",", "VBZ", "."],
)


def test_without_punctuation() -> None:
    assert dependency_heads(TREE) == [2, 4, 2, 0]
    assert count_words(TREE) == 4
    facts = dependency_facts(TREE)
    assert (facts["dependencies"], facts["dependency_distance"], facts["dependency_distance_max"]) == (
        3,
        4,
        2,
    )
    assert facts["NDD"] == pytest.approx(abs(math.log(4 / 3 / math.sqrt(4 * 4))))


def test_with_punctuation() -> None:
    facts = dependency_facts(TREE, punctuation=True)
    assert (facts["dependencies"], facts["dependency_distance"]) == (6, 1 + 4 + 1 + 2 + 1 + 1)
    assert facts["NDD"] == pytest.approx(abs(math.log(10 / 6 / math.sqrt(6 * 7))))


def test_the_first_root_of_a_forest_counts() -> None:
    facts = dependency_facts(DependencyTree("abc", [2, 0, 0]), punctuation=True)
    assert (facts["dependencies"], facts["dependency_distance"]) == (1, 1)
    assert facts["NDD"] == pytest.approx(abs(math.log(1 / math.sqrt(2 * 3))))


def test_words_below_punctuation() -> None:
    tags = ["NN", ",", ",", "NN", "NN"]
    tree = DependencyTree(["a", ",", ",", "b", "c"], [2, 3, 4, 0, 2], tags=tags)
    assert dependency_heads(tree) == [2, 0, 2]
    tree = DependencyTree(["a", ",", ",", "b", "c"], [2, 3, 0, 3, 4], tags=tags)
    assert dependency_heads(tree) == [0, 0, 2]  # the root is punctuation
    assert dependency_facts(tree)["dependencies"] == 1


def test_universal_tags_and_no_tags() -> None:
    tree = DependencyTree(["So", "!"], [0, 1], tags=["ADV", "PUNCT"])
    assert count_words(tree) == 1
    assert count_words(DependencyTree(["So", "!"], [0, 1])) == 1


def test_nothing_to_measure() -> None:
    for tree in (None, DependencyTree(["Go"], [0], tags=["VB"]), DependencyTree(["!"], [0], tags=["."])):
        facts = dependency_facts(tree)
        assert math.isnan(facts.pop("NDD"))
        assert set(facts.values()) == {0}


def test_a_long_chain_of_punctuation() -> None:
    count = 30_000
    tree = DependencyTree([*"." * (count - 1), "a"], [0, *range(1, count)], tags=["."] * (count - 1) + ["NN"])
    assert dependency_heads(tree) == [0]
    assert dependency_facts(DependencyTree(["a"] * count, [0, *range(1, count)]))["dependency_distance"] == (
        count - 1
    )
