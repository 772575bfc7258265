"""A pretrained encoder for tests: random weights and a tokenizer that cuts words into letters."""

from __future__ import annotations

from pathlib import Path
from string import ascii_lowercase

import torch
from transformers import BertConfig, BertModel, BertTokenizer

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [*MARKS, *ascii_lowercase, *(f"##{letter}" for letter in ascii_lowercase)]


def letter_tokenizer(limit: int = 512) -> BertTokenizer:
    """WordPiece over single letters: "owl" is "o", "##w", "##l"."""
    return BertTokenizer(vocab={piece: number for number, piece in enumerate(PIECES)}, model_max_length=limit)


def tiny_bert(folder: Path, positions: int = 512) -> Path:
    """Write config.json, model.safetensors and the tokenizer to a folder."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(PIECES),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=positions,
        initializer_range=0.3,
    )
    BertModel(config).save_pretrained(folder)
    letter_tokenizer(positions).save_pretrained(folder)
    return folder
