"""Pretrained encoders in bfloat16, for inference on a CPU.

`fast_encoder` is the door: it returns None where the plain encoder of transformers is as fast, or where this
file does not know the encoder's layout. The twin computes the same as the plain encoder up to bfloat16: the
weights are cast and packed once, not in every call. One product yields queries, keys and values. The relative
positions of MPNet and the padding are one bias of PyTorch's fused attention.

Shapes: B rows of subwords, P subwords, D width, N attention heads.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treeformers.kernels.precision import computes_bf16

__all__ = ["FastEncoder", "fast_encoder", "packed_linear"]

_BERT = "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"
_NORM = "attention.output.LayerNorm"
_MPNET = "attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o"
_LAYOUTS = {
    "bert": (*_BERT, _NORM),
    "roberta": (*_BERT, _NORM),
    "xlm-roberta": (*_BERT, _NORM),
    "mpnet": (*_MPNET, "attention.LayerNorm"),
}
"""By model type, the names of the attention's modules: query, key, value, output and norm."""

Linear = Callable[[Tensor], Tensor]


def fast_encoder(body: nn.Module) -> FastEncoder | None:
    """A faster twin of a pretrained encoder, or None if there is none for this encoder and this device."""
    device = next(body.parameters()).device
    if device.type != "cpu" or not computes_bf16():
        return None
    config: Any = body.config
    if (
        config.model_type not in _LAYOUTS
        or config.hidden_act != "gelu"
        or getattr(config, "is_decoder", False)
    ):
        return None
    return FastEncoder(body)


class FastEncoder:
    """The twin of an encoder of `transformers`. It copies the weights, and has no gradients.

    Args:
        body: a model of a type in the table of layouts, with post-norm layers and GELU.
        dtype: dtype of weights and states.
    """

    def __init__(self, body: nn.Module, dtype: torch.dtype = torch.bfloat16) -> None:
        self._body: Any = body
        self.dtype = dtype
        config: Any = body.config
        self.heads: int = config.num_attention_heads
        names = _LAYOUTS[config.model_type]
        with torch.inference_mode():
            self.layers = [
                _Layer(layer, names, config.layer_norm_eps, dtype)
                for layer in body.get_submodule("encoder.layer").children()
            ]

    def __call__(self, input_ids: Tensor, attention_mask: Tensor) -> SimpleNamespace:
        """The last states (B, P, D) as `last_hidden_state`, from subwords and a mask of real ones (B, P)."""
        states = self._body.embeddings(input_ids=input_ids)
        encoder = self._body.encoder
        bias = torch.zeros_like(attention_mask, dtype=self.dtype).masked_fill(~attention_mask, -torch.inf)
        bias = bias[:, None, None]
        if hasattr(encoder, "compute_position_bias"):
            bias = bias + encoder.compute_position_bias(states[:1]).to(self.dtype)
        else:
            bias = bias.expand(-1, -1, input_ids.shape[1], -1)
        states = states.to(self.dtype)
        for layer in self.layers:
            states = layer(states, bias, self.heads)
        return SimpleNamespace(last_hidden_state=states)


class _Layer:
    def __init__(self, layer: nn.Module, names: tuple[str, ...], eps: float, dtype: torch.dtype) -> None:
        *inputs, output, norm = (layer.get_submodule(name) for name in names)
        self.inputs = _joined(inputs, dtype)
        self.output = _joined([output], dtype)
        self.up = _joined([layer.get_submodule("intermediate.dense")], dtype)
        self.down = _joined([layer.get_submodule("output.dense")], dtype)
        self.norms = [_norm(part, eps, dtype) for part in (norm, layer.get_submodule("output.LayerNorm"))]

    def __call__(self, states: Tensor, bias: Tensor, heads: int) -> Tensor:
        queries, keys, values = self.inputs(states).unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
        context = F.scaled_dot_product_attention(queries, keys, values, attn_mask=bias)
        context = context.transpose(1, 2).flatten(2)
        states = self.norms[0](self.output(context).add_(states))
        return self.norms[1](self.down(F.gelu(self.up(states))).add_(states))


def _norm(norm: Any, eps: float, dtype: torch.dtype) -> Linear:
    weight, bias = norm.weight.to(dtype), norm.bias.to(dtype)
    return lambda states: F.layer_norm(states, weight.shape, weight, bias, eps)


def packed_linear(weight: Tensor, bias: Tensor | None, dtype: torch.dtype = torch.bfloat16) -> Linear:
    """A linear layer, without gradients, whose weights are cast and packed once.

    oneDNN reorders a matrix in every product unless it is packed. PyTorch has that operation for its compiler
    only, so a PyTorch without it falls back to the plain product.

    Args:
        weight: (outputs, inputs).
        bias: (outputs,).
        dtype: dtype of the product and of its result.
    """
    weight, bias = weight.detach().to(dtype), None if bias is None else bias.detach().to(dtype)
    try:
        product = torch.ops.mkldnn._linear_pointwise
        packed = torch.ops.mkldnn._reorder_linear_weight(weight)
    except (AttributeError, RuntimeError):
        return lambda states: F.linear(states.to(dtype), weight, bias)
    return lambda states: product(states.to(dtype), packed, bias, "none", [], "")


def _joined(parts: list[Any], dtype: torch.dtype) -> Linear:
    """One product for several linear layers with the same input."""
    return packed_linear(
        torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts]), dtype
    )
