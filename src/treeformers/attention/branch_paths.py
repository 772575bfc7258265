"""Sums over branches by paths from the root: for trees of any size.

A branch is a path from the root less the path that ends above its node. With k_ij = 1 / (|C_ij| |leaves of
i|), w_j the weight of leaf j, and h_ij the nodes on the branch from i to j,

    N'_i = sum_j k_ij w_j (l_j + path(j)) - (sum_j k_ij w_j) path_above(i) + hierarchical embeddings,

where path sums node values from the root down. Paths are prefix sums in pre-order; the sums over leaves are
one sparse product of P (node, leaf) pairs; the embeddings need scalars alone. Time is O(P D) and memory
O((N+T) D) and O(P) scalars, P being the sum of the lengths of all spans. As small numbers are made of
differences of large ones, it is all done in float64.

Shapes: B trees, T leaves, N nodes, P pairs, H heads, D width of a head, V and K rows of the tables of
vertical and horizontal embeddings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Self

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["BranchPaths", "started_above", "wide"]


def wide(device: torch.device) -> torch.dtype:
    """The precision of the sums."""
    # Apple's devices have no float64.
    return torch.float32 if device.type == "mps" else torch.float64


def started_above(starts: Tensor, first: Tensor, depths: Tensor, leaf_depths: Tensor) -> Tensor:
    """Spectrum (B, N, R + 1) of the number of nodes above each node that start 0, 1, ... leaves before it.

    Args:
        starts: (B, T, R), nodes over each leaf that start 0, 1, ... leaves before it.
        first: (B, N), first leaf of each node.
        depths: (B, N), nodes from the root down to this one.
        leaf_depths: (B, T), nodes over each leaf.
    """
    leaves, reach = starts.shape[1:]
    first = first.clamp_max(leaves - 1)  # on padding there may be none
    counts = starts.gather(1, first[..., None].expand(-1, -1, reach))
    if not reach:
        return counts
    # Nodes over the first leaf of i that start before it all stand above i; those that start with it may
    # stand below.
    level = depths - 1 - leaf_depths.gather(1, first) + counts[..., 0]
    return torch.fft.rfft(torch.cat((level[..., None], counts[..., 1:]), -1), 2 * reach)


class BranchPaths(NamedTuple):
    """What accumulation needs to know about a batch of trees, made once for all layers, heads and steps.

    Leaves and nodes are counted through the batch where a tensor is flat.

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
        """Take over a batch of trees; see `treeformers.attention.accumulation.plan_branches`."""
        precision = wide(tree["spans"].device)
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
        shares = real / ((height + count_leaf) * size.gather(1, node)).clamp_min(1).to(precision)
        firsts = torch.arange(count * max(vertical, 1), device=nodes.device).expand(batch, -1).contiguous()
        height_offsets = torch.searchsorted(key.contiguous(), firsts) + rows * key.shape[1]

        reach = max(0, min(horizontal - 1, leaves)) if count else 0
        steps = torch.arange(reach, device=nodes.device)
        starts = shares.new_zeros(batch, leaves * (reach + 1))
        offset = leaf - start.gather(1, node)
        starts.scatter_add_(1, leaf * (reach + 1) + offset.clamp_max(reach), real.to(precision))
        starts = starts.view(batch, leaves, reach + 1)
        far = (starts[..., reach].gather(1, leaf) - depths.gather(1, node) + 1).clamp_min(0)
        starts = starts[..., :reach]
        window = start[..., None] + steps
        inside = window < end[..., None]
        window = window.clamp_max(leaves - 1)
        window_heights = leaf_depths[rows[..., None], window] - depths[..., None] + 1 + count_leaf
        window_shares = inside / (window_heights * size[..., None]).clamp_min(1).to(precision)
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
            before=started_above(starts, start, depths, leaf_depths),
        )

    @property
    def tokens(self) -> int:
        """T."""
        return self.leaf_parents.shape[1]

    def accumulate(
        self,
        leaves: Tensor,
        nodes: Tensor,
        weights: Tensor,
        vertical: Tensor | None,
        horizontal: Tensor | None,
        by_depth: bool,
    ) -> Tensor:
        """N' (B, N, H, D) in the precision of `wide`; the arguments as in `hierarchical_accumulation`, with
        heads, and the tables in that precision."""
        precision, half = wide(nodes.device), nodes.shape[3] // 2
        values = nodes.masked_fill(~self.nodes[:, None, :, None], 0.0).transpose(1, 2).to(precision)
        if vertical is not None and by_depth:
            at_depth = vertical[self.depths.clamp(1, len(vertical)) - 1]
            values = values + F.pad(at_depth * self.nodes[..., None], (0, half))[:, :, None]
        path = _sum_above(values, self.subtree_ends)
        rows = torch.arange(len(nodes), device=nodes.device)[:, None]
        # From here on what is large is changed in place: it is most of the memory.
        full = path[rows, self.leaf_parents].add_(leaves.transpose(1, 2))  # (B, T, H, D)
        if horizontal is not None:
            full[..., half:] += (self.starts @ horizontal[: self.starts.shape[-1]])[:, :, None]
        by_leaf = weights.to(precision).mT  # (B, T, H)
        result = self._gather((full * by_leaf[..., None]).flatten(2)).unflatten(-1, full.shape[2:])
        result = result.addcmul(self._gather(by_leaf)[..., None], path[:, :-1] - values, value=-1)
        if vertical is not None and not by_depth:
            result[..., :half] += self._vertical(by_leaf, vertical)
        if horizontal is not None:
            result[..., half:] += self._horizontal(by_leaf, horizontal)
        return result

    def _gather(self, values: Tensor, shares: Tensor | None = None, offsets: Tensor | None = None) -> Tensor:
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

    def _vertical(self, weights: Tensor, table: Tensor) -> Tensor:
        """Sum over branches of e^v_1 + ... + e^v_height, weights (B, T, H): (B, N, H, D/2)."""
        levels = len(self.height_offsets) // len(self.offsets)
        by_height = self._gather(weights, offsets=self.height_offsets).unflatten(-1, (levels, -1))
        tall = self._gather(weights, self.tall)
        return by_height.mT @ table[:levels].cumsum(0) + tall[..., None] * table[-1]

    def _horizontal(self, weights: Tensor, table: Tensor) -> Tensor:
        """Sum over branches of e^h, weights (B, T, H), less what `starts` already gave from the root down.

        Above node i and over the leaf o places behind its first, a node that starts d leaves before i has
        index o + d + 1 whatever i: a convolution over o. Beyond the table, one row serves all and they are
        counted.
        """
        far = self._gather(weights, self.far)[..., None] * table[-1]
        reach = self.window.shape[-1]
        if not reach:
            return far
        batch = torch.arange(len(weights), device=weights.device)[:, None, None]
        window = (self.window_shares[..., None] * weights[batch, self.window]).mT  # (B, N, H, K-1)
        spectrum = torch.fft.rfft(window, 2 * reach) * self.before[:, :, None]
        return far - torch.fft.irfft(spectrum, 2 * reach)[..., :reach] @ table[:reach]


def _sum_above(values: Tensor, subtree_ends: Tensor) -> Tensor:
    """Sum over each node and those above it, which begin before it and have not ended; (B, N+1, H, D).

    Behind the last node all have ended, and the sum is 0.
    """
    rows = torch.arange(len(values), device=values.device)[:, None] * (values.shape[1] + 1)
    steps = F.pad(values, (0, 0, 0, 0, 0, 1))
    ended = (rows + subtree_ends).flatten()
    steps.view(-1, *values.shape[2:]).index_add_(0, ended, values.flatten(0, 1), alpha=-1)
    return steps.cumsum(1)
