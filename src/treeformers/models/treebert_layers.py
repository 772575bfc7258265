"""The layers of TreeBert: links between words or tokens, attention under their prior, recursion.

Shapes: B batch, T tokens, W words, H heads, G priors a layer, D width.
"""

from typing import NamedTuple, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.activations import ACT2FN
from transformers.modeling_layers import GradientCheckpointingLayer

from treeformers.attention.constituent import (
    ConstituentAttention,
    constituent_attention,
    constituent_weights,
)
from treeformers.models.treebert_config import TreeBertConfig

__all__ = ["Applied", "Layout", "TreeBertAttention", "TreeBertLayer", "Words", "apply_until_stable"]


class Words(NamedTuple):
    """Which word each token belongs to, for links between words."""

    of_token: Tensor  # (B, T) word of each token, 0 .. W-1
    within: Tensor  # (B, T-1) True where two neighbouring tokens share a word
    mask: Tensor  # (B, W) True at words that hold a real token
    boundaries: Tensor | None = None  # (B, W-1) True between words of different documents

    @classmethod
    def from_word_ids(cls, word_ids: Tensor, mask: Tensor | None, boundaries: Tensor | None = None) -> Self:
        within = (word_ids[:, 1:] == word_ids[:, :-1]) & (word_ids[:, 1:] >= 0)
        real = torch.ones_like(word_ids, dtype=torch.bool) if mask is None else mask
        within = within & real[:, 1:] & real[:, :-1]
        if boundaries is not None:
            within = within & ~boundaries
        index = F.pad(~within, (1, 0)).cumsum(1)
        count = int(index.max()) + 1
        words = index.new_zeros(index.shape[0], count).scatter_add_(1, index, real.long())
        if boundaries is not None:
            starts = torch.zeros_like(words).scatter_add_(1, index[:, 1:], boundaries.long())
            boundaries = starts[:, 1:] > 0
        return cls(index, within, words > 0, boundaries)

    def pool(self, hidden: Tensor) -> Tensor:
        """Mean over the tokens of each word: (B, T, D) to (B, W, D)."""
        batch, count = self.mask.shape
        flat = (self.of_token + count * torch.arange(batch, device=hidden.device)[:, None]).flatten()
        sums = hidden.new_zeros(batch * count, hidden.shape[-1]).index_add_(0, flat, hidden.flatten(0, 1))
        sizes = torch.bincount(flat, minlength=batch * count).clamp_min(1)
        return (sums / sizes[:, None].to(hidden.dtype)).view(batch, count, -1)

    def spread(self, log_links: Tensor) -> Tensor:
        """Links between words (B, W-1) or (B, G, W-1) to links between tokens, (B, T-1) or (B, G, T-1)."""
        of_token, within = self.of_token[:, :-1], self.within
        if log_links.dim() == 3:
            of_token, within = of_token[:, None].expand(-1, log_links.shape[1], -1), within[:, None]
        return F.pad(log_links, (0, 1)).gather(-1, of_token).masked_fill(within, 0.0)


class Layout(NamedTuple):
    """How a batch is laid out: what is padding, which tokens see each other, what the links join."""

    mask: Tensor | None  # (B, T) True at real tokens, None if all are
    seen: Tensor | None  # (B, T), or (B, T, T) where rows hold several documents: True where attended to
    boundaries: Tensor | None  # (B, T-1) True between tokens of different documents
    words: Words | None  # what is linked, if not tokens

    @classmethod
    def build(
        cls,
        mask: Tensor | None,
        document_ids: Tensor | None,
        word_ids: Tensor | None,
    ) -> Self:
        """Lay out a batch; all arguments are (B, T), of `word_ids` only where words are linked."""
        seen, boundaries = mask, None
        if document_ids is not None:
            boundaries = document_ids[:, 1:] != document_ids[:, :-1]
            seen = document_ids[:, :, None] == document_ids[:, None]
            if mask is not None:
                seen = seen & mask[:, None]
        words = None if word_ids is None else Words.from_word_ids(word_ids, mask, boundaries)
        return cls(mask, seen, boundaries, words)


class Applied(NamedTuple):
    """What a layer gives."""

    hidden: Tensor  # (B, T, D)
    state: Tensor | None  # what the links of the next layer grow from
    log_links: Tensor | None  # (B, T-1) or (B, G, T-1)
    weights: Tensor | None  # (B, H, T, T), if asked for


