"""The twins of pretrained encoders: the same states as the plain encoders, and the door to them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel

from treeformers.kernels import encoder as kernel
from treeformers.kernels.encoder import FastEncoder, fast_encoder, packed_linear

SIZES = {
    "vocab_size": 30,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 40,
    "initializer_range": 0.3,
}
PAD = 1


def plain(model_type: str, **options: Any) -> nn.Module:
    torch.manual_seed(0)
    config = AutoConfig.for_model(model_type, **SIZES, pad_token_id=PAD, **options)
    body: nn.Module = AutoModel.from_config(config).eval()
    for parameter in body.parameters():
        nn.init.normal_(parameter, std=0.3)  # biases and norms, too
    return body


def inputs() -> tuple[Tensor, Tensor]:
    ids = torch.randint(2, 30, (3, 21))
    ids[0, 9:], ids[2, 20:] = PAD, PAD
    return ids, ids.ne(PAD)


@pytest.mark.parametrize("model_type", ["bert", "roberta", "xlm-roberta", "mpnet"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.bfloat16, 0.1)])
def test_the_twin_computes_the_states_of_the_plain_encoder(
    model_type: str, dtype: torch.dtype, tolerance: float
) -> None:
    body = plain(model_type)
    ids, mask = inputs()
    with torch.inference_mode():
        expected = body(input_ids=ids, attention_mask=mask).last_hidden_state[mask]
        found = FastEncoder(body, dtype)(ids, mask).last_hidden_state[mask]
    assert found.dtype == dtype
    assert float((found - expected).abs().mean()) < tolerance * float(expected.abs().mean())


@pytest.mark.parametrize("bias", [None, torch.randn(5)])
def test_a_packed_product_is_the_plain_product_without_packing_too(
    bias: Tensor | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    weight, states = torch.randn(5, 7), torch.randn(2, 3, 7)
    expected = F.linear(states, weight, bias)
    with torch.inference_mode():
        torch.testing.assert_close(packed_linear(weight, bias, torch.float32)(states), expected)
        torch.testing.assert_close(
            packed_linear(weight, bias)(states), expected.bfloat16(), rtol=0.05, atol=0.1
        )
        monkeypatch.setattr(torch.ops, "mkldnn", SimpleNamespace())
        torch.testing.assert_close(packed_linear(weight, bias, torch.float32)(states), expected)


@pytest.mark.parametrize(
    ("faster", "model_type", "options", "expected"),
    [
        (True, "bert", {}, True),
        (False, "bert", {}, False),
        (True, "bert", {"hidden_act": "relu"}, False),
        (True, "electra", {}, False),
    ],
)
def test_there_is_a_twin_where_it_is_faster_and_the_layout_is_known(
    faster: bool,
    model_type: str,
    options: dict[str, Any],
    expected: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel, "computes_bf16", lambda: faster)
    assert (fast_encoder(plain(model_type, **options)) is not None) is expected
