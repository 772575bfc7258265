"""Trees to a plan for encoders that go bottom-up, level by level.

The height of a node is the length of the longest way down from it; nodes of equal height form a level,
whatever their trees. A node has one parent, so what a level computes is cut into pieces by the level that
reads them and each state is moved once: the plan holds no more than a few numbers a node, and nothing grows
with nodes times levels, however deep the trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from treeformers.trees.tree import DependencyTree, Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

__all__ = ["level_plan"]

_INNER, _WORD, _HIDDEN = range(3)


def level_plan(
    trees: Sequence[Tree] | Sequence[DependencyTree], arity: int | None = None
) -> dict[str, Tensor]:
    """Index tensors for a batch of constituency trees or of dependency trees, of any shapes.

    The M nodes of the batch share one table of rows, ordered by height, and within a level by the height of
    the parent, roots last. Words stand in the first K rows: K = M for dependency trees, and for constituency
    trees, whose words are the leaves, they are the level 0.

    Args:
        trees: one tree an example (B of them): a sentence is one tree, never a forest.
        arity: most children of a node. The last children of a node with more are put under a hidden node,
            over and over; hidden nodes have states, which no index below points to. Constituency trees alone.

    Returns:
        - `attention_mask` (B, T): 1 at the words.
        - `leaf_rows` (B, T): row of each word; M, a row that is not there, on padding.
        - `node_rows` (B, N): row of each node in the order of `tree.spans()` (constituency) or of the words
            (dependencies, N = T); M on padding.
        - `root_rows` (B,): row of each root.
        - `words` (K,): b T + t, which word stands in each of the first K rows.
        - `child_rows`, `parents`, `positions` (M - B,): for every node with a parent, sorted by the parent's
            level and then by row, its row, the number of its parent within that level, and its own among its
            siblings, from 0.
        - `levels` (L, 2): nodes of each level, and the most children of one of them.
        - `pieces` (P, 3): level, level of the parents, number of nodes; in this order.

    Raises:
        ValueError: no trees, another arity than 2 or more, or an arity for dependency trees.
        TypeError: something that is no tree, or constituency and dependency trees in one batch.
    """
    if not trees:
        raise ValueError("expected at least one tree, got none")
    if arity is not None and arity < 2:
        raise ValueError(f"arity is {arity}, expected at least 2")
    heads: list[int] = []  # over the batch; -1 at roots
    kinds: list[int] = []
    sizes: list[int] = []
    for number, tree in enumerate(trees, start=1):
        if not isinstance(tree, type(trees[0])) or not isinstance(tree, Tree | DependencyTree):
            expected = type(trees[0]).__name__ if number > 1 else "Tree or DependencyTree"
            raise TypeError(f"tree {number} of the batch is a {type(tree).__name__}, expected a {expected}")
        before = len(heads)
        if isinstance(tree, Tree):
            _read_constituents(tree, arity, heads, kinds)
        elif arity is not None:
            raise ValueError("arity is for constituency trees: every node of a dependency tree is a word")
        else:
            heads += [head - 1 + before if head else -1 for head in tree.heads]
            kinds += [_WORD] * len(tree)
        sizes.append(len(heads) - before)

    height = np.array(_heights(heads))
    parent, kind = np.array(heads), np.array(kinds)
    of_tree = np.repeat(np.arange(len(sizes)), sizes)
    total, has_parent = len(parent), parent >= 0
    above = np.where(has_parent, height[parent], height.max() + 1)
    order = np.lexsort((above, height))
    row = np.empty(total, dtype=np.int64)
    row[order] = np.arange(total)

    word = np.flatnonzero(kind == _WORD)
    places, counts = _places(of_tree[word], len(sizes))
    tokens = int(counts.max())
    slot = np.zeros(total, dtype=np.int64)
    slot[word] = of_tree[word] * tokens + places

    moved = order[has_parent[order]]
    moved = moved[np.lexsort((row[moved], above[moved]))]
    level_sizes = np.bincount(height)
    starts = level_sizes.cumsum() - level_sizes
    position = np.zeros(total, dtype=np.int64)
    child = np.flatnonzero(has_parent)
    child = child[np.argsort(parent[child], kind="stable")]
    position[child] = _places(parent[child], total)[0]
    widest = np.zeros(len(level_sizes), dtype=np.int64)
    np.maximum.at(widest, above[moved], position[moved] + 1)
    codes, piece_sizes = np.unique(height[moved] * len(level_sizes) + above[moved], return_counts=True)

    node = word if isinstance(trees[0], DependencyTree) else np.flatnonzero(kind == _INNER)
    plan = {
        "attention_mask": (np.arange(tokens) < counts[:, None]).astype(np.int64),
        "leaf_rows": _padded(row[word], of_tree[word], len(sizes), total),
        "node_rows": _padded(row[node], of_tree[node], len(sizes), total),
        "root_rows": row[~has_parent],
        "words": slot[order[: len(word)]],
        "child_rows": row[moved],
        "parents": row[parent[moved]] - starts[above[moved]],
        "positions": position[moved],
        "levels": np.stack((level_sizes, widest), axis=1),
        "pieces": np.stack((*np.divmod(codes, len(level_sizes)), piece_sizes), axis=1),
    }
    from torch import from_numpy

    return {name: from_numpy(np.ascontiguousarray(array, dtype=np.int64)) for name, array in plan.items()}


class _Hidden(Tree):
    """A node over the last children of a node that has too many."""

    __slots__ = ()


def _read_constituents(tree: Tree, arity: int | None, heads: list[int], kinds: list[int]) -> None:
    """Append the number of each node's parent, -1 at the root, and its kind, in pre-order."""
    stack, above = [tree], [-1]
    while stack:
        node = stack.pop()
        children = node.children
        heads.append(above.pop())
        if not children:
            kinds.append(_WORD)
            continue
        kinds.append(_HIDDEN if type(node) is _Hidden else _INNER)
        if arity is not None and len(children) > arity:
            children = (*children[: arity - 1], _Hidden("", children[arity - 1 :]))
        stack += children[::-1]
        above += [len(heads) - 1] * len(children)


def _heights(heads: list[int]) -> list[int]:
    """Heights from the numbers of the parents: a node is done when its last child is."""
    heights, open_children = [0] * len(heads), [0] * len(heads)
    for head in heads:
        if head >= 0:
            open_children[head] += 1
    ready = [node for node, count in enumerate(open_children) if not count]
    while ready:
        node = ready.pop()
        head = heads[node]
        if head >= 0:
            heights[head] = max(heights[head], heights[node] + 1)
            open_children[head] -= 1
            if not open_children[head]:
                ready.append(head)
    return heights


def _places(group: NDArray[np.int64], groups: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Place of each item within its group, and the sizes of the groups, which stand together in order."""
    sizes = np.bincount(group, minlength=groups)
    return np.arange(len(group)) - (sizes.cumsum() - sizes)[group], sizes


def _padded(
    values: NDArray[np.int64], group: NDArray[np.int64], groups: int, padding: int
) -> NDArray[np.int64]:
    places, sizes = _places(group, groups)
    table = np.full((groups, int(sizes.max())), padding)
    table[group, places] = values
    return table
