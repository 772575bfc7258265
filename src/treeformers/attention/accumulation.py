"""Tree attention with hierarchical accumulation (Nguyen et al. 2020): exact, without a tensor of branches.

The paper builds a vector for every (node, leaf), each the mean over the branch between the two. But what
comes out is linear in the values, and a branch is a path from the root less the path that ends above the
node. With k_ij = 1 / (|C_ij| |leaves of i|), w_j the weight of leaf j, and h_ij the nodes on the branch from
i to j,

    N'_i = sum_j k_ij w_j (l_j + path(j)) - (sum_j k_ij w_j) path_above(i) + hierarchical embeddings,

where path sums node values from the root down. Paths are prefix sums in pre-order; the sums over leaves are
one sparse product of P (node, leaf) pairs; the embeddings need scalars alone. Time is O(P D) and memory
O((N+T) D) and O(P) scalars, P being the sum of the lengths of all spans. As small numbers are made of
differences of large ones, it is all done in float64, and given back in the precision of the values.

Shapes: B trees, T leaves, N nodes, P pairs, H heads, D width.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = [
    "AccumulationMemory",
    "AccumulationSelfAttention",
    "Branches",
    "HierarchicalAccumulation",
    "LeafWeights",
    "attend",
    "hierarchical_accumulation",
    "subtree_mask",
]


_PAIRS = ("pair_nodes", "pair_leaves")


class Branches(NamedTuple):
    """What accumulation needs to know about a batch of trees, made once for all layers, heads and steps.

    Leaves and nodes are counted through the batch where a tensor is flat. `depths` and `counts` count from 1.

    Attributes:
        nodes: (B, N) bool, False on padding.
        depths: (B, N), nodes from the root down to this one.
        subtree_ends: (B, N), first node behind the subtree.
        leaf_parents: (B, T), N where there is none.
        leaves: (B P,), the leaf of each pair, sorted by node, then by height.
        offsets: (B N,), first pair of each node.
        height_offsets: (B N V,), first pair of each node and clipped height.
        shares: (B P,), k_ij of Eqs. 6-7, 0 on padding.
        tall: (B P,), k_ij times the number of nodes on the branch beyond height V.
        far: (B P,), k_ij times the number of nodes on the branch that start K - 1 leaves or more before the
            leaf.
        starts: (B, T, K-1), nodes over each leaf that start 0, 1, ... leaves before it.
        window: (B, N, K-1), the leaf so many places behind the first one of each node.
        window_shares: (B, N, K-1), its k_ij, 0 behind the last leaf of the node.
        before: (B, N, K), spectrum of the number of nodes above each node that start 0, 1, ... leaves before.
    """

    nodes: Tensor
    depths: Tensor
    subtree_ends: Tensor
    leaf_parents: Tensor
    leaves: Tensor
    offsets: Tensor
    height_offsets: Tensor
    shares: Tensor
    tall: Tensor
    far: Tensor
    starts: Tensor
    window: Tensor
    window_shares: Tensor
    before: Tensor

    @classmethod
    def of(
        cls, tree: Mapping[str, Tensor], vertical: int = 0, horizontal: int = 0, count_leaf: bool = True
    ) -> Self:
        """Take over a batch of trees.

        Args:
            tree: of `treeformers.trees.batch.batch_trees`.
            vertical: rows of the table of vertical embeddings; 0 for none, or if they count depths.
            horizontal: rows K of the table of horizontal embeddings; 0 for none.
            count_leaf: whether the leaf counts in |C_ij|, see `hierarchical_accumulation`.
        """
        _require(tree, "node_mask", "spans", "depths", "subtree_ends", "leaf_parents", *_PAIRS)
        wide = _wide(tree["spans"].device)
        nodes, depths, leaf_parents = tree["node_mask"].bool(), tree["depths"], tree["leaf_parents"]
        (batch, count), leaves = nodes.shape, leaf_parents.shape[1]
        rows = torch.arange(batch, device=nodes.device)[:, None]
        start, end = tree["spans"].unbind(-1)
        size = end - start
        parents = torch.where(leaf_parents < 0, count, leaf_parents)
        leaf_depths = F.pad(depths, (0, 1)).gather(1, parents)

        real, node, leaf = tree["pair_nodes"] >= 0, tree["pair_nodes"], tree["pair_leaves"].clamp_min(0)
        # A pair that pads stands behind the others, in no node or, with share 0, in the last.
        height = leaf_depths.gather(1, leaf) - depths.gather(1, node.clamp_min(0)) + 1
        vertical = min(vertical, count)
        key = torch.where(real, node * max(vertical, 1), count * max(vertical, 1))
        if vertical:
            key = key + (height.clamp(1, vertical) - 1) * real
            key, order = key.sort(dim=1, stable=True)
            real, node, leaf, height = (x.gather(1, order) for x in (real, node, leaf, height))
        node = node.clamp_min(0)
        shares = real / ((height + count_leaf) * size.gather(1, node)).clamp_min(1).to(wide)
        firsts = torch.arange(count * max(vertical, 1), device=nodes.device).expand(batch, -1).contiguous()
        height_offsets = torch.searchsorted(key.contiguous(), firsts) + rows * key.shape[1]

        reach = max(0, min(horizontal - 1, leaves)) if count else 0
        steps = torch.arange(reach, device=nodes.device)
        starts = shares.new_zeros(batch, leaves * (reach + 1))
        offset = leaf - start.gather(1, node)
        starts.scatter_add_(1, leaf * (reach + 1) + offset.clamp_max(reach), real.to(wide))
        starts = starts.view(batch, leaves, reach + 1)
        far = (starts[..., reach].gather(1, leaf) - depths.gather(1, node) + 1).clamp_min(0)
        starts = starts[..., :reach]
        window = start[..., None] + steps
        inside = window < end[..., None]
        window = window.clamp_max(leaves - 1)
        window_heights = leaf_depths[rows[..., None], window] - depths[..., None] + 1 + count_leaf
        window_shares = inside / (window_heights * size[..., None]).clamp_min(1).to(wide)
        # Nodes over the first leaf of i that start before it all stand above i; those that start with it may
        # stand below.
        first = start.clamp_max(leaves - 1)
        before = starts[rows, first]
        total = leaf_depths.gather(1, first)
        if reach:
            above = depths - 1 - total + before[..., 0]
            before = torch.cat((above[..., None], before[..., 1:]), -1)
            before = torch.fft.rfft(before, 2 * reach)
        return cls(
            nodes=nodes,
            depths=depths,
            subtree_ends=tree["subtree_ends"],
            leaf_parents=parents,
            leaves=(leaf + rows * leaves).flatten(),
            offsets=height_offsets[:, :: max(vertical, 1)].flatten(),
            height_offsets=height_offsets.flatten(),
            shares=shares.flatten(),
            tall=(shares * (height - vertical).clamp_min(0)).flatten(),
            far=(shares * far).flatten(),
            starts=starts,
            window=window,
            window_shares=window_shares,
            before=before,
        )

    def gather(self, values: Tensor, shares: Tensor | None = None, offsets: Tensor | None = None) -> Tensor:
        """Sum `values` (B, T, C) of the leaves of each node, times the shares of the pairs: (B, N, C)."""
        batch, count = self.nodes.shape
        sums = F.embedding_bag(
            self.leaves,
            values.flatten(0, 1),
            self.offsets if offsets is None else offsets,
            mode="sum",
            per_sample_weights=(self.shares if shares is None else shares).to(values.dtype),
        )
        return sums.view(batch, count, -1)


def hierarchical_accumulation(
    leaves: Tensor,
    nodes: Tensor,
    weights: Tensor,
    tree: Mapping[str, Tensor] | Branches,
    vertical: Tensor | None = None,
    horizontal: Tensor | None = None,
    count_leaf: bool = True,
    *,
    vertical_index: Literal["height", "depth"] = "height",
) -> Tensor:
    """The values N' of the nodes, made of all that stands below them (Nguyen et al. 2020, Eqs. 5-10).

    Eq. 6 is ambiguous. A branch holds the nodes between node i and leaf j, as the text says, not all that the
    set of the formula names; equal vectors count each; and it is 0 where leaf j is not below i, not where the
    sum happens to vanish.

    Args:
        leaves: Values of the leaves (B, T, D), or (B, H, T, D) with heads, D then being the width of a head.
        nodes: Values of the nodes (B, N, D) or (B, H, N, D), in the order of `tree.spans()`.
        weights: w of Eq. 7 (B, T), or one a head (B, H, T).
        tree: `treeformers.trees.batch.batch_trees(trees)`, or `Branches` made of it for several calls, with
            the same `count_leaf` and the sizes of the tables.
        vertical: Table of e^v of Eq. 9 (V, D/2). Row min(x, V) - 1 is added at x.
        horizontal: Table of e^h (K, D/2), likewise. It fills the second half of the width.
        count_leaf: Whether the leaf counts in |C_ij|, as in the paper; in its released code it does not.
        vertical_index: What x counts for e^v: "height" the nodes from the leaf up to the node, as in the
            paper, "depth" those from the root down to it, as in the released code.

    Returns:
        N' (B, N, D) or (B, H, N, D) in the precision of `nodes`; 0 at padding.

    Raises:
        ValueError: shapes that do not fit each other or the tree.
    """
    heads = leaves.dim() == 4
    if not heads:
        leaves, nodes = leaves[:, None], nodes[:, None]
    if weights.dim() == 2:
        weights = weights[:, None]
    if not isinstance(tree, Branches):
        levels = 0 if vertical is None or vertical_index == "depth" else len(vertical)
        tree = Branches.of(tree, levels, 0 if horizontal is None else len(horizontal), count_leaf)
    _check_shapes(leaves, nodes, weights, tree, vertical, horizontal)
    if nodes.shape[2] == 0:
        return nodes if heads else nodes[:, 0]

    wide, half = _wide(nodes.device), nodes.shape[3] // 2
    values = nodes.masked_fill(~tree.nodes[:, None, :, None], 0.0).transpose(1, 2).to(wide)  # (B, N, H, D)
    if vertical is not None and vertical_index == "depth":
        at_depth = vertical.to(wide)[tree.depths.clamp(1, len(vertical)) - 1]
        values = values + F.pad(at_depth * tree.nodes[..., None], (0, half))[:, :, None]
    path = _sum_above(values, tree.subtree_ends)
    rows = torch.arange(len(nodes), device=nodes.device)[:, None]
    # From here on what is large is changed in place: it is most of the memory.
    full = path[rows, tree.leaf_parents].add_(leaves.transpose(1, 2))  # (B, T, H, D)
    if horizontal is not None:
        horizontal = horizontal.to(wide)
        full[..., half:] += (tree.starts @ horizontal[: tree.starts.shape[-1]])[:, :, None]
    by_leaf = weights.to(wide).mT  # (B, T, H)
    result = tree.gather((full * by_leaf[..., None]).flatten(2)).unflatten(-1, full.shape[2:])
    result = result.addcmul(tree.gather(by_leaf)[..., None], path[:, :-1] - values, value=-1)
    if vertical is not None and vertical_index == "height":
        result[..., :half] += _vertical(tree, by_leaf, vertical.to(wide))
    if horizontal is not None:
        result[..., half:] += _horizontal(tree, by_leaf, horizontal)
    result = result.to(nodes.dtype).transpose(1, 2)
    return result if heads else result[:, 0]


def subtree_mask(tree: Mapping[str, Tensor]) -> Tensor:
    """Who may attend to whom: nodes to what stands below them and to themselves, leaves to leaves (Eq. 11).

    Args:
        tree: `treeformers.trees.batch.batch_trees(trees)`.

    Returns:
        (B, N+T, N+T) bool, queries by keys, nodes before leaves; True = may attend. Rows and columns of
        padding are False.
    """
    _require(tree, "attention_mask", "node_mask", "spans", "subtree_ends")
    nodes, leaves = tree["node_mask"].bool(), tree["attention_mask"].bool()
    number = torch.arange(nodes.shape[1], device=nodes.device)
    place = torch.arange(leaves.shape[1], device=leaves.device)
    start, end = tree["spans"][..., None].unbind(2)
    below = (number >= number[:, None]) & (number < tree["subtree_ends"][..., None]) & nodes[..., None]
    covered = (place >= start) & (place < end)
    to_nodes = F.pad(below, (0, 0, 0, leaves.shape[1]))
    to_leaves = torch.cat((covered, leaves[:, None] & leaves[..., None]), 1)
    return torch.cat((to_nodes, to_leaves), 2)


def attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, dropout_p: float = 0.0, eager: bool = False
) -> tuple[Tensor, Tensor | None]:
    """Softmax attention (Eq. 1), by torch's fused kernel unless the weights are wanted.

    Args:
        q: Queries (B, H, S, D/H).
        k: Keys (B, H, M, D/H).
        v: Values (B, H, M, D/H).
        mask: True where a query may attend, broadcast to (B, H, S, M). Every query needs a key.
        dropout_p: Dropout of the weights.
        eager: Form the weights.

    Returns:
        The attended values (B, H, S, D/H), and the weights (B, H, S, M) before dropout if eager.
    """
    if not eager:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout_p), None
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1, dtype=torch.promote_types(scores.dtype, torch.float32))
    return F.dropout(weights, dropout_p).to(v.dtype) @ v, weights


class LeafWeights(nn.Linear):
    """w = L u: the weight of each leaf in the nodes above it (Eqs. 16 and 23).

    It starts at a standard deviation of 1 for normalised states; the paper is silent about it.
    """

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=self.in_features**-0.5)
        if self.bias is not None:
            nn.init.zeros_(self.bias)


class HierarchicalAccumulation(nn.Module):
    """The module that makes node values: leaf weights and hierarchical embeddings (Eqs. 16 and 23).

    As in the paper, heads share one vector u and the embeddings; with tables of 50 and 100 rows, six layers
    of encoder and decoder and D/H = 64 that is the 63,744 additional parameters of Table 5. The released code
    has one u and a bias for each head, `weight_per_head=True`.

    Args:
        width: D.
        heads: H; D/H is even.
        vertical_size: Rows of the table e^v; 0 for no hierarchical embeddings.
        horizontal_size: Rows of the table e^h; 0 for none.
        vertical_index: This and the next as in `hierarchical_accumulation`.
        count_leaf: Whether the leaf counts in |C_ij|.
        weight_per_head: One vector u and a bias for each head.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        vertical_size: int = 100,
        horizontal_size: int = 100,
        vertical_index: Literal["height", "depth"] = "height",
        count_leaf: bool = True,
        weight_per_head: bool = False,
    ) -> None:
        super().__init__()
        self.count_leaf = count_leaf
        self.vertical_index = vertical_index
        half = width // heads // 2
        self.leaf_weights = LeafWeights(width, heads if weight_per_head else 1, bias=weight_per_head)
        self.vertical = nn.Embedding(vertical_size, half) if vertical_size else None
        self.horizontal = nn.Embedding(horizontal_size, half) if horizontal_size else None

    def branches(self, tree: Mapping[str, Tensor]) -> Branches:
        """The plan of a batch for this module and all of its sizes."""
        levels = self.vertical.num_embeddings if self.vertical and self.vertical_index == "height" else 0
        reach = self.horizontal.num_embeddings if self.horizontal else 0
        return Branches.of(tree, levels, reach, self.count_leaf)

    def forward(self, states: Tensor, values: Tensor, branches: Branches) -> Tensor:
        """Values of the nodes and the leaves.

        Args:
            states: What the layer reads (B, N+T, D), nodes before leaves.
            values: Their projection (B, H, N+T, D/H).
            branches: The plan of the batch.

        Returns:
            [N'; L W^V] (B, H, N+T, D/H).
        """
        count = branches.nodes.shape[1]
        weights = self.leaf_weights(states[:, count:]).mT
        nodes = hierarchical_accumulation(
            values[:, :, count:],
            values[:, :, :count],
            weights,
            branches,
            None if self.vertical is None else self.vertical.weight,
            None if self.horizontal is None else self.horizontal.weight,
            self.count_leaf,
            vertical_index=self.vertical_index,
        )
        return torch.cat((nodes, values[:, :, count:]), 2)


