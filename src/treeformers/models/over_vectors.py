"""Encoders of tokens as encoders of sentences over word vectors that are given.

The accumulation encoder and TreeBert have embeddings of their own. Here they read vectors of any width, such
as frozen ones in context, as the other sentence encoders do: one linear map takes them to the width of the
encoder, they are normalised, and positions are added. Shapes: B sentences, T words, N nodes, E width of the
vectors, D width.
"""

import math
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from treeformers.models.accumulation import AccumulationConfig, AccumulationModel
from treeformers.models.level_batches import SentenceOutput, cut_words, span_means
from treeformers.models.treebert_config import TreeBertConfig
from treeformers.models.treebert_encoder import TreeBertModel
from treeformers.models.words import NormedProjection

__all__ = ["AccumulationOverVectors", "TreeBertOverVectors"]


class _OverVectors(nn.Module):
    model_class: type[Any]

    def __init__(self, config: AccumulationConfig | TreeBertConfig, input_size: int) -> None:
        super().__init__()
        self.project = NormedProjection(input_size, config.hidden_size)
        self.model: Any = self.model_class(config)


class AccumulationOverVectors(_OverVectors):
    """The encoder of Nguyen et al. (2020); the sentence is the state of the root.

    A node starts from the embedding of its label, as in the paper, and the mean of its words: from the label
    alone the root would have to learn anew, through attention, what the vectors already say.

    Args:
        config: of the encoder; its embeddings are not read, so that a `vocab_size` of 1 is enough.
        input_size: E.
    """

    model_class = AccumulationModel

    def forward(self, words: Tensor, plan: Mapping[str, Tensor]) -> SentenceOutput:
        """Encode word vectors (B, T, E); the plan is that of `treeformers.trees.batch.batch_trees`.

        Without trees the mean of the words stands for the sentence.
        """
        vectors = _unscaled(self.project(cut_words(words, plan)))
        nodes = span_means(vectors, plan["spans"]) if "spans" in plan else None
        output = self.model(inputs_embeds=vectors, node_embeds=nodes, return_dict=True, **plan)
        leaves = output.leaves * plan["attention_mask"][..., None]
        return SentenceOutput(root=output.root, leaves=leaves, nodes=output.nodes)


class TreeBertOverVectors(_OverVectors):
    """The Tree Transformer of Wang et al. (2019), with the trees that it finds itself; the sentence is the
    mean of the words, as no token stands before them that could sum it up.

    Args:
        config: as of `AccumulationOverVectors`.
        input_size: E.
    """

    model_class = TreeBertModel

    def forward(self, words: Tensor, plan: Mapping[str, Tensor]) -> SentenceOutput:
        """Encode word vectors (B, T, E).

        Of the plan `attention_mask` (B, T) is read, and `spans` (B, N, 2) of `batch_trees` if they are there:
        the vector of a node is the mean of its words, as that of the sentence.
        """
        mask = plan["attention_mask"][..., None]
        vectors = self.project(cut_words(words, plan))
        if self.model.positions is None:  # which goes with embeddings that are scaled
            vectors = _unscaled(vectors)
        output = self.model(inputs_embeds=vectors, attention_mask=mask[..., 0], return_dict=True)
        states = output.last_hidden_state * mask
        nodes = span_means(states, plan["spans"]) if "spans" in plan else None
        return SentenceOutput(root=states.sum(1) / mask.sum(1), leaves=states, nodes=nodes)


def _unscaled(vectors: Tensor) -> Tensor:
    """Takes back in advance the factor of sqrt(D) by which both encoders lift their small embeddings."""
    return vectors / math.sqrt(vectors.shape[-1])
