"""Discontinuous trees for tests: random ones for hypothesis, and all small ones."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from hypothesis import strategies as st

from treeformers.trees.discontinuous import DiscontinuousTree

# Text that every format can hold: no blanks, no marks of a format, no characters that XML forbids.
plain_text = st.text(st.sampled_from("abzÄß()=#&<\"'-/$[]"), min_size=1, max_size=4).filter(
    lambda text: not any(mark in text for mark in ("#LRB#", "#RRB#", "$["))
)


@st.composite
def discontinuous_trees(
    draw: st.DrawFn, texts: st.SearchStrategy[str] = plain_text, full: bool = True
) -> DiscontinuousTree:
    """Random trees: some sets of nodes below one new node, until one node is left.

    Args:
        texts: words, tags and labels, and the other fields of `full` trees.
        full: give edges, lemmas and morphology other values than "--".
    """
    n_words = draw(st.integers(1, 7))
    tops, parents, labels = list(range(n_words)), [-1] * n_words, []
    chains = draw(st.integers(0, 3))
    while len(tops) > 1 or chains:
        alone = chains and (len(tops) == 1 or draw(st.booleans()))
        chains -= bool(alone)
        least, most = (1, 1) if alone else (2, len(tops))
        chosen = draw(st.permutations(tops))[: draw(st.integers(least, most))]
        for node in chosen:
            parents[node] = len(labels)
            tops.remove(node)
        tops.append(len(parents))
        parents.append(-1)
        labels.append(draw(texts))

    def row(length: int) -> list[str]:
        return draw(st.lists(texts, min_size=length, max_size=length))

    others = (row(len(parents)), row(n_words), row(n_words)) if full else (None, None, None)
    if full:
        others[0][parents.index(-1)] = "--"
    return DiscontinuousTree(row(n_words), row(n_words), labels, parents, *others)


def all_discontinuous_trees(n_words: int) -> Iterator[DiscontinuousTree]:
    """Every tree over `n_words` words in which each constituent has two or more children."""
    for hierarchy in _hierarchies(tuple(range(n_words))):
        parents, labels = [-1] * n_words, []
        pending = [(hierarchy, -1)]
        while pending:
            node, parent = pending.pop()
            if isinstance(node, int):
                parents[node] = parent
            else:
                pending += [(child, len(labels)) for child in node]
                parents.append(parent)
                labels.append(f"N{len(labels)}")
        words = [f"w{word}" for word in range(n_words)]
        yield DiscontinuousTree(words, ["T"] * n_words, labels, parents)


def _hierarchies(words: tuple[int, ...]) -> Iterator[Any]:
    """Every nesting of sets of these words: a word, or a tuple of nestings."""
    if len(words) == 1:
        yield words[0]
        return
    for parts in _partitions(words):
        if len(parts) > 1:
            yield from product(*(list(_hierarchies(part)) for part in parts))


def _partitions(words: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
    if not words:
        yield ()
        return
    first, rest = words[0], words[1:]
    for parts in _partitions(rest):
        yield ((first,), *parts)
        for number, part in enumerate(parts):
            yield (*parts[:number], (first, *part), *parts[number + 1 :])