class AccumulationSelfAttention(nn.Module):
    """Self-attention over the nodes and leaves of trees, with heads (Eqs. 12-20).

    Args:
        width: D.
        heads: H.
        dropout: Of the attention weights.
        accumulation: Makes the values of the nodes; none for usual attention.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        dropout: float = 0.0,
        accumulation: HierarchicalAccumulation | None = None,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.query_key_value = nn.Linear(width, 3 * width)
        self.accumulation = accumulation
        self.output = nn.Linear(width, width)

    def forward(
        self,
        hidden: Tensor,
        branches: Branches | None = None,
        mask: Tensor | None = None,
        eager: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend.

        Args:
            hidden: (B, N+T, D), nodes before leaves.
            branches: The plan of the batch, where values are accumulated.
            mask: True where a query may attend, broadcast to (B, H, N+T, N+T); every query needs a key.
            eager: Form the weights.

        Returns:
            (B, N+T, D), and the weights (B, H, N+T, N+T) if eager.
        """
        q, k, v = self.query_key_value(hidden).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        if self.accumulation is not None and branches is not None:
            v = self.accumulation(hidden, v, branches)
        context, weights = attend(q, k, v, mask, self.dropout if self.training else 0.0, eager)
        return self.output(context.transpose(1, 2).flatten(2)), weights


