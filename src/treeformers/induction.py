"""Links to trees: Algorithm 1 of Wang et al. (2019), other decodings, trivial trees, tree averaging.

Link i of a sentence is the probability that words i and i + 1 belong to one constituent. Every
constituent of an induced tree is labelled `LABEL`, the root too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treeformers.trees.tree import Tree

__all__ = [
    "LABEL",
    "Structure",
    "average_trees",
    "best_tree",
    "best_trees",
    "build_tree",
    "cky",
    "split_greedily",
    "summarise_structure",
    "trivial_tree",
]

LABEL = "X"
"""The label of every induced constituent."""

RELEASED_DESCENT = 0.7  # the released code leaves a layer once all links of a part are above this

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Structure:
    """How much structure trees hold.

    Attributes:
        sentences: number of trees.
        spans_per_sentence: mean number of constituents, without the root and those of one word.
        flat_share: percentage of the trees over more than two words that have no such constituent.
    """

    sentences: int
    spans_per_sentence: float
    flat_share: float


def build_tree(
    links: ArrayLike,
    words: Sequence[str],
    min_layer: int = 2,
    threshold: float = 0.8,
    tags: Sequence[str] | None = None,
    algorithm: Literal["printed", "released"] = "printed",
) -> Tree:
    """Read a tree from the links of all layers, from the top layer down (Wang et al. 2019, Algorithm 1).

    A part of the sentence is split at its lowest link, the leftmost of equals, unless that link is
    above the threshold; then the layer below is asked, and at `min_layer` the part stays one flat
    constituent. Links that have saturated everywhere give a flat tree: see `summarise_structure`.

    Args:
        links: (L, T-1) probabilities of one sentence, lowest layer first.
        words: the T words.
        min_layer: lowest layer asked, counted from 0.
        threshold: highest link that still splits.
        tags: one tag a word.
        algorithm: where the two parts of a split go on. "printed": at the layer below, as the paper says.
            "released": at the same layer, unless all links of the part are above 0.7, as in the
            authors' code (which also forgets a threshold other than 0.8 there; this one does not).

    Raises:
        ValueError: links of another shape or not numbers, no such layer, or an unknown algorithm.
    """
    if algorithm not in ("printed", "released"):
        raise ValueError(f"unknown algorithm {algorithm!r}: expected 'paper' or 'released'")
    array = _link_array(links, words, ndim=2)
    _check_layer(min_layer, array)
    spans = [(0, len(words))]
    pending = [(len(array) - 1, 0, len(words) - 1)]  # layer, first link, end of the links
    while pending:
        layer, start, end = pending.pop()
        if end - start < 2:
            continue
        part = array[layer, start:end]
        split = start + int(part.argmin())
        below = max(layer - 1, min_layer)
        if array[layer, split] > threshold:
            if layer > min_layer:
                pending.append((below, start, end))
            continue
        for first, last in ((start, split), (split + 1, end)):
            if first == last:
                continue
            spans.append((first, last + 1))
            stay = algorithm == "released" and array[layer, first:last].min() <= RELEASED_DESCENT
            pending.append((layer if stay else below, first, last))
    return _tree(words, spans, tags)


def split_greedily(link: ArrayLike, words: Sequence[str], tags: Sequence[str] | None = None) -> Tree:
    """Read a binary tree from the links of one layer: split at the lowest link until words are left.

    This is the distance parser of Shen et al. (2018). The leftmost of equal links splits first, so
    that equal links throughout give the right-branching tree.

    Args:
        link: (T-1,) probabilities of one sentence.
        words: the T words.
        tags: one tag a word.

    Raises:
        ValueError: links of another shape or not numbers.
    """
    array = _link_array(link, words, ndim=1)
    return _split(words, lambda start, end: start + 1 + int(array[start : end - 1].argmin()), tags)


def best_tree(
    links: ArrayLike,
    words: Sequence[str],
    layer: int = -1,
    right_bias: float = 0.0,
    tags: Sequence[str] | None = None,
) -> Tree:
    """Read the most probable binary tree from the links of one layer.

    Ours, not in the paper. With links as independent events, a span is one whole block of linked
    words with the product of the links inside (Eq. 3) and of the complements of the two at its
    borders; beyond the sentence nothing is linked. The tree has the highest product over its
    spans, by `cky`: no threshold, and no early mistake that binds later splits.

    Links say little where they are all alike, as between clauses. `right_bias` says what to do
    there: by how much, in nats, a constituent is more probably the right part of its parent than
    the left one. It is positive for languages whose heads come first, as in English, negative
    where they come last, and 0 takes no side.

    Args:
        links: (L, T-1) probabilities of one sentence, lowest layer first.
        words: the T words.
        layer: the layer to read; negative ones count from the top.
        right_bias: log-odds of right against left constituents.
        tags: one tag a word.

    Raises:
        ValueError: links of another shape or not numbers, or no such layer.
    """
    return best_trees([links], [words], layer, right_bias, None if tags is None else [tags])[0]


def best_trees(
    links: Sequence[ArrayLike],
    sentences: Sequence[Sequence[str]],
    layer: int = -1,
    right_bias: float = 0.0,
    tags: Sequence[Sequence[str] | None] | None = None,
) -> list[Tree]:
    """The `best_tree` of every sentence; those of one length are computed together."""
    by_length: dict[int, list[int]] = {}
    arrays = []
    for number, (link, words) in enumerate(zip(links, sentences, strict=True)):
        array = _link_array(link, words, ndim=2)
        if not -len(array) <= layer < len(array):
            raise ValueError(f"layer {layer} is not a layer: expected {-len(array)} to {len(array) - 1}")
        arrays.append(array[layer].clip(1e-12, 1 - 1e-12))
        by_length.setdefault(len(words), []).append(number)
    trees: dict[int, Tree] = {}
    for n_words, numbers in by_length.items():
        link = np.stack([arrays[number] for number in numbers])  # (B, T-1)
        sums = np.log(link).cumsum(1)
        sums = np.concatenate([np.zeros((len(numbers), 1)), sums], axis=1)  # (B, T) of Eq. 4
        cut = np.zeros((len(numbers), n_words + 1))  # (B, T+1) no link at this border
        cut[:, 1:-1] = np.log1p(-link)
        scores = np.zeros((len(numbers), n_words, n_words + 1))
        inside = np.minimum(sums[:, None, :] - sums[:, :, None], 0.0)  # first and last word
        scores[:, :, 1:] = inside + cut[:, :-1, None] + cut[:, None, 1:]
        for number, splits in zip(numbers, _best_splits(scores, right_bias), strict=True):
            trees[number] = _split(sentences[number], splits, None if tags is None else tags[number])
    return [trees[number] for number in range(len(arrays))]


def cky(scores: ArrayLike, right_bias: float = 0.0) -> list[tuple[int, int]]:
    """The spans of the binary tree with the highest sum of span scores.

    O(T^3) time and O(T^2) memory, vectorised by span width. Of equal splits the leftmost is taken.

    Args:
        scores: (T, T+1) array; scores[start, end] is the score of the half-open span. Only entries
            of at least two words matter.
        right_bias: added for every span of at least two words that is the right part of its
            parent; negative, its opposite is added for every one that is the left part.

    Returns:
        The T - 1 spans of at least two words, in pre-order; none for one word.

    Raises:
        ValueError: scores of another shape.
    """
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim != 2 or not array.size or array.shape[1] != len(array) + 1:
        raise ValueError(f"expected span scores of shape (T, T+1), got {array.shape}")
    (splits,) = _best_splits(array[None], right_bias)
    return [(start, end) for start, _, end in _binary_spans(len(array), splits)]


def trivial_tree(
    words: Sequence[str],
    kind: Literal["right", "left", "balanced", "random"] = "right",
    seed: int | None = None,
    tags: Sequence[str] | None = None,
) -> Tree:
    """A binary tree that does not look at the words: the baselines of grammar induction.

    Args:
        words: the words, at least one.
        kind: "right" and "left" branch that way; "balanced" halves, the left part longer by the
            odd word; "random" draws every split uniformly.
        seed: of the random tree. Use one of its own for every sentence.
        tags: one tag a word.

    Raises:
        ValueError: no words or an unknown kind.
    """
    words = tuple(words)
    if kind == "right":
        return _split(words, lambda start, end: start + 1, tags)
    if kind == "left":
        return _split(words, lambda start, end: end - 1, tags)
    if kind == "balanced":
        return _split(words, lambda start, end: (start + end + 1) // 2, tags)
    if kind == "random":
        generator = random.Random(seed)
        return _split(words, lambda start, end: generator.randrange(start + 1, end), tags)
    raise ValueError(f"unknown kind of tree {kind!r}: expected right, left, balanced or random")


def average_trees(trees: Iterable[Tree], weights: Sequence[float] | None = None, binary: bool = True) -> Tree:
    """The binary tree with the highest expected unlabelled F1 against the given trees.

    Minimum Bayes risk by CKY (Shayegh et al. 2024): a span scores the trees that have it. A tree
    with fewer constituents gains more F1 by each, hence the weight 1 / (T - 2 + its constituents);
    between binary trees, the case of the paper, this is one vote a tree. Labels play no part, a
    span counts once a tree, spans of one word and the root do not count.

    Args:
        trees: trees over the same words, such as those of several seeds.
        weights: how much each tree counts, not negative; equal if absent.
        binary: False leaves out the constituents that no tree has, which only filled up the
            binary tree.

    Returns:
        The tree, with the words and tags of the first one.

    Raises:
        ValueError: no trees, different words, or weights that are not one non-negative number a
            tree with a positive sum.
    """
    voters = list(trees)
    if not voters:
        raise ValueError("averaging needs at least one tree")
    words = voters[0].words
    for number, tree in enumerate(voters, start=1):
        if tree.words != words:
            raise ValueError(f"tree {number} of {len(voters)} has other words than the first one")
    shares = [1.0] * len(voters) if weights is None else [float(weight) for weight in weights]
    if len(shares) != len(voters) or not min(shares) >= 0 or not 0 < sum(shares) < np.inf:
        raise ValueError(f"expected {len(voters)} weights, none negative and not all 0, got {shares}")
    scores = np.zeros((len(words), len(words) + 1))
    for tree, share in zip(voters, shares, strict=True):
        spans = _constituents(tree, len(words))
        for start, end in spans:
            scores[start, end] += share / (len(words) - 2 + len(spans))
    chosen = cky(scores)
    if not binary:
        chosen = [(start, end) for start, end in chosen if scores[start, end] > 0]
    return _tree(words, chosen, voters[0].tags)


def summarise_structure(trees: Iterable[Tree]) -> Structure:
    """Count what structure trees hold.

    Above its threshold a weak model returns flat trees without any error; these two figures show it.

    Raises:
        ValueError: no trees.
    """
    sentences = spans = longer = flat = 0
    for tree in trees:
        n_words = len(tree)
        count = len(_constituents(tree, n_words))
        sentences += 1
        spans += count
        longer += n_words > 2
        flat += n_words > 2 and not count
    if not sentences:
        raise ValueError("no trees to summarise")
    return Structure(
        sentences=sentences,
        spans_per_sentence=spans / sentences,
        flat_share=100 * flat / longer if longer else 0.0,
    )


def _link_array(links: Any, words: Sequence[str], ndim: int) -> Array:
    if not words:
        raise ValueError("a tree needs at least one word")
    if hasattr(links, "detach"):  # a torch tensor, on any device and of any precision
        links = links.detach().cpu().double()
    array = np.asarray(links, dtype=np.float64)
    if array.ndim != ndim or array.shape[-1] != len(words) - 1 or (ndim == 2 and not len(array)):
        expected = f"(L, {len(words) - 1})" if ndim == 2 else f"({len(words) - 1},)"
        raise ValueError(f"expected links of shape {expected} for {len(words)} words, got {array.shape}")
    if np.isnan(array).any():
        raise ValueError("links hold NaN")
    return array


def _check_layer(min_layer: int, array: Array) -> None:
    if not 0 <= min_layer < len(array):
        raise ValueError(f"min_layer {min_layer} is not a layer: expected 0 to {len(array) - 1}")


def _constituents(tree: Tree, n_words: int) -> set[tuple[int, int]]:
    """The spans that count when structure is compared."""
    return {(start, end) for start, end, _ in tree.spans() if 1 < end - start < n_words}


def _tree(words: Sequence[str], spans: Iterable[tuple[int, int]], tags: Sequence[str] | None) -> Tree:
    """The tree of these spans; a root over all the words, be it one, is added."""
    inner = [(start, end, LABEL) for start, end in spans if end - start < len(words)]
    return Tree.from_spans(words, [(0, len(words), LABEL), *inner], tags)


def _best_splits(scores: Array, right_bias: float) -> list[Callable[[int, int], int]]:
    """The word before which the best tree splits a span, for each of the scores (B, T, T+1) of `cky`."""
    n_sentences, n_words, _ = scores.shape
    from_start = np.zeros((n_sentences, n_words + 1, n_words + 1))  # best sum by first word and width
    to_end = np.zeros((n_sentences, n_words + 1, n_words + 1))  # the same by end and width
    split = np.zeros((n_sentences, n_words, n_words + 1), dtype=np.int32)  # width of the left part
    bonus = np.full(n_words + 1, abs(right_bias))  # by width of the part on the favoured side
    bonus[:2] = 0.0
    for width in range(2, n_words + 1):
        starts = np.arange(n_words - width + 1)
        sums = from_start[:, : len(starts), 1:width] + to_end[:, width:, width - 1 : 0 : -1]
        if right_bias:
            sums += bonus[width - 1 : 0 : -1] if right_bias > 0 else bonus[1:width]
        best = sums.max(axis=2) + scores[:, starts, starts + width]
        from_start[:, : len(starts), width] = best
        to_end[:, width:, width] = best
        split[:, : len(starts), width] = sums.argmax(axis=2) + 1
    return [_chooser(widths) for widths in split.tolist()]


def _chooser(widths: list[list[int]]) -> Callable[[int, int], int]:
    return lambda start, end: start + widths[start][end - start]


def _split(words: Sequence[str], choose: Callable[[int, int], int], tags: Sequence[str] | None) -> Tree:
    """The binary tree whose spans (start, end) are split before the word `choose(start, end)`."""
    if not words:
        raise ValueError("a tree needs at least one word")
    if tags is not None and len(tags) != len(words):
        raise ValueError(f"{len(tags)} tags for {len(words)} words")
    parts = [Tree(tag, word=word) for tag, word in zip(tags or [LABEL] * len(words), words, strict=True)]
    if len(parts) == 1:
        return Tree(LABEL, (parts[0],))
    # Children follow their parents in pre-order, so that backwards each part is there when it is needed:
    # `parts` holds the tree that begins at each word.
    for start, middle, _ in reversed(list(_binary_spans(len(words), choose))):
        parts[start] = Tree(LABEL, (parts[start], parts[middle]))
    return parts[0]


def _binary_spans(n_words: int, choose: Callable[[int, int], int]) -> Iterator[tuple[int, int, int]]:
    """Start, split and end of the spans of at least two words, in pre-order."""
    pending = [(0, n_words)]
    while pending:
        start, end = pending.pop()
        if end - start > 1:
            middle = choose(start, end)
            yield start, middle, end
            pending += [(middle, end), (start, middle)]
