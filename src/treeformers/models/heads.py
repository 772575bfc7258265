"""Sentences and pairs of sentences to classes and scores, over any encoder of this package that sees trees.

Word embeddings, a sentence encoder (`treeformers.models.traversal`, `treeformers.models.recurrent`,
`treeformers.models.over_vectors`) and a head: classes of one sentence; or of a pair, by the features of Tai
et al. (2015), for entailment, paraphrase and, over a grid of scores, relatedness. Shapes: B examples, T
words, N nodes of the largest tree, E width of the word vectors, D width, K classes, V vocabulary.
"""

import copy
from dataclasses import dataclass
from typing import Any, Literal, cast

import torch
import torch.nn.functional as F
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.utils.generic import ModelOutput, can_return_tuple

from treeformers.models.accumulation import AccumulationConfig
from treeformers.models.level_batches import SentenceOutput
from treeformers.models.over_vectors import AccumulationOverVectors, TreeBertOverVectors
from treeformers.models.recurrent import RecurrentConfig, RecurrentModel
from treeformers.models.traversal import TraversalConfig, TraversalModel
from treeformers.models.treebert_config import TreeBertConfig

__all__ = [
    "ClassificationHead",
    "PairClassifier",
    "PairClassifierConfig",
    "PairHead",
    "SentenceClassifier",
    "SentenceClassifierConfig",
    "SentencePredictions",
    "expected_score",
    "relatedness_loss",
    "score_distribution",
]

_IGNORED = -100
_ENCODERS = {
    kind.model_type: kind for kind in (TraversalConfig, RecurrentConfig, AccumulationConfig, TreeBertConfig)
}


def score_distribution(scores: Tensor, classes: int = 5) -> Tensor:
    """The sparse distribution over 1 .. K whose mean is the score (Ahmed et al. 2019, Eq. 9).

    A score y is shared between the whole numbers below and above it, by nearness.

    Args:
        scores: y (B,), from 1 to K.
        classes: K.

    Returns:
        (B, K).

    Raises:
        ValueError: a score outside 1 .. K.
    """
    if not ((scores >= 1) & (scores <= classes)).all():
        wrong = scores[~((scores >= 1) & (scores <= classes))][0].item()
        raise ValueError(f"score {wrong:g}, expected one from 1 to {classes}")
    grid = torch.arange(1, classes + 1, device=scores.device)
    return (1 - (scores[:, None] - grid).abs()).clamp_min(0.0)


def expected_score(logits: Tensor) -> Tensor:
    """The mean of the predicted distribution over 1 .. K: (B, K) to (B,), of half precision in float32."""
    logits = _single(logits)
    grid = torch.arange(1, logits.shape[-1] + 1, device=logits.device, dtype=logits.dtype)
    return (logits.softmax(-1) * grid).sum(-1)


def relatedness_loss(logits: Tensor, scores: Tensor) -> Tensor:
    """KL divergence of the predicted distribution (B, K) from that of the scores (B,), in nats a pair."""
    logits = _single(logits)
    target = score_distribution(scores, logits.shape[-1]).to(logits.dtype)
    return F.kl_div(logits.log_softmax(-1), target, reduction="batchmean")