class TreeBertAttention(nn.Module):
    """Multi-head attention with a prior on its weights; without links it is the usual one."""

    def __init__(self, config: TreeBertConfig) -> None:
        super().__init__()
        self.heads = config.num_attention_heads
        self.dropout_p = float(config.attention_probs_dropout_prob)
        self.self_prior = 1.0 if config.prior == "none" else float(config.self_prior)
        self.inside = config.prior == "inside"
        self.hard = config.hard_links
        self.query_key_value = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.output = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(
        self, hidden: Tensor, log_links: Tensor | None, seen: Tensor | None, eager: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Attended values (B, T, D), and the weights if eager; `seen` as in `Layout`."""
        batch, tokens, width = hidden.shape
        split = self.query_key_value(hidden).view(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4)  # (B, H, T, D/H) each
        dropout_p = self.dropout_p if self.training else 0.0
        self_prior, inside, hard = self.self_prior, self.inside, self.hard
        weights = None
        if eager:
            # A plain Transformer sees one constituent.
            links = q.new_zeros(batch, tokens - 1) if log_links is None else log_links
            weights = constituent_weights(
                q, k, links, seen, self_prior=self_prior, log=True, inside=inside, hard=hard
            )
            context = F.dropout(weights, dropout_p).to(v.dtype) @ v
        elif log_links is None:
            attended = seen if seen is None else seen[:, None, None] if seen.dim() == 2 else seen[:, None]
            context = F.scaled_dot_product_attention(q, k, v, attn_mask=attended, dropout_p=dropout_p)
        else:
            context = constituent_attention(
                q, k, v, log_links, seen, dropout_p, self_prior=self_prior, log=True, inside=inside, hard=hard
            )
        return self.output(context.transpose(1, 2).reshape(batch, tokens, width)), weights


class TreeBertLayer(GradientCheckpointingLayer):
    """One block: links, attention under their prior, feed-forward network."""

    def __init__(self, config: TreeBertConfig) -> None:
        super().__init__()
        width, eps = config.hidden_size, float(config.layer_norm_eps)
        self.pre_norm = config.norm == "pre"
        self.constituents = (
            None
            if config.prior == "none"
            else ConstituentAttention(
                width, config.link_scale, config.link_arithmetic, eps, config.num_priors
            )
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

    def forward(self, hidden: Tensor, state: Tensor | None, layout: Layout, eager: bool) -> Applied:
        """Apply the block to hidden states (B, T, D), given the state of the links below."""
        log_links = None
        if self.constituents is not None:
            words = layout.words
            if words is None:
                log_links, state = self.constituents(hidden, state, layout.mask, layout.boundaries)
            else:
                pooled = words.pool(hidden)
                log_links, state = self.constituents(pooled, state, words.mask, words.boundaries)
                log_links = words.spread(log_links)
        if self.pre_norm:
            attended, weights = self.attention(self.attention_norm(hidden), log_links, layout.seen, eager)
            hidden = hidden + self.dropout(attended)
            hidden = hidden + self.dropout(self.feed_forward(self.feed_forward_norm(hidden)))
        else:
            attended, weights = self.attention(hidden, log_links, layout.seen, eager)
            hidden = self.attention_norm(hidden + self.dropout(attended))
            hidden = self.feed_forward_norm(hidden + self.dropout(self.feed_forward(hidden)))
        return Applied(hidden, state, log_links, weights)


def apply_until_stable(
    layer: nn.Module,
    hidden: Tensor,
    state: Tensor | None,
    layout: Layout,
    eager: bool,
    most: int,
    tolerance: float,
) -> tuple[Applied, Tensor]:
    """Apply a layer to its own output until its links are stable, each sentence by itself.

    Without links there is nothing to become stable, and the layer is applied `most` times.

    Args:
        layer: a `TreeBertLayer`.
        hidden: (B, T, D); this and the next three as in its `forward`.
        state: of the links below.
        layout: of the batch.
        eager: whether the weights are wanted.
        most: applications, at most.
        tolerance: largest change of a link, as a probability, with which it is stable.

    Returns:
        What the last application to each sentence gave, and how many there were (B,).
    """
    last = Applied(*layer(hidden, state, layout, eager))
    times = torch.ones(hidden.shape[0], dtype=torch.long, device=hidden.device)
    active = times > 0
    for _ in range(most - 1):
        new = Applied(*layer(last.hidden, last.state, layout, eager))
        moved = active
        if new.log_links is not None and last.log_links is not None:
            change = (new.log_links.detach().exp() - last.log_links.detach().exp()).abs()
            moved = active & (change > tolerance).flatten(1).any(1)
        last = Applied._make(_choose(active, a, b) for a, b in zip(new, last, strict=True))
        times = times + active
        active = moved
        if not active.any():
            break
    return last, times


def _choose(rows: Tensor, new: Tensor | None, old: Tensor | None) -> Tensor | None:
    if new is None or old is None or rows.all():
        return new
    return torch.where(rows.view(-1, *[1] * (new.dim() - 1)), new, old)