class AccumulationMemory(nn.Module):
    """What the cross-attention of one decoder layer reads: keys and accumulated values (Eqs. 21-24).

    It depends on the source alone, so it is made once a sentence and not once a generated token.

    Args:
        width: D.
        heads: H.
        accumulation: Makes the values of the nodes; none for usual attention.
    """

    def __init__(self, width: int, heads: int, accumulation: HierarchicalAccumulation | None = None) -> None:
        super().__init__()
        self.heads = heads
        self.key_value = nn.Linear(width, 2 * width)
        self.accumulation = accumulation

    def forward(self, states: Tensor, branches: Branches | None = None) -> tuple[Tensor, Tensor]:
        """Keys and values (B, H, N+T, D/H) of the encoder's states (B, N+T, D), nodes before leaves."""
        k, v = self.key_value(states).unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)
        if self.accumulation is not None and branches is not None:
            v = self.accumulation(states, v, branches)
        return k, v


def _wide(device: torch.device) -> torch.dtype:
    # Apple's devices have no float64.
    return torch.float32 if device.type == "mps" else torch.float64


def _sum_above(values: Tensor, subtree_ends: Tensor) -> Tensor:
    """Sum over each node and those above it, which begin before it and have not ended; (B, N+1, H, D).

    Behind the last node all have ended, and the sum is 0.
    """
    rows = torch.arange(len(values), device=values.device)[:, None] * (values.shape[1] + 1)
    steps = F.pad(values, (0, 0, 0, 0, 0, 1))
    ended = (rows + subtree_ends).flatten()
    steps.view(-1, *values.shape[2:]).index_add_(0, ended, values.flatten(0, 1), alpha=-1)
    return steps.cumsum(1)


