"""Sums over branches by matrices of scalars: the quicker way for trees of a sentence's size.

With a_ij = w_j / (|C_ij| |leaves of i|) where leaf j is below node i, and 0 elsewhere,

    N'_i = sum_j a_ij l_j + sum_m (sum_{j below m} a_ij) n_m + hierarchical embeddings,

m being the nodes from i down. Both matrices hold a scalar a cell, as those of the attention around them;
their product with the values is all that has the width of vectors. The embeddings are weighted by the same
scalars, as often as an index of Eqs. 9-10 occurs on the branch from i to j. Time is O(N (N+T) D) and memory
O(N (N+T)) scalars. It is done in float64, as by `treeformers.attention.branch_paths`.

Shapes: B trees, T leaves, N nodes, H heads, D width of a head, V and K rows of the tables of vertical and
horizontal embeddings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from treeformers.attention.branch_paths import started_above, wide

__all__ = ["BranchMatrices"]


class BranchMatrices(NamedTuple):
    """What accumulation needs to know about a batch of trees, made once for all layers, heads and steps.

    Attributes:
        nodes: (B, N) bool, False on padding.
        leaves: (B, T) bool, False where no node stands over the leaf, as on padding.
        depths: (B, N), nodes from the root down to this one.
        below: (B, N, N), 1 where the second node stands below the first, or is it.
        covered: (B, N, T), 1 where the leaf stands below the node.
        shares: (B, N, T), 1 / (|C_ij| |leaves of i|) of Eqs. 6-7, 0 where the leaf is not below the node.
        heights: (B, N, T), nodes on the branch less one, V - 1 at most.
        tall: (B, N, T), nodes on the branch beyond height V; None where no branch is as high.
        starts: (B, T, R), nodes over each leaf that start 0, 1, ... leaves before it; R is K - 1 or T.
        before: (B, N, R + 1), spectrum of the number of nodes above each node that start 0, 1, ... leaves
            before it.
        window: (B, N, R), the leaf so many places behind the first one of each node.
        inside: (B, N, R), 1 where that leaf stands below the node.
        far: (B, N, T), nodes on the branch that start K - 1 leaves or more before the leaf; None where there
            cannot be any.
    """

    nodes: Tensor
    leaves: Tensor
    depths: Tensor
    below: Tensor
    covered: Tensor
    shares: Tensor
    heights: Tensor
    tall: Tensor | None
    starts: Tensor
    before: Tensor
    window: Tensor
    inside: Tensor
    far: Tensor | None

    @classmethod
    def of(
        cls, tree: Mapping[str, Tensor], vertical: int = 0, horizontal: int = 0, count_leaf: bool = True
    ) -> Self:
        """Take over a batch of trees; see `treeformers.attention.accumulation.plan_branches`."""
        nodes, depths, parents = tree["node_mask"].bool(), tree["depths"], tree["leaf_parents"]
        precision = wide(nodes.device)
        (batch, count), leaves = nodes.shape, parents.shape[1]
        start, end = tree["spans"].unbind(-1)
        number = torch.arange(count, device=nodes.device)
        place = torch.arange(leaves, device=nodes.device)
        below = (number >= number[:, None]) & (number < tree["subtree_ends"][..., None]) & nodes[..., None]
        covered = (place >= start[..., None]) & (place < end[..., None]) & nodes[..., None]
        leaf_depths = F.pad(depths, (0, 1)).gather(1, torch.where(parents < 0, count, parents))
        heights = (leaf_depths[:, None] - depths[..., None] + 1).clamp_min(1)
        shares = covered / ((heights + count_leaf) * (end - start)[..., None]).clamp_min(1).to(precision)

        reach = min(max(horizontal - 1, 0), leaves) if count else 0
        steps = torch.arange(reach, device=nodes.device)
        first = start.clamp_max(leaves - 1)
        # (B, T, T): over the second leaf, the nodes that start with the first.
        opened = shares.new_zeros(batch, leaves, leaves)
        opened.scatter_add_(1, first[..., None].expand_as(covered), covered.to(precision))
        origin = place[:, None] - steps
        starts = opened.mT.gather(2, origin.clamp_min(0).expand(batch, -1, -1)) * (origin >= 0)
        late = leaf_depths - starts.sum(-1)  # nodes over each leaf that start earlier, the topmost ones
        window = first[..., None] + steps
        return cls(
            nodes=nodes,
            leaves=covered.any(1),
            depths=depths,
            below=below.to(precision),
            covered=covered.to(precision),
            shares=shares,
            heights=heights.clamp_max(max(vertical, 1)) - 1,
            tall=(heights - vertical).clamp_min(0).to(precision) if count > vertical else None,
            starts=starts,
            before=started_above(starts, start, depths, leaf_depths),
            window=window.clamp_max(leaves - 1),
            inside=(window < end[..., None]).to(precision),
            far=(late[:, None] - depths[..., None] + 1).clamp_min(0) if leaves > reach else None,
        )

    @property
    def tokens(self) -> int:
        """T."""
        return self.leaves.shape[1]

    def accumulate(
        self,
        leaves: Tensor,
        nodes: Tensor,
        weights: Tensor,
        vertical: Tensor | None,
        horizontal: Tensor | None,
        by_depth: bool,
    ) -> Tensor:
        """N', see `BranchPaths.accumulate`."""
        real = torch.cat((self.nodes, self.leaves), 1)[:, None, :, None]
        values = torch.cat((nodes, leaves), 2).to(self.shares.dtype).masked_fill(~real, 0.0)
        # The weight of each leaf, and of each node, in N'.
        of_leaf = self.shares[:, None] * weights.masked_fill(~self.leaves[:, None], 0.0)[:, :, None]
        of_node = (of_leaf @ self.covered.mT[:, None]) * self.below[:, None]
        both = torch.cat((of_node, of_leaf), -1)
        if both.shape[1] == 1:  # the heads share it: one product for all
            product = both[:, 0] @ values.transpose(1, 2).flatten(2)
            result = product.unflatten(-1, (values.shape[1], values.shape[3]))
        else:
            result = (both @ values).transpose(1, 2)
        halves = [result.new_zeros(())] * 2
        if vertical is not None:
            halves[0] = self._by_depth(of_node, vertical) if by_depth else self._by_height(of_leaf, vertical)
        if horizontal is not None:
            halves[1] = self._by_place(of_leaf, horizontal)
        if vertical is not None or horizontal is not None:
            result = result + torch.cat(torch.broadcast_tensors(*halves), -1).transpose(1, 2)
        return result

    def _by_depth(self, of_node: Tensor, table: Tensor) -> Tensor:
        return of_node @ table[self.depths.clamp(1, len(table)) - 1][:, None]

    def _by_height(self, of_leaf: Tensor, table: Tensor) -> Tensor:
        """Sum over branches of e^v_1 + ... + e^v_height: (B, H, N, D/2)."""
        levels = min(len(table), self.nodes.shape[1])
        heights = self.heights[:, None].expand(of_leaf.shape)
        by_height = of_leaf.new_zeros(*of_leaf.shape[:3], levels).scatter_add(3, heights, of_leaf)
        found = by_height @ table[:levels].cumsum(0)
        return found if self.tall is None else found + _counted(of_leaf, self.tall) * table[-1]

    def _by_place(self, of_leaf: Tensor, table: Tensor) -> Tensor:
        """Sum over branches of e^h: that of the whole path to each leaf, less that of the nodes above.

        Above node i and over the leaf o places behind its first, a node that starts d leaves before i has
        index o + d + 1 whatever i: a convolution over o. Beyond the table, one row serves all.
        """
        reach = self.window.shape[-1]
        found = of_leaf @ self.starts[:, None]
        if reach:
            window = self.window[:, None].expand(-1, of_leaf.shape[1], -1, -1)
            spectrum = torch.fft.rfft(of_leaf.gather(3, window) * self.inside[:, None], 2 * reach)
            found = found - torch.fft.irfft(spectrum * self.before[:, None], 2 * reach)[..., :reach]
        found = found @ table[:reach]
        return found if self.far is None else found + _counted(of_leaf, self.far) * table[-1]


def _counted(of_leaf: Tensor, counts: Tensor) -> Tensor:
    """(B, H, N, 1), counts (B, N, T) of one row of a table."""
    return (of_leaf * counts[:, None]).sum(-1, keepdim=True)
