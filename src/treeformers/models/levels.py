"""The walk up a batch of trees, shared by every encoder that composes children into their parent.

Shapes: B trees, T words, N nodes of the largest tree, M nodes of the whole batch, K words of the whole batch,
n nodes of a level, R children of a level, D width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.utils.generic import ModelOutput

__all__ = ["Level", "Levels", "SentenceOutput", "cut_words", "pack_words", "span_means"]


_KEYS = {
    "attention_mask",
    "child_rows",
    "leaf_rows",
    "levels",
    "node_rows",
    "parents",
    "pieces",
    "positions",
    "root_rows",
    "words",
}


@dataclass
class SentenceOutput(ModelOutput):
    """What every sentence encoder returns.

    Attributes:
        root: (B, D), the vector of the sentence.
        leaves: (B, T, D), the vectors of the words; zero on padding.
        nodes: (B, N, D), the vectors of the nodes in the order of `tree.spans()`, or of the words of
            dependency trees; zero on padding. None where the encoder sees no tree.
        leaf_attention: (B, T), the share of its parent's attention that each word gets, if asked for.
        node_attention: (B, N), the same for the nodes. 0 at roots, which have no parent, and on padding.
    """

    root: Tensor | None = None
    leaves: Tensor | None = None
    nodes: Tensor | None = None
    leaf_attention: Tensor | None = None
    node_attention: Tensor | None = None


class Level(NamedTuple):
    """Nodes of one height.

    Attributes:
        height: of the nodes, 0 at the leaves.
        nodes: n.
        width: the most children of a node.
        children: (R,), rows of the children.
        parents: (R,), number of each child's parent within the level.
        positions: (R,), number of each child among its siblings.
    """

    height: int
    nodes: int
    width: int
    children: Tensor
    parents: Tensor
    positions: Tensor


class Levels:
    """A plan of `treeformers.trees.levels.level_plan`, ready to be walked.

    Args:
        plan: the plan.
    """

    def __init__(self, plan: Mapping[str, Tensor]) -> None:
        missing = _KEYS - {"attention_mask", "words"} - set(plan)
        if missing:
            raise ValueError(
                f"the plan lacks {', '.join(sorted(missing))}: expected all of level_plan(trees)"
            )
        self._plan = plan
        # The sizes steer the loop, so the host must know them: one transfer a batch.
        levels: list[list[int]] = plan["levels"].tolist()
        pieces: list[list[int]] = plan["pieces"].tolist()
        self._pieces: list[list[tuple[int, int]]] = [[] for _ in levels]
        self._children = [0] * len(levels)
        for below, above, nodes in pieces:
            self._pieces[below].append((above, nodes))
            self._children[above] += nodes
        names = "child_rows", "parents", "positions"
        edges = zip(*(self.by_parent(plan[name]) for name in names), strict=True)
        self._levels = [
            Level(height, nodes, width, *of_level)
            for height, ((nodes, width), of_level) in enumerate(zip(levels, edges, strict=True))
        ]

    def __iter__(self) -> Iterator[Level]:
        return iter(self._levels)

    @property
    def widest(self) -> int:
        """The most children of a node in the batch."""
        return max(level.width for level in self._levels)

    @property
    def leaves(self) -> int:
        """Nodes of height 0."""
        return self._levels[0].nodes

    @property
    def nodes(self) -> int:
        """M."""
        return sum(level.nodes for level in self._levels)

    def split(self, rows: Tensor) -> tuple[Tensor, ...]:
        """What all nodes have, (M, ...), by level; or the leaves alone, as words in constituency trees."""
        sizes = [level.nodes for level in self._levels]
        if len(rows) == self.leaves:
            sizes[1:] = [0] * (len(sizes) - 1)
        return rows.split(sizes)

    def by_parent(self, rows: Tensor) -> tuple[Tensor, ...]:
        """What nodes with a parent have, (M - B, ...) in the order of `child_rows`, by the parent's level."""
        return rows.split(self._children)

    def climb(self, states: tuple[Tensor, ...], compose: Callable[..., tuple[Tensor, ...]]) -> Tensor:
        """Compute the states of all nodes, bottom-up.

        Args:
            states: of the nodes of height 0: one tensor (leaves, D) or several, of widths of their own.
            compose: given a level and, for each of these tensors, the rows of its children (R, D), returns
                those of its nodes (n, D).

        Returns:
            (M + 1, D), of the first of the tensors a row a node, and at the end the row of zeros that padding
            points to.
        """
        done: list[Tensor] = []
        arrived: list[list[tuple[Tensor, ...]]] = [[] for _ in self._levels]
        for number, level in enumerate(self._levels):
            if number:
                states = compose(level, *map(torch.cat, zip(*arrived[number], strict=True)))
                arrived[number].clear()
            pieces = self._pieces[number]
            counts = [count for _, count in pieces]
            # Roots come last, and go nowhere.
            parts = (rows.split([*counts, level.nodes - sum(counts)]) for rows in states)
            for (above, _), *part in zip(pieces, *parts, strict=False):
                arrived[above].append(tuple(part))
            done.append(states[0])
        return torch.cat((*done, done[0].new_zeros(1, done[0].shape[-1])))

    def output(self, table: Tensor, attention: Tensor | None = None) -> SentenceOutput:
        """Cut the table of states (M + 1, D), and of attention (M + 1,), into sentences."""
        leaves, nodes = self._plan["leaf_rows"], self._plan["node_rows"]
        return SentenceOutput(
            root=table[self._plan["root_rows"]],
            leaves=_take(table, leaves),
            nodes=_take(table, nodes),
            leaf_attention=None if attention is None else attention[leaves],
            node_attention=None if attention is None else attention[nodes],
        )


def cut_words(words: Tensor, plan: Mapping[str, Tensor]) -> Tensor:
    """The word vectors (B, T, E) without what stands beyond the longest sentence of the plan.

    Raises:
        ValueError: another batch, or fewer words than in the plan.
    """
    sentences, tokens = plan["attention_mask"].shape
    if words.dim() != 3 or words.shape[0] != sentences or words.shape[1] < tokens:
        raise ValueError(
            f"word vectors of shape {tuple(words.shape)}, but the plan is of {sentences} sentences of up to "
            f"{tokens} words: expected ({sentences}, {tokens}, E)"
        )
    return words[:, :tokens]


def pack_words(words: Tensor, plan: Mapping[str, Tensor]) -> Tensor:
    """The vectors of the words in the order of the rows: (B, T, E) to (K, E); see `cut_words`."""
    return cut_words(words, plan).flatten(0, 1).index_select(0, plan["words"])


def span_means(states: Tensor, spans: Tensor) -> Tensor:
    """Means of the states of words (B, T, D) over half-open spans (B, N, 2): (B, N, D); 0 of empty ones."""
    # In float64, as small numbers are made of differences of large ones.
    sums = F.pad(states.cumsum(1, dtype=torch.float64), (0, 0, 1, 0))
    start, end = spans.unbind(-1)
    rows = torch.arange(len(states), device=states.device)[:, None]
    means = (sums[rows, end] - sums[rows, start]) / (end - start).clamp_min(1)[..., None]
    return means.to(states.dtype)


def _take(table: Tensor, rows: Tensor) -> Tensor:
    return table.index_select(0, rows.flatten()).unflatten(0, rows.shape)
