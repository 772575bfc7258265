"""The CPUs and autocast states that call for bfloat16."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from treeformers.kernels.precision import autocast_weight, computes_bf16


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({"cpu_name": "AMD EPYC", "avx512_bf16": True}, True),
        ({"cpu_name": "AMD EPYC", "avx512_bf16": False}, False),
        ({"cpu_name": "Intel Xeon", "avx512_bf16": True, "amx_bf16": True}, True),
        ({"cpu_name": "Intel Xeon", "avx512_bf16": True, "amx_bf16": False}, False),
        ({}, False),
    ],
)
def test_bf16_is_used_if_the_cpu_is_faster_in_it(
    capabilities: dict[str, Any], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert computes_bf16() is expected


def test_autocast_weight_follows_autocast() -> None:
    weight = torch.randn(2, 3, requires_grad=True)
    assert autocast_weight(weight).dtype == torch.float32 and not autocast_weight(weight).requires_grad
    with torch.autocast("cpu", torch.bfloat16):
        assert autocast_weight(weight).dtype == torch.bfloat16
