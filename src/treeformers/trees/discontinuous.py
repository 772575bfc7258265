"""Constituency trees in which a constituent may have gaps: immutable, hashable, and safe at any depth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from treeformers.trees.discontinuous_rendering import render_discontinuous_svg
from treeformers.trees.heads import head_child
from treeformers.trees.tree import ROOT_LABELS, Tree

__all__ = ["NO_VALUE", "VIRTUAL_ROOT", "DiscontinuousSpan", "DiscontinuousTree"]

NO_VALUE = "--"
"""The empty value of treebanks in Negra export and TIGER XML."""
VIRTUAL_ROOT = "VROOT"
"""Label of the root above several trees in these treebanks. It also holds the punctuation."""


class DiscontinuousSpan(NamedTuple):
    """The positions of words, counted from 0 and sorted, under one label."""

    positions: tuple[int, ...]
    label: str


@dataclass(frozen=True, slots=True, init=False, repr=False)
class DiscontinuousTree:
    """A constituency tree whose constituents are sets of words, with or without gaps.

    `len(tree)` is the number of words. Two trees are equal if their words, tags, labels, edges, lemmas and
    morphology are equal at every node. Secondary edges and the numbers of sentences are not part of a tree.
    The attributes are named like the arguments, for T words and N constituents.

    Args:
        words: the T words, at least one, without escapes.
        tags: the T tags.
        labels: labels of the N constituents in any order. The attribute has them in pre-order: a constituent
            stands before those below it, and siblings are in the order of their first words.
        parents: T + N numbers, first those of the words. Each is the parent's place in `labels`, and -1 for
            the root. The root is a constituent, or the word of a tree that has no constituents.
        edges: T + N labels of the edges to the parents, such as SB and HD; by default "--".
        lemmas: the T lemmas; by default "--".
        morphology: the T morphological tags; by default "--".

    Raises:
        ValueError: the lengths differ, a parent does not exist, there is not exactly one root, there is a
            cycle, or a constituent has no words.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    labels: tuple[str, ...]
    parents: tuple[int, ...]
    edges: tuple[str, ...]
    lemmas: tuple[str, ...]
    morphology: tuple[str, ...]

    def __init__(
        self,
        words: Iterable[str],
        tags: Iterable[str],
        labels: Iterable[str],
        parents: Iterable[int],
        edges: Iterable[str] | None = None,
        lemmas: Iterable[str] | None = None,
        morphology: Iterable[str] | None = None,
    ) -> None:
        words, labels, parents = tuple(words), tuple(labels), tuple(parents)
        n_words, n_nodes = len(words), len(words) + len(labels)
        if not words:
            raise ValueError("a discontinuous tree needs at least one word")
        order = _pre_order(labels, parents, n_words) if len(parents) == n_nodes else list(range(len(labels)))
        new_place = {old: new for new, old in enumerate(order)} | {-1: -1}
        nodes = [*range(n_words), *(n_words + old for old in order)]
        fields = {
            "words": (words, n_words),
            "tags": (tuple(tags), n_words),
            "labels": (tuple(labels[old] for old in order), len(labels)),
            "parents": (parents, n_nodes),
            "edges": ((NO_VALUE,) * n_nodes if edges is None else tuple(edges), n_nodes),
            "lemmas": ((NO_VALUE,) * n_words if lemmas is None else tuple(lemmas), n_words),
            "morphology": ((NO_VALUE,) * n_words if morphology is None else tuple(morphology), n_words),
        }
        for name, (values, expected) in fields.items():
            if len(values) != expected:
                raise ValueError(
                    f"expected {expected} {name} for {n_words} words and {len(labels)} constituents, "
                    f"got {len(values)}"
                )
            object.__setattr__(self, name, values)
        object.__setattr__(self, "parents", tuple(new_place[parents[node]] for node in nodes))
        object.__setattr__(self, "edges", tuple(self.edges[node] for node in nodes))

    @classmethod
    def from_tree(cls, tree: Tree) -> DiscontinuousTree:
        """Convert a continuous tree; `to_continuous` gives it back."""
        words: list[str] = []
        tags: list[str] = []
        labels: list[str] = []
        above: tuple[list[int], list[int]] = ([], [])  # of the words, of the constituents
        stack = [(tree, -1)]
        while stack:
            node, parent = stack.pop()
            if node.word is not None:
                words.append(node.word)
                tags.append(node.label)
                above[0].append(parent)
            else:
                stack.extend((child, len(labels)) for child in reversed(node.children))
                labels.append(node.label)
                above[1].append(parent)
        return cls(words, tags, labels, [*above[0], *above[1]])

    @property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each constituent, in the order of their first words.

        A number n below T is word n; T + i is constituent i.
        """
        firsts = list(range(len(self))) + [blocks[0][0] for blocks in self.blocks()]
        return tuple(tuple(sorted(row, key=firsts.__getitem__)) for row in _members(self.parents, len(self)))

    def blocks(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """The words of each constituent as runs without gaps, each (start, end), half-open, from the left.

        A constituent without gaps has one block.
        """
        found: list[list[tuple[int, int]]] = [[] for _ in self.labels]
        members = _members(self.parents, len(self))
        for place in reversed(range(len(self.labels))):
            runs: list[tuple[int, int]] = []
            for node in members[place]:
                runs += [(node, node + 1)] if node < len(self) else found[node - len(self)]
            found[place] = list(_merged(sorted(runs)))
        return tuple(map(tuple, found))

    def spans(self) -> tuple[DiscontinuousSpan, ...]:
        """The positions and the label of each constituent, in pre-order."""
        return tuple(
            DiscontinuousSpan(tuple(word for start, end in blocks for word in range(start, end)), label)
            for blocks, label in zip(self.blocks(), self.labels, strict=True)
        )

    @property
    def block_degree(self) -> int:
        """The largest number of blocks of a constituent: 1 for a continuous tree."""
        return max(map(len, self.blocks()), default=1)

    @property
    def is_continuous(self) -> bool:
        """Whether no constituent has a gap."""
        return self.block_degree == 1

    def to_continuous(self, head: Callable[[str, Sequence[str]], int] = head_child) -> Tree:
        """Remove the gaps: raise the daughters that a gap separates from the head.

        Boyd (2007, Discontinuity Revisited) describes raising as the usual way from Negra to a context-free
        treebank. The method has two steps; the first follows root_attach of Maier's treetools.

        1. The root may be virtual: VROOT, ROOT, TOP, S1 or without a label. A daughter of such a root,
           punctuation above all, may interrupt another daughter. It moves to the lowest constituent of that
           other daughter that has words on both sides: the word before it, and the nearest one after it.
           Without this step, each comma would break a clause.
        2. From the bottom to the top, each constituent keeps the block of its head daughter. The daughters in
           its other blocks become daughters of its parent.

        The head is the first daughter with the edge HD, otherwise the last one with the edge NK, otherwise
        the one that `head` gives.

        Words, tags, the number of constituents and their labels stay. Lost are the constituents that raised
        and moved daughters belonged to, edges, lemmas and morphology. A continuous tree does not change.

        Args:
            head: the number of the head daughter, for the label of the parent and the labels of the
                daughters. By default Collins' rules, which know the labels of the Penn Treebank.
        """
        n_words, label_of = len(self), (*self.tags, *self.labels)
        heads = [
            row[_head(label, [self.edges[n] for n in row], [label_of[n] for n in row], head)]
            for label, row in zip(self.labels, self.children, strict=True)
        ]
        leaves = [Tree(tag, word=word) for tag, word in zip(self.tags, self.words, strict=True)]
        if not heads:
            return leaves[0]
        parents = list(self.parents)
        if self.labels[0] == VIRTUAL_ROOT or self.labels[0] in ROOT_LABELS:
            _lower(parents, n_words)
        # A parent stands before its children, also after step 1: each moved node stood behind its new parent.
        members = _members(parents, n_words)
        built = dict(enumerate(leaves))
        ends = [(word, word + 1) for word in range(n_words)] + [(0, 0)] * len(self.labels)
        for place in reversed(range(len(self.labels))):
            row = sorted(members[place], key=lambda node: ends[node][0])
            anchor = row.index(heads[place])
            first = last = anchor
            while first and ends[row[first - 1]][1] == ends[row[first]][0]:
                first -= 1
            while last + 1 < len(row) and ends[row[last]][1] == ends[row[last + 1]][0]:
                last += 1
            kept = row[first : last + 1]
            ends[n_words + place] = (ends[kept[0]][0], ends[kept[-1]][1])
            built[n_words + place] = Tree(self.labels[place], tuple(built[node] for node in kept))
            if len(kept) < len(row):
                members[parents[n_words + place]] += row[:first] + row[last + 1 :]
        return built[n_words]

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        gaps = sum(len(blocks) > 1 for blocks in self.blocks())
        return (
            f"<DiscontinuousTree {' '.join(self.words)!r}: {len(self.labels)} constituents, {gaps} with gaps>"
        )

    def _repr_svg_(self) -> str:
        """The picture that a notebook shows."""
        return str(render_discontinuous_svg(self.words, self.tags, self.labels, self.children, self.blocks()))


def _members(parents: Sequence[int], n_words: int) -> list[list[int]]:
    """The children of each constituent, words before constituents."""
    members: list[list[int]] = [[] for _ in range(len(parents) - n_words)]
    for node, parent in enumerate(parents):
        if parent >= 0:
            members[parent].append(node)
    return members


def _pre_order(labels: Sequence[str], parents: Sequence[int], n_words: int) -> list[int]:
    """The places of the constituents in pre-order.

    Raises:
        ValueError: the parents are not those of a tree with words below every constituent.
    """
    for parent in parents:
        if not -1 <= parent < len(labels):
            raise ValueError(f"parent {parent} is not among the {len(labels)} constituents")
    roots = [node for node, parent in enumerate(parents) if parent == -1]
    if len(roots) != 1:
        raise ValueError(f"expected one root, got {len(roots)}")
    members = _members(parents, n_words)
    downwards = list(roots)
    for node in downwards:
        if node >= n_words:
            downwards += members[node - n_words]
    if len(downwards) < len(parents):
        lost = min(set(range(len(parents))) - set(downwards))
        raise ValueError(f"a cycle: no path leads from node {lost} to the root")
    firsts = list(range(n_words)) + [n_words] * len(labels)
    for node in reversed(downwards[1:]):
        parent = n_words + parents[node]
        firsts[parent] = min(firsts[parent], firsts[node])
    if n_words in firsts:
        raise ValueError(f"constituent {labels[firsts.index(n_words) - n_words]!r} has no words")
    order: list[int] = []
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node >= n_words:
            order.append(node - n_words)
            stack += sorted(members[node - n_words], key=firsts.__getitem__, reverse=True)
    return order


def _merged(runs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join sorted runs that touch."""
    pending: tuple[int, int] | None = None
    for start, end in runs:
        if pending and pending[1] == start:
            pending = (pending[0], end)
        else:
            if pending:
                yield pending
            pending = (start, end)
    if pending:
        yield pending


