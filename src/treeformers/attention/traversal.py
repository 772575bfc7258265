"""Attention as a composition function (Ahmed et al. 2019): the vectors of a node's children to its own.

The rows x of one node are the vectors of its children, for a dependency tree with the word of the node itself
before them. Every map but the attention treats each row alone, so nodes with any number of rows are composed
together without computing on padding: the rows of all nodes stand in one matrix, and only queries, keys and
values are padded. Shapes: N nodes, C rows of the widest node, R rows of all nodes, H heads or branches, D
width, F width between the two convolutions.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = [
    "BranchAttention",
    "XavierLinear",
    "attend",
    "branch_outputs",
    "element_sum",
    "position_wise",
    "released_branch_outputs",
    "released_norm",
    "table_size",
]


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    over: Literal["keys", "queries"] = "keys",
) -> tuple[Tensor, Tensor]:
    """Scaled dot-product attention (Eq. 3).

    Args:
        query: (N, H, C, D/H).
        key: (N, H, C, D/H).
        value: (N, H, C, D/H).
        mask: True at real rows (N, C); at least one a node.
        over: The axis that the softmax sums to 1 over. "queries" is what the released code does: summed over
            the queries, as Eq. 8 does, the weights of each value are then 1 whatever the scores.

    Returns:
        The attended values (N, H, C, D/H), and the weights (N, H, C queries, C keys), 0 at padded keys.
    """
    scores = query @ key.mT * query.shape[-1] ** -0.5
    axis = -1 if over == "keys" else -2
    if mask is not None:
        keys = mask[:, None, None]
        scores = scores.masked_fill(~(keys if over == "keys" else keys.mT), -torch.inf)
        weights = scores.softmax(axis).masked_fill(~keys, 0.0)
    else:
        weights = scores.softmax(axis)
    return weights @ value, weights


def branch_outputs(
    attended: Tensor, x: Tensor, weight: Tensor, gain: Tensor, bias: Tensor, kappa: Tensor, eps: float = 1e-5
) -> Tensor:
    """LayerNorm(B_i W_i + x) * kappa_i (Eq. 5).

    The paper adds B_i itself, which has another width than B_i W_i; the input of the module is the one
    reading with the right width that is a residual connection, and is what the released code adds.

    Args:
        attended: B_i of Eq. 4 (H, R, D/H).
        x: The rows (R, D).
        weight: W_i (H, D/H, D).
        gain: Of the layer norms (H, D).
        bias: Of the layer norms (H, D).
        kappa: (H,).
        eps: Of the layer norms, added to the variance.

    Returns:
        (H, R, D).
    """
    normed = F.layer_norm(torch.baddbmm(x[None], attended, weight), x.shape[-1:], eps=eps)
    scale = kappa[:, None]
    return torch.addcmul((bias * scale)[:, None], normed, (gain * scale)[:, None])


def position_wise(
    x: Tensor, first: Tensor, first_bias: Tensor, second: Tensor, second_bias: Tensor
) -> Tensor:
    """PCNN: two convolutions of kernel 1, which is two linear maps of each row, with ReLU between (Eq. 6).

    Args:
        x: (H, R, D), each branch with its own maps.
        first: (H, D, F).
        first_bias: b1 (H, F).
        second: (H, F, D).
        second_bias: b2 (H, D).

    Returns:
        (H, R, D).
    """
    hidden = torch.baddbmm(first_bias[:, None], x, first).relu()
    return torch.baddbmm(second_bias[:, None], hidden, second)


def element_sum(rows: Tensor, parents: Tensor, nodes: int) -> Tensor:
    """EwS of Eq. 8: the sum of the rows of each node.

    Args:
        rows: (R, D).
        parents: The node of each row (R,).
        nodes: N.

    Returns:
        (N, D).
    """
    return rows.new_zeros(nodes, rows.shape[-1]).index_add(0, parents, rows)


def table_size(rows: int, device: torch.device) -> int:
    """How many rows a matrix gets that holds so many: more of them where that saves time.

    Under autocast a processor makes its kernel for a product anew for every size of the operands, which on
    small trees takes longer than the product. Levels have ever new sizes; of four an octave it finds nearly
    all among the kernels that it keeps.

    Args:
        rows: to be held.
        device: where the matrix is.
    """
    if device.type != "cpu" or not torch.is_autocast_enabled("cpu"):
        return rows
    step = 1 << max(0, rows.bit_length() - 3)
    return -(-rows // step) * step


def released_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-3) -> Tensor:
    """The layer norm of the released code: eps stands beside the unbiased standard deviation (..., D)."""
    return gain * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps) + bias


def released_branch_outputs(
    attended: Tensor,
    x: Tensor,
    weight: Tensor,
    gain: Tensor,
    bias: Tensor,
    kappa: Tensor,
    dropout: float = 0.0,
) -> Tensor:
    """What the released code has for Eq. 5: the branches are summed first, and kappa scales one shared
    tensor.

    Arguments as in `branch_outputs`, but one gain and one bias (D,), and the dropout of the summed branches.
    """
    summed = F.dropout(torch.bmm(attended, weight).sum(0), dropout)
    return kappa[:, None, None] * released_norm(summed + x, gain, bias)


class XavierLinear(nn.Linear):
    """A linear map that starts from Xavier's uniform distribution, each block of outputs by itself; bias 0.

    Args:
        width: of the input.
        outputs: of all blocks together.
        bias: whether there is one.
        blocks: maps that stand one below the other in the matrix.
        scale: what the bound of the distribution is multiplied with.
    """

    def __init__(
        self, width: int, outputs: int, bias: bool = True, blocks: int = 1, scale: float = 1.0
    ) -> None:
        self.blocks, self.scale = blocks, scale
        super().__init__(width, outputs, bias)

    def reset_parameters(self) -> None:
        bound = self.scale * (6 / (self.in_features + self.out_features // self.blocks)) ** 0.5
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.zeros_(self.bias)


class BranchAttention(nn.Module):
    """The cell that composes rows into the vector of their node (Eqs. 3-8).

    Compositions, as in Table 3:
        - "branch": H branches, each with its own attention, norm and PCNN, weighted by kappa and alpha;
        - "multihead": H heads, concatenated and mapped once more (Vaswani et al. 2017);
        - "single": the same with one head of width D.

    The paper gives no equations for the last two; like its code they have neither norm nor PCNN, and end in
    Eq. 8 like the first. In Eq. 8, W, b and tanh stand inside the sum, as printed.

    kappa and alpha start equal. On the simplex they are the softmax of free parameters: unlike a projection
    after each step, this holds for any optimizer, in any training loop, and loses no gradient at the border.
    Of W of Eq. 8 the paper does not say how it starts. Started as the identity it makes a node about the sum
    of its words at first, however deep they stand; a random one turns the words of each depth another way.

    variant="authors" computes what the released code does: softmax over the queries; the branches summed
    before one norm and scaled after it; a residual connection and a norm around each PCNN; kappa and alpha
    unconstrained, starting at random; no W and b in Eq. 8, and tanh after the sum; "multihead" without
    the last map, "single" without any. With the last two, attention cancels out of the sum there.

    Args:
        width: D.
        branches: H; divides D.
        intermediate: F; 341 in the paper.
        composition: See above.
        variant: "paper" or "authors".
        simplex: Keep kappa and alpha on the simplex (Ahmed et al. 2017); else they start on it, and are free.
        identity_start: Start W of Eq. 8 as the identity; else by Xavier's uniform distribution.
        highway: Let rows pass by Eq. 8 through a gate (Srivastava et al. 2015; no part of the paper). Where
            Eq. 8 has tanh(W y + b) for a row x, c * x + (1 - c) * tanh(W y + b) stands, with
            c = sigmoid(V y + v) by element. Of the paper's variant alone.
        dropout: Of the output of each PCNN.
        eps: Of the layer norms of the paper's variant.
    """

    def __init__(
        self,
        width: int,
        branches: int = 6,
        intermediate: int = 341,
        composition: Literal["branch", "multihead", "single"] = "branch",
        variant: Literal["paper", "authors"] = "paper",
        simplex: bool = True,
        identity_start: bool = True,
        highway: bool = False,
        dropout: float = 0.1,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        if highway and variant == "authors":
            raise ValueError("highway is true, but the released code has none: expected variant 'paper'")
        if composition == "single":
            branches = 1
        if width % branches:
            raise ValueError(f"width is {width}, expected a multiple of the {branches} branches")
        self.width, self.branches, self.intermediate = width, branches, intermediate
        self.composition, self.released = composition, variant == "authors"
        self.simplex = simplex and not self.released
        self.identity_start = identity_start and not self.released
        self.dropout, self.eps = dropout, eps
        if not (self.released and composition == "single"):
            self.query_key_value = XavierLinear(width, 3 * width, bias=False, blocks=3 * branches)
        if composition == "branch":
            norms = () if self.released else (branches,)
            self.output = nn.Parameter(torch.empty(branches, width // branches, width))
            self.gain = nn.Parameter(torch.empty(*norms, width))
            self.bias = nn.Parameter(torch.empty(*norms, width))
            self.kappa, self.alpha = (nn.Parameter(_random_share(branches)) for _ in range(2))
            self.first = nn.Parameter(torch.empty(branches, width, intermediate))
            self.first_bias = nn.Parameter(torch.empty(branches, intermediate))
            self.second = nn.Parameter(torch.empty(branches, intermediate, width))
            self.second_bias = nn.Parameter(torch.empty(branches, width))
            if self.released:
                self.branch_gain = nn.Parameter(torch.empty(branches, width))
                self.branch_bias = nn.Parameter(torch.empty(branches, width))
        elif not self.released:
            self.output = nn.Parameter(torch.empty(1, width, width))
        if not self.released:
            self.transform = XavierLinear(width, width)
        self.carry = XavierLinear(width, width) if highway else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Xavier's uniform distribution for each matrix by itself; biases 0, norms the identity.

        The linear maps do the same by themselves, but for the one that starts as the identity.
        """
        head = self.width // self.branches
        fans = {
            "output": self.width + (head if self.composition == "branch" else self.width),
            "first": self.width + self.intermediate,
            "second": self.width + self.intermediate,
        }
        for name, parameter in self.named_parameters(recurse=False):
            if name in fans:
                bound = (6 / fans[name]) ** 0.5
                nn.init.uniform_(parameter, -bound, bound)
            elif name.endswith("gain"):
                nn.init.ones_(parameter)
            elif name in ("kappa", "alpha"):
                # The softmax of zeros is uniform.
                if not self.released:
                    nn.init.constant_(parameter, 0.0 if self.simplex else 1 / self.branches)
            else:
                nn.init.zeros_(parameter)
        if self.identity_start:
            nn.init.eye_(self.transform.weight)

    def branch_weights(self) -> tuple[Tensor, Tensor]:
        """kappa and alpha (H,), as they are used."""
        if self.simplex:
            return self.kappa.softmax(0), self.alpha.softmax(0)
        return self.kappa, self.alpha

    def forward(self, x: Tensor, mask: Tensor | None = None, residual: Tensor | None = None) -> Tensor:
        """Compose nodes given with padding.

        Args:
            x: The rows of each node (N, C, D).
            mask: True or 1 at real rows (N, C), in any place, at least one a node; all are real by default.
            residual: What Eq. 8 adds in place of x (N, C, D).

        Returns:
            (N, D).
        """
        nodes, width, _ = x.shape
        real = torch.ones_like(x[..., 0], dtype=torch.bool) if mask is None else mask.bool()
        parents, positions = real.nonzero().unbind(1)
        rest = None if residual is None else residual[real]
        return self.compose(x[real], parents, positions, nodes, width, rest)[0]

    def compose(
        self,
        rows: Tensor,
        parents: Tensor,
        positions: Tensor,
        nodes: int,
        width: int,
        residual: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Compose nodes given as one matrix of rows, in any order.

        Args:
            rows: (R, D).
            parents: The node of each row (R,).
            positions: The number of each row among those of its node (R,).
            nodes: N; each has at least one row.
            width: C.
            residual: What Eq. 8 adds in place of the rows (R, D); the released code adds the words of a
                dependency tree.

        Returns:
            The vectors of the nodes (N, D), and the attention weights (N, H, C, C).
        """
        slots = parents * width + positions
        real = len(rows)
        if spare := table_size(real, rows.device) - real:
            rows, slots = F.pad(rows, (0, 0, 0, spare)), F.pad(slots, (0, spare))
            residual = None if residual is None else F.pad(residual, (0, 0, 0, spare))
        context, weights = self._attend(rows, slots, real, nodes, width)
        if self.composition == "branch":
            changed = self._branches(rows, context)
        else:
            changed = context.transpose(0, 1).flatten(1)
            if not self.released:
                changed = changed @ self.output[0]
        changed = changed + (rows if residual is None else residual)
        if self.released:
            return torch.tanh(element_sum(changed[:real], parents, nodes)), weights
        composed = torch.tanh(self.transform(changed))
        if self.carry is not None:
            composed = composed + torch.sigmoid(self.carry(changed)) * (rows - composed)
        return element_sum(composed[:real], parents, nodes), weights

    def _attend(
        self, rows: Tensor, slots: Tensor, real: int, nodes: int, width: int
    ) -> tuple[Tensor, Tensor]:
        """Eq. 4: B of every row (H, R, D/H), and the weights (N, H, C, C). Rows from `real` on are spare."""
        if self.released and self.composition == "single":
            projected = rows.repeat(1, 3)
        else:
            projected = self.query_key_value(rows)
        size = table_size(nodes, rows.device)
        padded = projected.new_zeros(size * width, projected.shape[-1])
        padded = padded.index_copy(0, slots[:real], projected[:real])
        query, key, value = padded.view(size, width, 3, self.branches, -1).permute(2, 0, 3, 1, 4)
        mask = None
        if real < nodes * width:
            mask = torch.zeros(size * width, dtype=torch.bool, device=rows.device)
            mask[nodes * width :] = True  # a softmax over nothing is not a number
            mask = mask.index_fill(0, slots[:real], True).view(size, width)
        context, weights = attend(query, key, value, mask, "queries" if self.released else "keys")
        return context.transpose(0, 1).flatten(1, 2).index_select(1, slots), weights[:nodes]

    def _branches(self, rows: Tensor, context: Tensor) -> Tensor:
        """Eqs. 5-7: (R, D)."""
        kappa, alpha = self.branch_weights()
        dropout = self.dropout if self.training else 0.0
        maps = self.first, self.first_bias, self.second, self.second_bias
        if self.released:
            scaled = released_branch_outputs(context, rows, self.output, self.gain, self.bias, kappa, dropout)
            changed = scaled + F.dropout(position_wise(scaled, *maps), dropout)
            changed = released_norm(changed, self.branch_gain[:, None], self.branch_bias[:, None])
        else:
            scaled = branch_outputs(context, rows, self.output, self.gain, self.bias, kappa, self.eps)
            changed = F.dropout(position_wise(scaled, *maps), dropout)
        return torch.tensordot(alpha.to(changed.dtype), changed, 1)


def _random_share(parts: int) -> Tensor:
    share = torch.rand(parts)
    return share / share.sum()
