"""Dependency trees as columns: the words are the nodes, and the dependents of a word are its children."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Self

import numpy as np

from treeformers.query.columns import Forest, Integers, inverse
from treeformers.trees.dependency import DependencyTree

__all__ = ["DependencyColumns"]


class DependencyColumns(Forest):
    """The words of many dependency trees.

    A word stands before its dependents, which come from left to right. Its label is its relation to its head.

    Args:
        vocabulary: the distinct relations.
        label: the relation of each word: a position in the vocabulary.
        parent: the head of each word; -1 for a root.
        place: the position of each word in the text, from 0 for the first word of the first tree.
        texts: the distinct words and tags.
        word: positions in the texts.
        tag: positions in the texts.
    """

    def __init__(
        self,
        vocabulary: Sequence[str],
        label: Integers,
        parent: Integers,
        place: Integers,
        texts: Sequence[str],
        word: Integers,
        tag: Integers,
    ) -> None:
        super().__init__(vocabulary, label, parent)
        self.place = place
        self.texts = tuple(texts)
        self.word = word
        self.tag = tag

    @classmethod
    def from_trees(cls, trees: Iterable[DependencyTree]) -> Self:
        """Index trees.

        Raises:
            ValueError: an item is not a dependency tree.
        """
        relations: dict[str, int] = {}
        texts: dict[str, int] = {}
        label: list[int] = []
        parent: list[int] = []
        place: list[int] = []
        word: list[int] = []
        tag: list[int] = []
        for number, tree in enumerate(trees):
            if not isinstance(tree, DependencyTree):
                raise ValueError(f"tree {number + 1}: expected a DependencyTree, got {type(tree).__name__}")
            dependents, first = tree.children, len(parent)
            stack = [(tree.root, -1)]
            while stack:
                position, head = stack.pop()
                stack.extend([(below, len(parent)) for below in reversed(dependents[position])])
                parent.append(head)
                place.append(first + position)
                label.append(relations.setdefault(tree.relations[position], len(relations)))
                word.append(texts.setdefault(tree.words[position], len(texts)))
                tag.append(texts.setdefault(tree.tags[position], len(texts)))
        label_, parent_, place_, word_, tag_ = (
            np.array(column, np.int32) for column in (label, parent, place, word, tag)
        )
        return cls(list(relations), label_, parent_, place_, list(texts), word_, tag_)

    @cached_property
    def in_text(self) -> Integers:
        """All words, in the order of the text."""
        return inverse(self.place)

    @cached_property
    def number(self) -> Integers:
        """The number of each word in its sentence, from 1."""
        return (self.place - self.roots[self.tree] + 1).astype(np.int32)

    @cached_property
    def num_left(self) -> Integers:
        """The number of dependents to the left."""
        left = (self.parent >= 0) & (self.place < self.place[self.parent])
        return np.bincount(self.parent[left], minlength=len(self)).astype(np.int32)

    def attribute(self, name: str) -> tuple[Sequence[str], Integers]:
        """The distinct values of an attribute, and for each word a position among them."""
        if name == "idx":
            return [str(number) for number in range(int(self.number.max(initial=0)) + 1)], self.number
        return self.texts, {"word": self.word, "tag": self.tag}[name]