def _vertical(branches: Branches, weights: Tensor, table: Tensor) -> Tensor:
    """Sum over branches of e^v_1 + ... + e^v_height, weights (B, T, H): (B, N, H, D/2)."""
    levels = len(branches.height_offsets) // len(branches.offsets)
    by_height = branches.gather(weights, offsets=branches.height_offsets).unflatten(-1, (levels, -1))
    tall = branches.gather(weights, branches.tall)
    return by_height.mT @ table[:levels].cumsum(0) + tall[..., None] * table[-1]


def _horizontal(branches: Branches, weights: Tensor, table: Tensor) -> Tensor:
    """Sum over branches of e^h, weights (B, T, H), less what `starts` already gave from the root down.

    Above node i and over the leaf o places behind its first, a node that starts d leaves before i has index
    o + d + 1 whatever i: a convolution over o. Beyond the table, one row serves all and they are counted.
    """
    far = branches.gather(weights, branches.far)[..., None] * table[-1]
    reach = branches.window.shape[-1]
    if not reach:
        return far
    batch = torch.arange(len(weights), device=weights.device)[:, None, None]
    window = (branches.window_shares[..., None] * weights[batch, branches.window]).mT  # (B, N, H, K-1)
    spectrum = torch.fft.rfft(window, 2 * reach) * branches.before[:, :, None]
    return far - torch.fft.irfft(spectrum, 2 * reach)[..., :reach] @ table[:reach]


