"""TreeBert: the Tree Transformer encoder (Wang et al. 2019), its plain twin, and two heads.

With `prior="outside"` every layer multiplies its attention by a constituent prior (Eq. 2); with
`prior="none"` the same classes are a plain Transformer without link parameters, the baseline of Table 4.
Shapes: B batch, T tokens, W words, H heads, D width, L layers, V vocabulary.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self, cast

import torch
import torch.nn.functional as F
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers import initialization as init
from transformers.activations import ACT2FN
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.utils.generic import ModelOutput, can_return_tuple

from treeformers.attention.constituent import (
    ConstituentAttention,
    LinkProjection,
    constituent_attention,
    constituent_prior,
    constituent_weights,
)
from treeformers.models.words import sinusoids


@strict
class TreeBertConfig(PreTrainedConfig):
    """Configuration of the TreeBert family; the defaults are the paper's sizes (Wang et al. 2019, Section
    7.1).

    Args:
        vocab_size: V.
        hidden_size: D, also the width of link queries and keys.
        num_hidden_layers: L.
        num_attention_heads: H; divides D.
        intermediate_size: Width of the feed-forward layers.
        hidden_act: Their activation; "gelu" as in the released code.
        hidden_dropout_prob: Dropout of the embeddings and of both residual branches.
        attention_probs_dropout_prob: Dropout of the attention weights, after the prior.
        max_position_embeddings: Longest input with learned positions. Sinusoids have no limit.
        position_embedding_type: "sinusoidal" (computed; the word embeddings are then scaled by sqrt(D), as in
            the original Transformer and the released code) or "learned".
        initializer_range: Standard deviation of the initial weights. The link projections alone start as in
            the released code, see `LinkProjection`; from 0.02 their scores would start five times flatter at
            D = 512.
        layer_norm_eps: Added to the variance.
        norm: "pre" (the released code: before each branch, and once at the end) or "post" (BERT: after each
            branch, and once after the embeddings).
        prior: "outside" the softmax (Eq. 2) or "none": the plain Transformer.
        link_scale: Divisor of the link scores; D/2 by default.
        self_prior: Prior of a token with itself: 1 (Eq. 3) or 0 (the released code).
        link_arithmetic: "log" hands log-odds of the links from layer to layer, "probability" the links (Eq.
            8).
        link_level: "token", or "word": states are averaged over the tokens of each word, words are linked,
            and the tokens of a word belong together with probability 1. Needs `word_ids`.
        tie_word_embeddings: The output matrix of the language model is the embedding matrix.
        sparse_prediction: Given labels, the language model scores the labelled positions only.
        classifier_dropout: Dropout before the classifier; `hidden_dropout_prob` by default.
        pad_token_id: Its embedding stays zero.
    """

    model_type = "treebert"

    vocab_size: int = 16000
    hidden_size: int = 512
    num_hidden_layers: int = 10
    num_attention_heads: int = 8
    intermediate_size: int = 2048
    hidden_act: str = "gelu"
    hidden_dropout_prob: float | int = 0.1
    attention_probs_dropout_prob: float | int = 0.1
    max_position_embeddings: int = 512
    position_embedding_type: Literal["sinusoidal", "learned"] = "sinusoidal"
    initializer_range: float | int = 0.02
    layer_norm_eps: float | int = 1e-12
    norm: Literal["pre", "post"] = "pre"
    prior: Literal["outside", "none"] = "outside"
    link_scale: float | int | None = None
    self_prior: float | int = 1.0
    link_arithmetic: Literal["log", "probability"] = "log"
    link_level: Literal["token", "word"] = "token"
    tie_word_embeddings: bool = True
    sparse_prediction: bool = True
    classifier_dropout: float | int | None = None
    pad_token_id: int | None = 0

    def validate_heads(self) -> None:
        if self.hidden_size % self.num_attention_heads:
            raise ValueError(
                f"hidden_size is {self.hidden_size}, expected a multiple of num_attention_heads, "
                f"{self.num_attention_heads}"
            )

    def validate_hidden_act(self) -> None:
        if self.hidden_act not in ACT2FN:
            raise ValueError(
                f"hidden_act is {self.hidden_act!r}, expected one of {', '.join(sorted(ACT2FN))}"
            )

    def validate_link_scale(self) -> None:
        if self.link_scale is not None and not self.link_scale > 0:
            raise ValueError(f"link_scale is {self.link_scale}, expected a divisor above 0")


@dataclass
class TreeBertOutput(ModelOutput):
    """Output of `TreeBertModel`.

    Attributes:
        last_hidden_state: (B, T, D).
        links: With `output_links`, one tensor a layer: the accumulated link probabilities a of neighbouring
            tokens (B, T-1), in float64 so that links close to 1 keep their order.
        priors: With `output_priors`, one tensor a layer: the prior C (B, T, T).
        hidden_states: With `output_hidden_states`, the embeddings and the output of every layer (B, T, D).
        attentions: With `output_attentions`, one tensor a layer: E = C * softmax (B, H, T, T).
    """

    last_hidden_state: Tensor | None = None
    links: tuple[Tensor, ...] | None = None
    priors: tuple[Tensor, ...] | None = None
    hidden_states: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None


@dataclass
class TreeBertPredictions(ModelOutput):
    """Output of the heads: `loss` if labels were given, `logits`, and the rest as in `TreeBertOutput`."""

    loss: Tensor | None = None
    logits: Tensor | None = None
    links: tuple[Tensor, ...] | None = None
    priors: tuple[Tensor, ...] | None = None
    hidden_states: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None


class _Words(NamedTuple):
    """Which word each token belongs to, for links between words."""

    of_token: Tensor  # (B, T) word of each token, 0 .. W-1
    within: Tensor  # (B, T-1) True where two neighbouring tokens share a word
    mask: Tensor  # (B, W) True at words that hold a real token

    @classmethod
    def from_word_ids(cls, word_ids: Tensor, mask: Tensor | None) -> Self:
        within = (word_ids[:, 1:] == word_ids[:, :-1]) & (word_ids[:, 1:] >= 0)
        real = torch.ones_like(word_ids, dtype=torch.bool) if mask is None else mask
        within = within & real[:, 1:] & real[:, :-1]
        index = F.pad(~within, (1, 0)).cumsum(1)
        words = index.new_zeros(index.shape[0], int(index.max()) + 1).scatter_add_(1, index, real.long())
        return cls(index, within, words > 0)

    def pool(self, hidden: Tensor) -> Tensor:
        """Mean over the tokens of each word: (B, T, D) to (B, W, D)."""
        batch, count = self.mask.shape
        flat = (self.of_token + count * torch.arange(batch, device=hidden.device)[:, None]).flatten()
        sums = hidden.new_zeros(batch * count, hidden.shape[-1]).index_add_(0, flat, hidden.flatten(0, 1))
        sizes = torch.bincount(flat, minlength=batch * count).clamp_min(1)
        return (sums / sizes[:, None].to(hidden.dtype)).view(batch, count, -1)

    def spread(self, log_links: Tensor) -> Tensor:
        """Links between words (B, W-1) to links between tokens (B, T-1)."""
        return F.pad(log_links, (0, 1)).gather(1, self.of_token[:, :-1]).masked_fill(self.within, 0.0)


class TreeBertAttention(nn.Module):
    """Multi-head attention whose weights a prior multiplies; without links it is the usual one."""

    def __init__(self, config: TreeBertConfig) -> None:
        super().__init__()
        self.heads = config.num_attention_heads
        self.dropout_p = float(config.attention_probs_dropout_prob)
        self.self_prior = 1.0 if config.prior == "none" else float(config.self_prior)
        self.query_key_value = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.output = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(
        self, hidden: Tensor, log_links: Tensor | None, mask: Tensor | None, eager: bool
    ) -> tuple[Tensor, Tensor | None]:
        batch, tokens, width = hidden.shape
        split = self.query_key_value(hidden).view(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4)  # (B, H, T, D/H) each
        dropout_p = self.dropout_p if self.training else 0.0
        weights = None
        if eager:
            certain = q.new_zeros(batch, tokens - 1)  # a plain Transformer sees one constituent
            weights = constituent_weights(
                q, k, certain if log_links is None else log_links, mask, self_prior=self.self_prior, log=True
            )
            context = F.dropout(weights, dropout_p).to(v.dtype) @ v
        elif log_links is None:
            attended = None if mask is None else mask[:, None, None]
            context = F.scaled_dot_product_attention(q, k, v, attn_mask=attended, dropout_p=dropout_p)
        else:
            context = constituent_attention(
                q, k, v, log_links, mask, dropout_p, self_prior=self.self_prior, log=True
            )
        return self.output(context.transpose(1, 2).reshape(batch, tokens, width)), weights


class TreeBertLayer(GradientCheckpointingLayer):
    """One block: links, attention under their prior, feed-forward network."""

    def __init__(self, config: TreeBertConfig) -> None:
        super().__init__()
        width, eps = config.hidden_size, float(config.layer_norm_eps)
        self.pre_norm = config.norm == "pre"
        self.constituents = (
            ConstituentAttention(width, config.link_scale, config.link_arithmetic, eps)
            if config.prior == "outside"
            else None
        )
        self.attention = TreeBertAttention(config)
        self.attention_norm = nn.LayerNorm(width, eps=eps)
        self.feed_forward = nn.Sequential(
            nn.Linear(width, config.intermediate_size),
            ACT2FN[config.hidden_act],
            nn.Linear(config.intermediate_size, width),
        )
        self.feed_forward_norm = nn.LayerNorm(width, eps=eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(
        self, hidden: Tensor, state: Tensor | None, mask: Tensor | None, words: _Words | None, eager: bool
    ) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]:
        """Hidden states (B, T, D), the state and the logarithm of the links, and the weights if eager."""
        log_links = None
        if self.constituents is not None:
            if words is None:
                log_links, state = self.constituents(hidden, state, mask)
            else:
                log_links, state = self.constituents(words.pool(hidden), state, words.mask)
                log_links = words.spread(log_links)
        if self.pre_norm:
            attended, weights = self.attention(self.attention_norm(hidden), log_links, mask, eager)
            hidden = hidden + self.dropout(attended)
            hidden = hidden + self.dropout(self.feed_forward(self.feed_forward_norm(hidden)))
        else:
            attended, weights = self.attention(hidden, log_links, mask, eager)
            hidden = self.attention_norm(hidden + self.dropout(attended))
            hidden = self.feed_forward_norm(hidden + self.dropout(self.feed_forward(hidden)))
        return hidden, state, log_links, weights


class TreeBertPreTrainedModel(PreTrainedModel):
    """Loading, saving and initialisation shared by the family."""

    config_class = TreeBertConfig
    config: TreeBertConfig
    base_model_prefix = "treebert"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _no_split_modules = ["TreeBertLayer"]  # noqa: RUF012

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, LinkProjection):
            init.xavier_uniform_(module.weight)

    def get_input_embeddings(self) -> nn.Module:
        return cast("TreeBertModel", self.base_model).embeddings

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.base_model.embeddings = value


class TreeBertModel(TreeBertPreTrainedModel):
    """The encoder. `attn_implementation="eager"` forms the attention weights, "sdpa" does not."""

    def __init__(self, config: TreeBertConfig) -> None:
        super().__init__(config)
        width = config.hidden_size
        self.embeddings = nn.Embedding(config.vocab_size, width, padding_idx=config.pad_token_id)
        self.positions = (
            nn.Embedding(config.max_position_embeddings, width)
            if config.position_embedding_type == "learned"
            else None
        )
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.layers = nn.ModuleList(TreeBertLayer(config) for _ in range(config.num_hidden_layers))
        self.norm = nn.LayerNorm(width, eps=float(config.layer_norm_eps))
        self.post_init()

    def _embed(self, embedded: Tensor) -> Tensor:
        tokens, width = embedded.shape[1:]
        steps = torch.arange(tokens, device=embedded.device)
        if self.positions is None:
            return embedded * math.sqrt(width) + sinusoids(steps, width, embedded.dtype)
        if tokens > self.positions.num_embeddings:
            raise ValueError(
                f"{tokens} tokens given, but max_position_embeddings is {self.positions.num_embeddings}"
            )
        return embedded + self.positions(steps)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        word_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_links: bool = False,
        output_priors: bool = False,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> TreeBertOutput:
        """Encode a batch, padded on the right.

        Args:
            input_ids: Token ids (B, T).
            attention_mask: 1 at real tokens (B, T); all are real by default. Links that touch padding are 0.
            word_ids: Word of each token (B, T): equal neighbours belong to one word, negative ones (special
                tokens) stand alone. Used by `link_level="word"` only.
            inputs_embeds: Embeddings (B, T, D) in place of `input_ids`, before positions and scaling.
            output_links: Also return the link probabilities of every layer.
            output_priors: Also return the priors of every layer.
            output_attentions: Also return the attention weights of every layer (computed eagerly).
            output_hidden_states: Also return the hidden states.

        Raises:
            ValueError: Not exactly one of `input_ids` and `inputs_embeds`, or no `word_ids` for links between
                words.
        """
        config = self.config
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("expected exactly one of input_ids and inputs_embeds")
        if output_attentions is None:
            output_attentions = bool(config.output_attentions)
        if output_hidden_states is None:
            output_hidden_states = bool(config.output_hidden_states)
        eager = output_attentions or config._attn_implementation == "eager"

        hidden = self.dropout(
            self._embed(self.embeddings(input_ids) if inputs_embeds is None else inputs_embeds)
        )
        if config.norm == "post":
            hidden = self.norm(hidden)
        mask = None if attention_mask is None else attention_mask.bool()
        if mask is not None and mask.device.type == "cpu" and mask.all():
            mask = None
        words = None
        if config.prior != "none" and config.link_level == "word":
            if word_ids is None:
                raise ValueError('word_ids are missing: link_level="word" needs the word of each token')
            words = _Words.from_word_ids(word_ids, mask)

        state = None
        hidden_states, links, priors, attentions = [hidden], [], [], []
        for layer in self.layers:
            hidden, state, log_links, weights = layer(hidden, state, mask, words, eager)
            hidden_states.append(hidden)
            if log_links is not None and output_links:
                links.append(_probabilities(log_links))
            if log_links is not None and output_priors:
                priors.append(constituent_prior(log_links, float(config.self_prior), log=True))
            if output_attentions:
                attentions.append(weights)
        if config.norm == "pre":
            hidden = self.norm(hidden)
        return TreeBertOutput(
            last_hidden_state=hidden,
            links=tuple(links) or None,
            priors=tuple(priors) or None,
            hidden_states=tuple(hidden_states) if output_hidden_states else None,
            attentions=tuple(attentions) or None,
        )


class TreeBertForMaskedLM(TreeBertPreTrainedModel):
    """Masked language model: one linear layer on the final states, as in the released code."""

    _tied_weights_keys = {"decoder.weight": "treebert.embeddings.weight"}  # noqa: RUF012
    accepts_loss_kwargs = True

    def __init__(self, config: TreeBertConfig) -> None:
        super().__init__(config)
        self.treebert = TreeBertModel(config)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()

    def get_output_embeddings(self) -> nn.Linear:
        return self.decoder

    def set_output_embeddings(self, new_embeddings: nn.Linear) -> None:
        self.decoder = new_embeddings

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        word_ids: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> TreeBertPredictions:
        """Score the vocabulary at every position.

        Args:
            input_ids: This, the next two and `kwargs` as in `TreeBertModel.forward`.
            attention_mask: 1 at real tokens (B, T).
            word_ids: Word of each token (B, T).
            labels: Token to predict at each position (B, T), -100 where none is.
            num_items_in_batch: Divisor of the summed loss, where a batch comes in parts; by default the
                number of labels given.
            **kwargs: The other arguments of `TreeBertModel.forward`.

        Returns:
            Logits (B, T, V); with labels and `sparse_prediction` those of the labelled positions alone, in
            their order (labels, V). The loss is in nats a label, 0 where there is none.
        """
        outputs = self.treebert(input_ids, attention_mask, word_ids, return_dict=True, **kwargs)
        hidden = outputs.last_hidden_state
        if labels is not None and self.config.sparse_prediction:
            labelled = labels != -100
            hidden, labels = hidden[labelled], labels[labelled]
        logits = self.decoder(hidden)
        loss = None
        if labels is not None:
            total = F.cross_entropy(logits.flatten(0, -2).float(), labels.flatten(), reduction="sum")
            loss = total / (
                (labels != -100).sum().clamp_min(1) if num_items_in_batch is None else num_items_in_batch
            )
        return _predictions(loss, logits, outputs)


class TreeBertForSequenceClassification(TreeBertPreTrainedModel):
    """A linear classifier (or regression, with one label) on the final state of the first token, [CLS]."""

    def __init__(self, config: TreeBertConfig) -> None:
        super().__init__(config)
        dropout = (
            config.hidden_dropout_prob if config.classifier_dropout is None else config.classifier_dropout
        )
        self.treebert = TreeBertModel(config)
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels or 1)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        word_ids: Tensor | None = None,
        labels: Tensor | None = None,
        **kwargs: Any,
    ) -> TreeBertPredictions:
        """Classify a batch: logits (B, number of labels), and the loss given `labels` (B,), classes or
        values.

        The other arguments are those of `TreeBertModel.forward`.
        """
        outputs = self.treebert(input_ids, attention_mask, word_ids, return_dict=True, **kwargs)
        logits = self.classifier(self.dropout(outputs.last_hidden_state[:, 0]))
        loss = None if labels is None else self.loss_function(labels, logits, self.config)
        return _predictions(loss, logits, outputs)


def _probabilities(log_links: Tensor) -> Tensor:
    return log_links.exp() if log_links.device.type == "mps" else log_links.double().exp()


def _predictions(loss: Tensor | None, logits: Tensor, outputs: Any) -> TreeBertPredictions:
    return TreeBertPredictions(
        loss=loss,
        logits=logits,
        links=outputs.links,
        priors=outputs.priors,
        hidden_states=outputs.hidden_states,
        attentions=outputs.attentions,
    )
