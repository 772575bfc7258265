"""Shape: hand-computed scores, brute force over all small trees, and totals that must agree."""

from __future__ import annotations

import pytest

from tree_strategies import all_trees, right_branching
from treeformers.measures.shape import branching_nodes, shape_facts, word_scores
from treeformers.trees.tree import Tree

TREE = Tree.from_brackets(
    "(S (NP (PRP She)) (VP (VBD was) (NP (NP (DT a) (NN cook)) (PP (IN in) (NP (DT a) (NN school))))))"
)


def test_scores_by_hand() -> None:
    scores = word_scores(TREE)
    assert [score.word for score in scores] == ["She", "was", "a", "cook", "in", "a", "school"]
    assert [score.tag for score in scores] == ["PRP", "VBD", "DT", "NN", "IN", "DT", "NN"]
    assert [score.depth for score in scores] == [2, 2, 4, 4, 4, 5, 5]
    assert [score.yngve for score in scores] == [1, 1, 2, 1, 1, 1, 0]
    assert [score.frazier for score in scores] == [2.5, 1, 2, 0, 1, 1, 0]
    assert [score.top_down for score in scores] == [2, 1, 2, 0, 1, 1, 0]
    assert [score.bottom_up for score in scores] == [1, 0, 0, 1, 0, 0, 5]
    assert [score.left_corner for score in scores] == [2, 1, 1, 1, 1, 1, 0]


def test_facts_by_hand() -> None:
    assert shape_facts(TREE) == {
        "tokens": 7,
        "depth": 5,
        "depth_max": 5,
        "yngve_total": 7,
        "yngve_max": 2,
        "frazier_total": 7.5,
        "frazier_max": 2.5,
        "frazier_local": 5.5,
        "nodes": 7,
        "top_down_max": 2,
        "bottom_up_max": 5,
        "left_corner_max": 2,
        "right_branching_nodes": 4,
        "left_branching_nodes": 0,
        "branching_nodes": 6,
    }
    assert set(shape_facts(None).values()) == {0}
    assert shape_facts(None).keys() == shape_facts(TREE).keys()


@pytest.mark.parametrize("label", ["S", "SBAR-ADV", "SQ=2", "NP", "SYM"])
def test_sentence_nodes_count_one_and_a_half(label: str) -> None:
    [score] = word_scores(Tree(label, (Tree("UH", word="yes"),)))
    assert score.frazier == (1 if label in ("NP", "SYM") else 1.5)


def test_frazier_of_three_words_in_a_row() -> None:
    tree = Tree.from_brackets("(A (B (T a)) (T b) (T c) (B (B (B (T d)))) (T e))")
    assert [score.frazier for score in word_scores(tree)] == [2, 0, 0, 3, 0]
    assert shape_facts(tree)["frazier_local"] == 3
    assert shape_facts(Tree.from_brackets("(A (B (T a)) (B (T b)))"))["frazier_local"] == 3


def literal(tree: Tree) -> list[tuple[int, ...]]:
    """Depth, Yngve and the three node counts from the lists of paths and spans alone."""
    words = list(tree.words)
    rows = []
    for word in words:
        depth = yngve = opens = closes = corner = 0
        for node in tree.nodes():
            if node.is_leaf or word not in node.words:
                continue
            depth += 1
            [branch] = [number for number, child in enumerate(node.children) if word in child.words]
            yngve += len(node.children) - 1 - branch
            opens += node.words[0] == word
            closes += node.words[-1] == word
            corner += node.children[0].words[-1] == word
        rows.append((depth, yngve, opens, closes, corner))
    return rows


@pytest.mark.parametrize("n_words", [1, 2, 3, 4])
def test_all_small_trees(n_words: int) -> None:
    for tree in all_trees(n_words):
        found = [
            (score.depth, score.yngve, score.top_down, score.bottom_up, score.left_corner)
            for score in word_scores(tree)
        ]
        assert found == literal(tree)
        # Each order visits each constituent once.
        totals = {sum(row[column] for row in found) for column in (2, 3, 4)}
        assert totals == {shape_facts(tree)["nodes"]}


def test_branching() -> None:
    assert branching_nodes(right_branching(5)) == (3, 0, 4)
    left = Tree.from_brackets("(X (X (X (T a) (T b)) (T c)) (T d))")
    assert branching_nodes(left) == (0, 2, 3)
    assert branching_nodes(Tree.from_brackets("(X (X (T a) (T b)) (T c) (X (T d) (T e)))")) == (0, 0, 3)
