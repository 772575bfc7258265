"""Pretrained encoders inside models of ours, as they are quick on a CPU.

Shapes: B batch, H heads, T pieces, D width of a head.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from treeformers.kernels.dropout import Dropout, drop

__all__ = ["attend", "quicken"]

QUICK = "sdpa_quick"
"""The name under which transformers finds `attend`."""


def quicken(model: PreTrainedModel) -> None:
    """Let `drop` do what `torch.nn.Dropout` does in a model, and `attend` what torch's attention does.

    Args:
        model: not one of ours; it is changed.
    """
    for module in list(model.modules()):
        for name, part in list(module.named_children()):
            if type(part) is nn.Dropout:
                setattr(module, name, Dropout(part.p).train(part.training))
    if getattr(model, "_supports_attention_backend", False) and model.config._attn_implementation == "sdpa":
        model.set_attn_implementation(QUICK)


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Scaled dot-product attention as transformers calls it, whose weights `drop` drops on a CPU.

    torch has no fused kernel with dropout there. Without dropout, and where more than a mask is asked for, it
    does everything itself, and not in the wide products that may be asked for around it.

    Args:
        module: the layer.
        query: (B, H, T, D).
        key: as the query.
        value: as the query.
        attention_mask: (B, 1, T, T), or what becomes this shape; true at what is attended to. None: all.
        dropout: probability.
        scaling: of the scores; 1/sqrt(D) by default.
        **others: what else `sdpa_attention_forward` takes.

    Returns:
        (B, T, H, D), and no weights.
    """
    causal = others.get("is_causal")
    if causal is None:
        causal = getattr(module, "is_causal", True)  # as transformers has it for its own
    plain = query.shape[1] == key.shape[1] and not (causal and attention_mask is None)
    plain = plain and all(others.get(name) is None for name in ("position_bias", "softcap", "cache"))
    if not (plain and dropout and query.device.type == "cpu"):
        found: tuple[Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **others
        )
        return found
    scores = query * (query.shape[-1] ** -0.5 if scaling is None else scaling) @ key.transpose(2, 3)
    if attention_mask is not None:
        scores = scores.masked_fill(~attention_mask, torch.finfo(scores.dtype).min)
    weights = drop(scores.softmax(-1).to(value.dtype), dropout)
    return (weights @ value).transpose(1, 2).contiguous(), None


AttentionInterface.register(QUICK, attend)
AttentionMaskInterface.register(QUICK, sdpa_mask)
