"""What a processor multiplies in, and that products stay those of float32."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch

from treeformers.kernels.precision import computes_bf16, narrow_products, wide_products

PRODUCTS = torch.backends.mkldnn.matmul
AMD = {"cpu_name": "AMD EPYC", "avx512_bw": True, "avx512_bf16": True}


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
def test_bfloat16_where_a_processor_is_faster_in_it(
    capabilities: dict[str, Any], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert computes_bf16() is expected


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        (AMD, "bf16"),
        (AMD | {"amx_bf16": True}, "before"),
        (AMD | {"avx512_bw": False}, "before"),
        (AMD | {"cpu_name": "Intel Xeon"}, "before"),
        ({}, "before"),
    ],
)
def test_products_are_asked_for_where_half_a_vector_would_be_idle(
    capabilities: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    before = PRODUCTS.fp32_precision
    with wide_products():
        assert PRODUCTS.fp32_precision == (before if expected == "before" else expected)
    with wide_products(False):
        assert PRODUCTS.fp32_precision == before
    assert PRODUCTS.fp32_precision == before


def test_they_end_with_the_last_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: AMD)
    before, found = PRODUCTS.fp32_precision, []
    entered, left = threading.Event(), threading.Event()

    def other() -> None:
        with wide_products():
            entered.set()
            left.wait(10)
            found.append(PRODUCTS.fp32_precision)

    thread = threading.Thread(target=other)
    with pytest.raises(ValueError, match="within"), wide_products():
        thread.start()
        assert entered.wait(10)
        raise ValueError("within")
    left.set()
    thread.join(10)
    assert found == ["bf16"] and PRODUCTS.fp32_precision == before


@pytest.mark.parametrize("capabilities", [AMD, {}], ids=["of halves of vectors", "elsewhere"])
def test_within_them_products_are_narrow_where_asked_for(
    capabilities: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    before = PRODUCTS.fp32_precision
    with narrow_products():
        assert PRODUCTS.fp32_precision == before
    with wide_products():
        wide = PRODUCTS.fp32_precision
        with pytest.raises(ValueError, match="within"), narrow_products():
            assert PRODUCTS.fp32_precision == before
            raise ValueError("within")
        assert PRODUCTS.fp32_precision == wide == ("bf16" if capabilities else before)
    assert PRODUCTS.fp32_precision == before


def test_products_stay_those_of_float32() -> None:
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(512, 512, generator=generator) for _ in range(2))
    exact = a.double() @ b.double()
    with wide_products():
        found = a @ b
    assert (found.double() - exact).abs().max().item() < 1e-3  # in bfloat16 some 0.3