def _require(tree: Mapping[str, Tensor], *names: str) -> None:
    missing = [name for name in names if name not in tree]
    if missing:
        raise ValueError(f"the batch lacks {', '.join(missing)}: expected what batch_trees(trees) returns")


def _check_shapes(
    leaves: Tensor,
    nodes: Tensor,
    weights: Tensor,
    branches: Branches,
    vertical: Tensor | None,
    horizontal: Tensor | None,
) -> None:
    (batch, count), tokens = branches.nodes.shape, branches.leaf_parents.shape[1]
    given = f"leaves {tuple(leaves.shape)}, nodes {tuple(nodes.shape)}, weights {tuple(weights.shape)}"
    heads, width = leaves.shape[1], leaves.shape[3]
    if (
        leaves.shape != (batch, heads, tokens, width)
        or nodes.shape != (batch, heads, count, width)
        or weights.shape not in {(batch, heads, tokens), (batch, 1, tokens)}
    ):
        raise ValueError(f"{given} (B, H, ...) do not fit {batch} trees of {tokens} leaves and {count} nodes")
    for name, table in (("vertical", vertical), ("horizontal", horizontal)):
        if table is not None and (table.dim() != 2 or 2 * table.shape[1] != width or not len(table)):
            raise ValueError(
                f"the {name} table has shape {tuple(table.shape)}, expected (rows, {width / 2:g})"
            )
