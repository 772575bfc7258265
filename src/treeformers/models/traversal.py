"""Tree Transformers that traverse given trees (Ahmed et al. 2019): CTT and DTT.

From the words up, the attention cell of `treeformers.attention.traversal` composes the children of every node
(constituency, CTT), or the word of the node and its children (dependencies, DTT), into the vector of the node
(Eqs. 1-8). Nodes of equal height are composed together, over the whole batch. Shapes: B trees, T words, N
nodes of the largest tree, M nodes of the batch, R children of a level, E width of the word vectors, D width.
"""

from collections.abc import Mapping
from typing import Literal

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel

from treeformers.attention.traversal import BranchAttention, XavierLinear
from treeformers.models.level_batches import Level, Levels, SentenceOutput, pack_words
from treeformers.models.words import sinusoids

__all__ = ["GatedProjection", "TraversalConfig", "TraversalModel", "TraversalPreTrainedModel"]


@strict
class TraversalConfig(PreTrainedConfig):
    """Configuration of `TraversalModel`; the defaults are the paper's sizes.

    Args:
        tree: "constituency" (CTT: a cell sees the children) or "dependency" (DTT: the word, then the
            children).
        input_size: E. Word vectors are projected where E differs from D, and taken as they are otherwise, as
            in the paper.
        projection: "linear", or "gated" for leaves that are no linear map of their words: see
            `GatedProjection`, which also stands where E equals D.
        projection_scale: What the weights of the projection are multiplied with at the start. States of
            several layers side by side are long: leaves of the usual size drive tanh of Eq. 8 to its ends
            from the first level on, and the cell learns little.
        hidden_size: D.
        num_branches: H, branches or heads of the cell; divides D.
        intermediate_size: Width between the two convolutions of a branch.
        composition: "branch", "multihead" or "single", see `BranchAttention`.
        variant: "paper", or "authors" for what the released code computes.
        simplex: Keep the weights of the branches on the simplex.
        identity_start: Start W of Eq. 8 as the identity, see `BranchAttention`; else at random.
        highway: Let the rows of a cell pass Eq. 8 by through a gate, see `BranchAttention`.
        dropout: Of the output of each position-wise network.
        layer_norm_eps: Added to the variance.
        positions: What position on a tree means (Table 2; the paper does not say). Sinusoids are added
            by "sibling" to the rows of a cell, for their place among them, or by "word" to the word vectors,
            for their place in the sentence. With "none" the cell sees a set: the order of children is lost.
    """

    model_type = "treeformers-traversal"

    tree: Literal["constituency", "dependency"] = "constituency"
    input_size: int = 300
    projection: Literal["linear", "gated"] = "linear"
    projection_scale: float | int = 1.0
    hidden_size: int = 300
    num_branches: int = 6
    intermediate_size: int = 341
    composition: Literal["branch", "multihead", "single"] = "branch"
    variant: Literal["paper", "authors"] = "paper"
    simplex: bool = True
    identity_start: bool = True
    highway: bool = False
    dropout: float | int = 0.1
    layer_norm_eps: float | int = 1e-5
    positions: Literal["none", "sibling", "word"] = "none"

    def validate_branches(self) -> None:
        if self.hidden_size % self.num_branches and self.composition != "single":
            raise ValueError(
                f"hidden_size is {self.hidden_size}, expected a multiple of num_branches, {self.num_branches}"
            )


class TraversalPreTrainedModel(PreTrainedModel):
    """Loading, saving and initialisation."""

    config_class = TraversalConfig
    config: TraversalConfig
    base_model_prefix = "traversal"

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, BranchAttention | XavierLinear):
            module.reset_parameters()


class GatedProjection(nn.Module):
    """Word vectors to leaves through a gate: sigmoid(G x + g) * tanh(U x + u), by element.

    The paper reads word vectors as they are, so that what a head says of a word is linear in its vector. A
    Tree-LSTM (Tai et al. 2015) has gates there, and so has the leaf here; the paper's cell stays as it is.

    Args:
        width: E.
        outputs: D.
        scale: what the matrices of Xavier's distribution are multiplied with at the start.
    """

    def __init__(self, width: int, outputs: int, scale: float = 1.0) -> None:
        super().__init__()
        self.maps = XavierLinear(width, 2 * outputs, blocks=2, scale=scale)

    def forward(self, words: Tensor) -> Tensor:
        """(..., E) to (..., D)."""
        gate, content = self.maps(words).chunk(2, -1)
        leaves: Tensor = gate.sigmoid() * content.tanh()
        return leaves


