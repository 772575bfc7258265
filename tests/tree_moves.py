"""All moves on a tree."""

from __future__ import annotations

from collections.abc import Iterator

from treeformers.trees.moves import MOVES, Move, Selection, apply_move, node_at
from treeformers.trees.tree import Tree


def selections(tree: Tree) -> Iterator[Selection]:
    """Every node, and every run of two or more sisters."""
    stack: list[tuple[int, ...]] = [()]
    while stack:
        path = stack.pop()
        yield Selection(path)
        count = len(node_at(tree, path).children)
        stack.extend((*path, index) for index in range(count))
        yield from (Selection(path, a, b) for a in range(count) for b in range(a + 2, count + 1))


def moves(
    selection: Selection, labels: tuple[str, ...] = ("NEW",), names: tuple[str, ...] = MOVES
) -> Iterator[Move]:
    """Every move on a selection, with every place and these labels, the impossible ones included."""
    for name in names:
        for label in labels if name in ("wrap", "relabel", "retag") else (None,):
            for at in range(4) if name in ("split", "split_word") else (None,):
                yield Move(name, *selection, label=label, at=at)


def after(tree: Tree, move: Move) -> Tree | None:
    try:
        return apply_move(tree, move).tree
    except ValueError as error:
        assert "\n" not in str(error)
        return None
