"""CoNLL-U of trees: one root each, brackets as in text, and one warning at the end."""

import io
import logging

import pytest

from treeformers.cli.dependency_output import DependencyWriter
from treeformers.trees.tree import Tree


def test_a_legal_label_x_and_the_tree_after_it() -> None:
    target = io.StringIO()
    write = DependencyWriter(target)
    write(Tree.from_brackets("(X (NNP Blue) (NNP Moon) (NNP Bonds-b) (CD 4.5) (NN %))"))
    write(Tree.from_brackets("(X (X owls) (X -LRB-))"))
    write(Tree.from_brackets("(S (NP (-NONE- owls)) (VP (VBP hoot)))"))
    first, second, third, rest = target.getvalue().split("\n\n")
    assert [line.split("\t")[6] for line in first.splitlines()] == ["5", "5", "5", "5", "0"]
    assert second.splitlines()[1].split("\t")[:2] == ["2", "("]
    assert [line.split("\t")[6] for line in second.splitlines()].count("0") == 1
    assert [line.split("\t")[1] for line in third.splitlines()] == ["owls", "hoot"]
    assert rest == ""


def test_one_warning_for_all_trees(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    write = DependencyWriter(io.StringIO())
    write(Tree.from_brackets("(S (NP (DT the) (NN dog)) (VP (VBZ runs)))"))
    write.warn()
    assert not caplog.messages
    write(Tree.from_brackets("(smain (np (det de) (noun hond)) (verb blaft))"))
    write.warn()
    assert caplog.messages == [
        "warning: 50.0 % of the nodes (2 of 4) have no rule in the head rules ud-english: their first or "
        "last child is the head; --heads chooses other rules"
    ]