class TraversalModel(TraversalPreTrainedModel):
    """The encoder: word vectors and trees to the vectors of all nodes."""

    def __init__(self, config: TraversalConfig) -> None:
        super().__init__(config)
        self.projection: nn.Module | None = None
        sizes, scale = (config.input_size, config.hidden_size), float(config.projection_scale)
        if config.projection == "gated":
            self.projection = GatedProjection(*sizes, scale)
        elif config.input_size != config.hidden_size:
            self.projection = XavierLinear(*sizes, scale=scale)
        self.cell = BranchAttention(
            config.hidden_size,
            config.num_branches,
            config.intermediate_size,
            config.composition,
            config.variant,
            config.simplex,
            config.identity_start,
            config.highway,
            float(config.dropout),
            float(config.layer_norm_eps),
        )
        self.post_init()

    def forward(
        self, words: Tensor, plan: Mapping[str, Tensor], output_attentions: bool = False
    ) -> SentenceOutput:
        """Encode a batch of trees.

        Args:
            words: Word vectors (B, T, E).
            plan: `treeformers.trees.levels.level_plan(trees)`.
            output_attentions: Also return the share of the cell's attention that each child gets, a mean over
                its queries and heads (Figure 2). In a dependency tree the rest goes to the word of the node.

        Returns:
            The vectors of roots, nodes and words. The state of a constituency tree's leaf is its word vector,
            projected; in a dependency tree that of a word is what its subtree is composed to.

        Raises:
            ValueError: word vectors or trees of another kind than expected.
        """
        config = self.config
        levels = Levels(plan)
        packed = pack_words(words, plan)
        dependency = len(packed) == len(plan["child_rows"]) + len(words) and config.tree == "dependency"
        if not dependency and (config.tree == "dependency" or len(packed) != levels.leaves):
            raise ValueError(f"the plan is not of {config.tree} trees, which config.tree asks for")
        if self.projection is not None:
            packed = self.projection(packed)
        if config.positions == "word":
            places = torch.arange(plan["leaf_rows"].shape[1], device=packed.device)
            packed = packed + sinusoids(places, config.hidden_size, packed.dtype)[plan["words"] % len(places)]
        own = levels.split(packed)
        attention: list[Tensor] = []
        # The released DTT adds words, not states, to the cell's output: there a state carries its word along.
        carry = dependency and config.variant == "authors"

        def compose(level: Level, children: Tensor, *words: Tensor) -> tuple[Tensor, ...]:
            rows, parents, positions = children, level.parents, level.positions
            residual = None
            if dependency:
                word = own[level.height]
                numbers = torch.arange(level.nodes, device=parents.device)
                rows = torch.cat((word, rows))
                parents = torch.cat((numbers, parents))
                positions = torch.cat((torch.zeros_like(numbers), positions + 1))
                if carry:
                    residual = torch.cat((word, *words))
            if config.positions == "sibling":
                rows = rows + sinusoids(positions, config.hidden_size, rows.dtype)
            row_count = level.width + dependency
            states, weights = self.cell.compose(rows, parents, positions, level.nodes, row_count, residual)
            if output_attentions:
                attention.append(_received(weights.detach(), parents, positions)[-len(children) :])
            return (states, word) if carry else (states,)

        table = levels.bottom_up((own[0], own[0]) if carry else (own[0],), compose)
        received = None
        if output_attentions:
            received = table.new_zeros(len(table))
            if attention:
                received = received.index_copy(0, plan["child_rows"], torch.cat(attention).to(table.dtype))
        return levels.output(table, received)


def _received(weights: Tensor, parents: Tensor, positions: Tensor) -> Tensor:
    """The mean weight of each row over queries and heads: (N, H, C, C) to (R,)."""
    queries = torch.bincount(parents, minlength=len(weights))
    # Queries of padding attend to real rows too: they are left out.
    real = torch.arange(weights.shape[-1], device=parents.device) < queries[:, None]
    shares = (weights.mean(1) * real[..., None]).sum(1) / queries[:, None]
    return shares[parents, positions]