def _single(logits: Tensor) -> Tensor:
    """At least float32: in bfloat16 scores lie a sixteenth apart."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


class ClassificationHead(nn.Module):
    """Vectors (..., D) to logits (..., K), through a hidden layer with ReLU where one is asked for.

    Args:
        width: D.
        classes: K.
        hidden: width of the hidden layer; none by default.
        dropout: before each linear map.
        norm: bring the vectors to mean 0 and variance 1 first.
    """

    def __init__(
        self,
        width: int,
        classes: int,
        hidden: int | None = None,
        dropout: float = 0.0,
        norm: bool = False,
    ) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, elementwise_affine=False) if norm else nn.Identity()
        self.dropout = nn.Dropout(dropout)
        self.hidden = None if hidden is None else nn.Linear(width, hidden)
        self.output = nn.Linear(width if hidden is None else hidden, classes)

    def forward(self, vectors: Tensor) -> Tensor:
        vectors = self.dropout(self.norm(vectors))
        if self.hidden is not None:
            vectors = self.dropout(torch.relu(self.hidden(vectors)))
        logits: Tensor = self.output(vectors)
        return logits


class PairHead(nn.Module):
    """Two vectors (B, D) to logits (B, K), by default in whatever order they come (Tai et al. 2015, Eq. 15).

    Their product and their absolute difference, both by element, give [u * v; |u - v|] here, as one matrix
    over both is the sum of the two of the equation; a hidden layer with sigmoid follows.

    Args:
        width: D.
        classes: K.
        hidden: width of the hidden layer; 50 in both papers.
        dropout: of the features.
        norm: bring the vectors to mean 0 and variance 1 first. Neither paper does; without it the long
            vectors that a sum over children gives (Ahmed et al. 2019, Eq. 8) saturate the sigmoid.
        directed: add u - v to the features. Those of the papers are the same for (u, v) and (v, u), while
            entailment has a direction.
    """

    def __init__(
        self,
        width: int,
        classes: int,
        hidden: int = 50,
        dropout: float = 0.0,
        norm: bool = False,
        directed: bool = False,
    ) -> None:
        super().__init__()
        self.directed = directed
        self.norm = nn.LayerNorm(width, elementwise_affine=False) if norm else nn.Identity()
        self.dropout = nn.Dropout(dropout)
        self.hidden = nn.Linear((3 if directed else 2) * width, hidden)
        self.output = nn.Linear(hidden, classes)

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        first, second = self.norm(first), self.norm(second)
        difference = first - second
        features = [first * second, difference.abs()]
        if self.directed:
            features.append(difference)
        hidden = self.hidden(self.dropout(torch.cat(features, -1)))
        logits: Tensor = self.output(torch.sigmoid(hidden))
        return logits


@dataclass
class SentencePredictions(ModelOutput):
    """Output of the classifiers.

    Attributes:
        loss: If labels were given.
        logits: (B, K).
        scores: (B,), the predicted relatedness, where that is the task.
        leaf_logits: (B, T, K), where every node is classified.
        node_logits: (B, N, K), likewise.
    """

    loss: Tensor | None = None
    logits: Tensor | None = None
    scores: Tensor | None = None
    leaf_logits: Tensor | None = None
    node_logits: Tensor | None = None


@strict
class SentenceClassifierConfig(PreTrainedConfig):
    """Configuration of `SentenceClassifier`.

    Args:
        encoder: A `TraversalConfig`, a `RecurrentConfig`, an `AccumulationConfig` or a `TreeBertConfig`, or
            one of them as a dictionary.
        vocab_size: V.
        input_size: E, for the last two; their `hidden_size` by default. The first two have their own.
        freeze_embeddings: Leave the word vectors as they are.
        embedding_dropout: Of the word vectors.
        head_hidden_size: Width of the hidden layer of the head; none by default, 50 for pairs.
        head_dropout: In the head.
        head_norm: Bring what the head reads to mean 0 and variance 1.
        pad_token_id: Its vector stays zero.
    """

    model_type = "treeformers-sentence"

    encoder: dict[str, Any] | PreTrainedConfig | None = None
    vocab_size: int = 1
    input_size: int | None = None
    freeze_embeddings: bool = False
    embedding_dropout: float | int = 0.0
    head_hidden_size: int | None = None
    head_dropout: float | int = 0.0
    head_norm: bool = False
    pad_token_id: int | None = 0

    def __post_init__(self, **kwargs: Any) -> None:
        if self.encoder is None:
            self.encoder = TraversalConfig()
        elif isinstance(self.encoder, dict):
            kind = self.encoder.get("model_type")
            if kind not in _ENCODERS:
                expected = ", ".join(_ENCODERS)
                raise ValueError(f"model_type of the encoder is {kind!r}, expected one of {expected}")
            self.encoder = _ENCODERS[kind](**self.encoder)
        if isinstance(self.encoder, AccumulationConfig | TreeBertConfig):
            self.encoder = copy.deepcopy(self.encoder)
            self.encoder.vocab_size = 1  # its embeddings are not read
        super().__post_init__(**kwargs)


@strict
class PairClassifierConfig(SentenceClassifierConfig):
    """Configuration of `PairClassifier`: that of `SentenceClassifier`, and the task.

    Args:
        task: "classification" (entailment, paraphrase; labels are classes) or "relatedness" (labels are
            scores from 1 to K; K = 5 for SICK).
        head_directed: Let the head see which sentence comes first, see `PairHead`.
    """

    model_type = "treeformers-pair"

    task: Literal["classification", "relatedness"] = "classification"
    head_directed: bool = False


def _build_encoder(config: SentenceClassifierConfig) -> tuple[nn.Module, int, int]:
    """A fresh encoder, E and D."""
    match config.encoder:
        case TraversalConfig() as encoder:
            return TraversalModel(encoder), encoder.input_size, encoder.hidden_size
        case RecurrentConfig() as encoder:
            return RecurrentModel(encoder), encoder.input_size, encoder.hidden_size
        case AccumulationConfig() | TreeBertConfig() as encoder:
            over = AccumulationOverVectors if isinstance(encoder, AccumulationConfig) else TreeBertOverVectors
            size = config.input_size or encoder.hidden_size
            return over(encoder, size), size, encoder.hidden_size
    expected = ", ".join(kind.__name__ for kind in _ENCODERS.values())
    raise ValueError(f"encoder is a {type(config.encoder).__name__}, expected one of {expected}")


class _SentenceModel(PreTrainedModel):
    """Word embeddings and an encoder, with what loading and saving need."""

    config: SentenceClassifierConfig
    base_model_prefix = "encoder"
    accepts_loss_kwargs = False  # the Trainer's count of items is no part of a plan

    def __init__(self, config: SentenceClassifierConfig) -> None:
        super().__init__(config)
        self.encoder, input_size, self.width = _build_encoder(config)
        self.embeddings = nn.Embedding(config.vocab_size, input_size, padding_idx=config.pad_token_id)
        self.embeddings.weight.requires_grad_(not config.freeze_embeddings)
        self.dropout = nn.Dropout(float(config.embedding_dropout))

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """As torch initialises linear maps; word vectors are small, as those of GloVe are not long."""
        if isinstance(module, nn.Linear):
            module.reset_parameters()
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.1)
            if module.padding_idx is not None and not getattr(module.weight, "_is_hf_initialized", False):
                nn.init.zeros_(module.weight[module.padding_idx])

    def get_input_embeddings(self) -> nn.Module:
        return self.embeddings

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.embeddings = cast(nn.Embedding, value)

    def _encode(
        self, input_ids: Tensor | None, inputs_embeds: Tensor | None, plan: dict[str, Tensor]
    ) -> SentenceOutput:
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("expected exactly one of input_ids and inputs_embeds")
        words = self.embeddings(input_ids) if inputs_embeds is None else inputs_embeds
        output: SentenceOutput = self.encoder(self.dropout(words), plan)
        return output


class SentenceClassifier(_SentenceModel):
    """Classes of sentences, and of every node of their trees where nodes are labelled (SST)."""

    config_class = SentenceClassifierConfig

    def __init__(self, config: SentenceClassifierConfig) -> None:
        super().__init__(config)
        self.head = ClassificationHead(
            self.width,
            config.num_labels or 1,
            config.head_hidden_size,
            float(config.head_dropout),
            config.head_norm,
        )
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        labels: Tensor | None = None,
        node_labels: Tensor | None = None,
        leaf_labels: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **plan: Tensor,
    ) -> SentencePredictions:
        """Classify a batch.

        Args:
            input_ids: Words (B, T).
            labels: Class of each sentence (B,). Not used where the labels of nodes or leaves are given: roots
                are among them.
            node_labels: Class of each node (B, N) in the order of `tree.spans()`, -100 where there is none.
            leaf_labels: Class of each word (B, T), -100 where there is none.
            inputs_embeds: Word vectors (B, T, E) in place of `input_ids`.
            **plan: `treeformers.trees.levels.level_plan(trees)`; `treeformers.trees.batch.batch_trees(trees)`
                for the accumulation encoder; or `attention_mask` (B, T) alone for encoders of sequences.

        Returns:
            The logits of the sentences, and of nodes and leaves where their labels are given. The loss is the
            mean cross-entropy in nats a label.
        """
        output = self._encode(input_ids, inputs_embeds, plan)
        logits = self.head(output.root)
        if node_labels is None and leaf_labels is None:
            loss = None if labels is None else F.cross_entropy(logits, labels)
            return SentencePredictions(loss=loss, logits=logits)
        leaf_logits = self._classify("leaf_labels", output.leaves, leaf_labels)
        node_logits = self._classify("node_labels", output.nodes, node_labels)
        given = [
            (scored.flatten(0, 1), gold.flatten())
            for scored, gold in ((leaf_logits, leaf_labels), (node_logits, node_labels))
            if scored is not None and gold is not None
        ]
        scored, gold = (torch.cat(tensors) for tensors in zip(*given, strict=True))
        total = F.cross_entropy(scored, gold, ignore_index=_IGNORED, reduction="sum")
        return SentencePredictions(
            loss=total / (gold != _IGNORED).sum().clamp_min(1),
            logits=logits,
            leaf_logits=leaf_logits,
            node_logits=node_logits,
        )

    def _classify(self, name: str, vectors: Tensor | None, gold: Tensor | None) -> Tensor | None:
        """Logits of the vectors that `gold` labels, which must be as many."""
        if gold is None:
            return None
        if vectors is None or vectors.shape[:2] != gold.shape:
            found = "no" if vectors is None else f"{tuple(vectors.shape[:2])}"
            raise ValueError(f"{name} of shape {tuple(gold.shape)}, but the encoder has {found} such vectors")
        logits: Tensor = self.head(vectors)
        return logits


class PairClassifier(_SentenceModel):
    """Classes or scores of pairs of sentences."""

    config_class = PairClassifierConfig
    config: PairClassifierConfig

    def __init__(self, config: PairClassifierConfig) -> None:
        super().__init__(config)
        hidden = 50 if config.head_hidden_size is None else config.head_hidden_size
        self.head = PairHead(
            self.width,
            config.num_labels or 1,
            hidden,
            float(config.head_dropout),
            config.head_norm,
            config.head_directed,
        )
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        labels: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **plan: Tensor,
    ) -> SentencePredictions:
        """Classify or score a batch of pairs.

        Args:
            input_ids: Words (B, 2, T).
            labels: Class of each pair (B,), or its score from 1 to K.
            inputs_embeds: Word vectors (B, 2, T, E) in place of `input_ids`.
            **plan: As of `SentenceClassifier.forward`, over the 2 B trees, the two of a pair beside each
                other.

        Returns:
            The logits; for relatedness also the scores, the means of the predicted distributions. The loss is
            cross-entropy, or KL divergence, in nats a pair.
        """
        for name, given, dimensions in (("input_ids", input_ids, 3), ("inputs_embeds", inputs_embeds, 4)):
            if given is not None and (given.dim() != dimensions or given.shape[1] != 2):
                raise ValueError(f"{name} of shape {tuple(given.shape)}, expected pairs: (B, 2, ...)")
        output = self._encode(
            None if input_ids is None else input_ids.flatten(0, 1),
            None if inputs_embeds is None else inputs_embeds.flatten(0, 1),
            plan,
        )
        assert output.root is not None
        logits = self.head(output.root[0::2], output.root[1::2])
        relatedness = self.config.task == "relatedness"
        loss = None
        if labels is not None:
            loss = (relatedness_loss if relatedness else F.cross_entropy)(logits, labels)
        scores = expected_score(logits) if relatedness else None
        return SentencePredictions(loss=loss, logits=logits, scores=scores)
