"""Splits in hidden states against the splits of gold trees."""

from __future__ import annotations

import pytest
import torch

from lab.evaluate.state_splits import split_accuracy, split_baselines
from tiny_models import TREES, tiny_inducer
from treeformers import Tree
from treeformers.models.tree_regularizer import binary_splits, split_log_probabilities
from treeformers.recipes import Regularizer

torch.set_num_threads(1)


def test_the_accuracy_counts_the_splits_of_each_tree() -> None:
    inducer = tiny_inducer()
    right = trials = 0
    for tree in TREES:
        encoded = inducer.tokenizer([list(tree.words)], is_split_into_words=True, return_tensors="pt")
        word_ids = torch.tensor([[-1 if word is None else word for word in encoded.word_ids(0)]])
        with torch.no_grad():
            states = inducer.model.treebert(**encoded, output_hidden_states=True).hidden_states[2][..., :8]
        splits = binary_splits(tree)
        found = split_log_probabilities(states, word_ids, torch.tensor([splits])).argmax(-1)[0] + 1
        right += sum(a == split for a, (_, split, _) in zip(found.tolist(), splits, strict=True))
        trials += len(splits)
    assert split_accuracy(inducer, TREES, Regularizer(fraction=0.5)) == pytest.approx(100 * right / trials)
    assert split_accuracy(inducer, TREES, Regularizer(layer=4)) is None
    assert split_accuracy(inducer, [Tree.from_brackets("(S (A a) (B b))")], Regularizer()) is None


def test_baselines() -> None:
    tree = Tree.from_brackets("(S (A a) (S (S (B b) (C c)) (D d)))")
    assert split_baselines([tree]) == {"right": 50.0, "random": pytest.approx(100 * (1 / 3 + 1 / 2) / 2)}
    with pytest.raises(ValueError, match="no tree has a constituent of at least three words"):
        split_baselines([])
