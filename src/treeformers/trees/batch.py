"""Constituency trees to padded tensors: plan each tree once, collate the plans of a batch.

A plan is a handful of numbers a node, whatever the depth. Only the (node, leaf) pairs of a batch grow with
the depth, and they are listed when the plans are collated. Trees of any shapes go in one batch: a padded node
has an empty span and is in no pair, so nothing computed from the tensors can mix it with a real one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from treeformers.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

__all__ = ["batch_trees", "collate_plans", "join_trees", "plan_tree", "split_words"]

# What a padded entry holds, where that is not 0. No loss counts a label of -100.
_PADDING = {
    "parents": -1,
    "leaf_parents": -1,
    "pair_nodes": -1,
    "pair_leaves": -1,
    "node_labels": -100,
    "leaf_labels": -100,
}


def plan_tree(
    tree: Tree,
    labels: Mapping[str, int] | None = None,
    tags: Mapping[str, int] | None = None,
    unknown: int | None = None,
    unseen: Counter[str] | None = None,
) -> dict[str, NDArray[np.int64]]:
    """What `batch_trees` holds of one tree, without padding and pairs (N its nodes, T its leaves).

    Args:
        tree: the tree.
        labels: id of each constituent label; adds `node_labels`.
        tags: id of each tag; adds `leaf_labels`. The same mapping as `labels` where, as in the Stanford
            Sentiment Treebank, leaves bear labels like any other node.
        unknown: id of labels and tags that are in no mapping.
        unseen: counts them.

    Returns:
        `spans` (N, 2), `parents`, `depths`, `heights`, `subtree_ends` (N,), `leaf_parents` (T,), and with
        the mappings `node_labels` (N,) and `leaf_labels` (T,), as in `batch_trees`.

    Raises:
        ValueError: a label or tag is in no mapping and `unknown` is not given.
    """
    starts: list[int] = []
    parents: list[int] = []
    depths: list[int] = []
    names: list[str] = []
    leaf_parents: list[int] = []
    leaf_names: list[str] = []
    stack = [(tree, -1)]
    while stack:
        item, parent = stack.pop()
        if item.children:
            number = len(starts)
            starts.append(len(leaf_parents))
            parents.append(parent)
            depths.append(depths[parent] + 1 if number else 1)
            names.append(item.label)
            stack.extend([(child, number) for child in reversed(item.children)])
        else:
            leaf_parents.append(parent)
            leaf_names.append(item.label)

    # Children come after their parent, so one pass from the end sums them up.
    leaves, nodes, heights = [0] * len(starts), [1] * len(starts), [1] * len(starts)
    for parent in leaf_parents:
        if parent >= 0:
            leaves[parent] += 1
    for number in range(len(starts) - 1, 0, -1):
        parent = parents[number]
        leaves[parent] += leaves[number]
        nodes[parent] += nodes[number]
        heights[parent] = max(heights[parent], heights[number] + 1)

    start = np.array(starts, dtype=np.int64)
    plan = {
        "spans": np.stack((start, start + np.array(leaves, dtype=np.int64)), axis=1),
        "parents": np.array(parents, dtype=np.int64),
        "depths": np.array(depths, dtype=np.int64),
        "heights": np.array(heights, dtype=np.int64),
        "subtree_ends": np.arange(len(starts)) + np.array(nodes, dtype=np.int64),
        "leaf_parents": np.array(leaf_parents, dtype=np.int64),
    }
    if labels is not None:
        plan["node_labels"] = _ids(names, labels, unknown, unseen, "label")
    if tags is not None:
        plan["leaf_labels"] = _ids(leaf_names, tags, unknown, unseen, "tag")
    return plan


def collate_plans(plans: Sequence[Mapping[str, NDArray[np.int64]]]) -> dict[str, Tensor]:
    """Pad the plans of a batch and list its pairs, see `batch_trees`.

    Raises:
        ValueError: no plans, or plans of which some have labels and some have not.
    """
    if not plans:
        raise ValueError("expected at least one tree, got none")
    names = list(plans[0])
    for number, plan in enumerate(plans):
        if list(plan) != names:
            raise ValueError(
                f"plan {number + 1} of the batch holds {', '.join(plan)}, the first one {', '.join(names)}"
            )
    nodes = np.array([len(plan["spans"]) for plan in plans])
    leaves = np.array([len(plan["leaf_parents"]) for plan in plans])
    batch = {
        "attention_mask": _mask(leaves).astype(np.int64),
        "node_mask": _mask(nodes).astype(np.int64),
    }
    for name in names:
        counts = leaves if name.startswith("leaf_") else nodes
        batch[name] = _padded(np.concatenate([plan[name] for plan in plans]), counts, _PADDING.get(name, 0))

    spans = np.concatenate([plan["spans"] for plan in plans])
    sizes = spans[:, 1] - spans[:, 0]
    pairs = np.add.reduceat(np.append(sizes, 0), nodes.cumsum() - nodes) * (nodes > 0)
    before = sizes.cumsum() - sizes
    numbers = np.arange(len(sizes)) - np.repeat(nodes.cumsum() - nodes, nodes)
    batch["pair_nodes"] = _padded(np.repeat(numbers, sizes), pairs, _PADDING["pair_nodes"])
    pair_leaves = np.arange(sizes.sum()) + np.repeat(spans[:, 0] - before, sizes)
    batch["pair_leaves"] = _padded(pair_leaves, pairs, _PADDING["pair_leaves"])

    from torch import from_numpy

    return {name: from_numpy(array) for name, array in batch.items()}


def batch_trees(
    trees: Sequence[Tree],
    labels: Mapping[str, int] | None = None,
    tags: Mapping[str, int] | None = None,
    unknown: int | None = None,
    unseen: Counter[str] | None = None,
) -> dict[str, Tensor]:
    """A batch of constituency trees as int64 tensors, padded on the right.

    Nodes are numbered in the order of `tree.spans()`: internal nodes in pre-order, unary chains outermost
    first. Leaves are numbered from left to right. A tree that is one leaf has no nodes.

    Args:
        trees: B trees.
        labels: This and the rest as in `plan_tree`.
        tags: Id of each tag.
        unknown: Id of what is in no mapping.
        unseen: Counts it.

    Returns:
        - `attention_mask` (B, T): 1 at leaves.
        - `node_mask` (B, N): 1 at nodes.
        - `spans` (B, N, 2): first leaf of each node, and the one behind its last; (0, 0) on padding.
        - `parents` (B, N), `leaf_parents` (B, T): number of the node above; -1 at the root and on padding.
        - `depths` (B, N): nodes from the root down to this one, both counted: 1 at the root, 0 on padding.
        - `heights` (B, N): edges on the longest way down to a leaf: 1 or more, 0 on padding.
        - `subtree_ends` (B, N): the nodes below node i are i + 1 to subtree_ends[i] - 1; 0 on padding.
        - `pair_nodes`, `pair_leaves` (B, P): every (node, leaf below it), sorted by node, then leaf; P is the
            sum of the lengths of the spans; -1 on padding.
        - `node_labels` (B, N), `leaf_labels` (B, T): ids, with the mappings; -100 on padding.

    Raises:
        ValueError: no trees, or a label or tag is in no mapping and `unknown` is not given.
    """
    return collate_plans([plan_tree(tree, labels, tags, unknown, unseen) for tree in trees])


def join_trees(trees: Sequence[Tree], label: str = "ROOT") -> Tree:
    """Several sentences as one document: a root over their trees (Nguyen et al. 2020, Section 7.4).

    A single tree gets the root too, so that every document ends in the same label.

    Raises:
        ValueError: no trees.
    """
    if not trees:
        raise ValueError("a document needs at least one tree")
    return Tree(label, tuple(trees))


def split_words(tree: Tree, pieces: Sequence[Sequence[str]]) -> Tree:
    """Split words into subwords (Nguyen et al. 2020, Fig. 7).

    A word of several pieces becomes a node with the word's tag over one leaf a piece, whose tag is that of
    the word with "-BPE" behind it; all labels above stay, unary ones too. A word of one piece stays a leaf
    and takes the piece as its word.

    Args:
        tree: the tree.
        pieces: the pieces of each word, from left to right.

    Raises:
        ValueError: pieces for another number of words, or a word without pieces.
    """
    words = tree.words
    if len(pieces) != len(words):
        raise ValueError(f"expected the pieces of {len(words)} words, got those of {len(pieces)}")
    for word, parts in zip(words, pieces, strict=True):
        if not parts:
            raise ValueError(f"the word {word!r} has no pieces")
    # A fold visits the leaves from right to left.
    remaining = iter(reversed(pieces))

    def rebuild(node: Tree, children: list[Tree]) -> Tree:
        if node.children:
            return Tree(node.label, tuple(children))
        parts = next(remaining)
        if len(parts) == 1:
            return Tree(node.label, word=parts[0])
        return Tree(node.label, tuple(Tree(f"{node.label}-BPE", word=part) for part in parts))

    return tree.fold(rebuild)


def _ids(
    names: Sequence[str],
    ids: Mapping[str, int],
    unknown: int | None,
    unseen: Counter[str] | None,
    kind: str,
) -> NDArray[np.int64]:
    missing = [name for name in names if name not in ids]
    if missing and unknown is None:
        known = ", ".join(sorted(ids)[:10]) + (", ..." if len(ids) > 10 else "")
        raise ValueError(
            f"{kind} {missing[0]!r} has no id and no id for unknown ones is given; known: {known}"
        )
    if unseen is not None:
        unseen.update(missing)
    return np.array([ids.get(name, unknown) for name in names], dtype=np.int64)


def _mask(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.arange(counts.max()) < counts[:, None]


def _padded(values: NDArray[np.int64], counts: NDArray[np.int64], padding: int) -> NDArray[np.int64]:
    """Rows of `counts` values each, padded to the longest."""
    table = np.full((len(counts), counts.max(), *values.shape[1:]), padding, dtype=np.int64)
    table[_mask(counts)] = values
    return table