def _head(
    label: str, edges: Sequence[str], labels: Sequence[str], rule: Callable[[str, Sequence[str]], int]
) -> int:
    if "HD" in edges:
        return edges.index("HD")
    if "NK" in edges:
        return len(edges) - 1 - edges[::-1].index("NK")
    return rule(label, labels)


def _lower(parents: list[int], n_words: int) -> None:
    """Step 1 of `to_continuous`: change the parents of daughters of the root that interrupt others."""
    tops = list(range(n_words))  # of each word: the daughter of the root above it
    for word in range(n_words):
        while parents[tops[word]]:
            tops[word] = n_words + parents[tops[word]]
    firsts: dict[int, int] = {}
    lasts: dict[int, int] = {}
    for word, top in enumerate(tops):
        firsts.setdefault(top, word)
        lasts[top] = word
    for daughter, first in sorted(firsts.items(), key=lambda item: item[1]):
        last = lasts[daughter]
        other = tops[first - 1] if first else daughter
        if lasts[other] <= last:
            continue
        right = next(word for word in range(last + 1, n_words) if tops[word] == other)
        left = set(_ancestors(parents, n_words, first - 1))
        parents[daughter] = next(place for place in _ancestors(parents, n_words, right) if place in left)
        tops[first : last + 1] = [other if top == daughter else top for top in tops[first : last + 1]]


def _ancestors(parents: Sequence[int], n_words: int, word: int) -> Iterator[int]:
    """The constituents above a word, from the lowest up."""
    place = parents[word]
    while place >= 0:
        yield place
        place = parents[n_words + place]
