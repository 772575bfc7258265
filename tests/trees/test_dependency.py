"""Dependency trees."""

from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given, settings

from between_processes import send
from tree_strategies import any_text, dependency_trees
from treeformers.trees.dependency import DependencyTree, find_head_fault

quick = settings(deadline=None, max_examples=60)


def test_parts_of_a_dependency_tree():
    tree = DependencyTree(["the", "dog", "barks"], [2, 3, 0], ["det", "nsubj", "root"])
    assert tree.words == ("the", "dog", "barks")
    assert (tree.heads, tree.relations, tree.tags) == ((2, 3, 0), ("det", "nsubj", "root"), ("_",) * 3)
    assert (tree.root, tree.words[tree.root], len(tree)) == (2, "barks", 3)
    assert tree.children == ((), (0,), (1,))
    with pytest.raises(FrozenInstanceError):
        tree.heads = (0, 1, 2)  # type: ignore[misc]


@quick
@given(dependency_trees(any_text))
def test_dependency_trees_are_values(tree):
    received = send(tree)()
    assert received == tree
    assert hash(received) == hash(tree)
    for position, dependents in enumerate(tree.children):
        assert all(tree.heads[dependent] == position + 1 for dependent in dependents)
    assert sorted(sum(tree.children, (tree.root,))) == list(range(len(tree)))


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([2, 1, 0], "cycle: word 1 is among its own ancestors"),
        ([2, 3, 1], "no root: no word has head 0"),
        ([0, 4, 1], "head 4 of word 2 is not among 0 to 3"),
        ([0, -1, 1], "head -1 of word 2"),
        ([0, 1], "expected one of heads for each word, got 2 for 3 words"),
    ],
)
def test_heads_that_are_not_a_tree_are_refused(heads, message):
    with pytest.raises(ValueError, match=message):
        DependencyTree("abc", heads)


def test_the_root_of_a_forest_is_refused():
    forest = DependencyTree("abc", [0, 1, 0])
    assert forest.roots == (0, 2)
    with pytest.raises(ValueError, match="two roots: words 1 and 3 both have head 0, expected one root"):
        _ = forest.root


def test_dependency_tree_needs_words_and_columns_of_one_length():
    with pytest.raises(ValueError, match="at least one word"):
        DependencyTree([], [])
    with pytest.raises(ValueError, match="expected one of relations for each word, got 1 for 2 words"):
        DependencyTree("ab", [0, 1], ["root"])
    with pytest.raises(ValueError, match="expected one of tags for each word, got 3 for 2 words"):
        DependencyTree("ab", [0, 1], tags="XYZ")


def test_heads_are_accepted_exactly_when_every_word_reaches_a_root():
    def is_forest(heads: tuple[int, ...]) -> bool:
        def reaches(word: int) -> bool:
            for _ in heads:
                word = heads[word - 1] if word else 0
            return word == 0

        return all(map(reaches, range(1, len(heads) + 1)))

    trees = forests = 0
    for n_words in range(1, 6):
        for code in range((n_words + 1) ** n_words):
            heads = tuple(code // (n_words + 1) ** place % (n_words + 1) for place in range(n_words))
            single = find_head_fault(heads, single_root=True) is None
            try:
                tree = DependencyTree("abcde"[:n_words], heads)
            except ValueError:
                assert not is_forest(heads)
                assert not single
            else:
                assert is_forest(heads)
                assert single == (len(tree.roots) == 1)
                forests += 1
                trees += single
    # For n words, there are n ** (n - 1) rooted trees and (n + 1) ** (n - 1) rooted forests (Cayley).
    assert trees == sum(n ** (n - 1) for n in range(1, 6))
    assert forests == sum((n + 1) ** (n - 1) for n in range(1, 6))


def test_a_chain_of_heads_is_no_limit():
    n_words = 5_000
    tree = DependencyTree(["w"] * n_words, range(n_words))
    assert (tree.root, tree.children[0]) == (0, (1,))
    with pytest.raises(ValueError, match="cycle"):
        DependencyTree(["w"] * n_words, [0, *range(3, n_words + 1), 2])
