"""Attachment scores of dependency trees, against counts made word by word."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeformers
from tree_strategies import dependency_trees
from treeformers.metrics import attachment
from treeformers.trees.dependency import DependencyTree

WORDS = ["he", "runs", "very", "fast"]
GOLD = DependencyTree(WORDS, [2, 0, 4, 2], ["nsubj", "root", "advmod", "advmod"])


def mirrored(tree: DependencyTree) -> DependencyTree:
    """Another tree over the same words: its shape and relations from the end."""
    heads = [head and len(tree) + 1 - head for head in reversed(tree.heads)]
    return DependencyTree(tree.words, heads, reversed(tree.relations))


def test_worked_example() -> None:
    score = attachment([GOLD], [DependencyTree(WORDS, [2, 0, 2, 2], ["obj", "root", "advmod", "advmod"])])
    assert (score.unlabeled_attachment, score.labeled_attachment) == (75, 50)
    assert (score.exact_match, score.words, score.sentences) == (0, 4, 1)
    assert str(score) == f"UAS 75.00, LAS 50.00 ({score.signature})"
    version = f"version:{treeformers.__version__}"
    assert score.signature == f"attachment|punctuation:scored|average:corpus|max_length:none|{version}"


def test_forests_are_scored() -> None:
    forest = DependencyTree(WORDS, [2, 0, 4, 0])
    assert attachment([forest], [GOLD]).unlabeled_attachment == 75
    assert attachment([forest], [forest]).exact_match == 100


def test_trees_without_relations_have_no_labelled_score() -> None:
    score = attachment([GOLD], [DependencyTree(WORDS, GOLD.heads)])
    assert (score.unlabeled_attachment, score.labeled_attachment, score.exact_match) == (100, None, 100)
    assert str(score) == f"UAS 100.00 ({score.signature})"


def test_longer_sentences_are_left_out() -> None:
    short = DependencyTree(["he", "runs"], [2, 0], ["nsubj", "root"])
    wrong = DependencyTree(["he", "runs"], [0, 1], ["nsubj", "root"])
    score = attachment([GOLD, short], [GOLD, wrong], max_length=2)
    assert (score.unlabeled_attachment, score.words, score.sentences) == (0, 2, 1)
    assert "|max_length:2|" in score.signature
    assert attachment([GOLD], [GOLD], max_length=3).words == 0


@settings(deadline=None)
@given(st.lists(dependency_trees(), min_size=1, max_size=4))
def test_counts(gold: list[DependencyTree]) -> None:
    predicted = [mirrored(tree) for tree in gold]
    words = heads = both = whole = 0
    for right, found in zip(gold, predicted, strict=True):
        correct = 0
        for i in range(len(right)):
            words += 1
            if right.heads[i] == found.heads[i]:
                heads += 1
                correct += 1
                if right.relations[i] == found.relations[i]:
                    both += 1
        whole += correct == len(right)
    score = attachment(gold, predicted)
    assert score.unlabeled_attachment == pytest.approx(100 * heads / words)
    assert score.exact_match == pytest.approx(100 * whole / len(gold))
    if score.labeled_attachment is None:
        assert not any(relation != "_" for tree in predicted for relation in tree.relations)
    else:
        assert score.labeled_attachment == pytest.approx(100 * both / words)
    assert attachment(gold, gold).unlabeled_attachment == attachment(gold, gold).exact_match == 100


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="expected one predicted tree for each gold tree, got 0 for 1"):
        attachment([GOLD], [])
    with pytest.raises(ValueError, match="predicted tree 1 is None, expected a DependencyTree"):
        attachment([GOLD], [None])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="sentence 2: the predicted tree has other words"):
        attachment([GOLD, GOLD], [GOLD, DependencyTree(["he"], [0])])
