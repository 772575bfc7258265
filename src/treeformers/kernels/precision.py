"""What the processor multiplies matrices fastest in, and how."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

__all__ = ["MANY", "computes_bf16", "halves_vectors", "narrow_products", "wide_products"]


def computes_bf16() -> bool:
    """Whether this device multiplies faster in bfloat16 than in float32.

    Intel's cores do so with AMX alone, which a virtual machine may hide: by AVX-512 they multiply half as
    fast in bfloat16 as in float32, those of AMD twice as fast. Cores without either take tens of times as
    long.
    """
    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported(including_emulation=False)
    capabilities = torch.cpu.get_capabilities()
    by_vectors = capabilities.get("avx512_bf16") and not _of_intel(capabilities)
    return bool(capabilities.get("amx_bf16") or by_vectors)


class _Products:
    """The blocks that threads are in, and what torch was set to before them."""

    lock = threading.Lock()
    wide = 0
    narrow = 0
    before = ""

    @classmethod
    def count(cls, wide: int = 0, narrow: int = 0) -> None:
        """Enter or leave blocks: products are wide while more blocks ask for it than against."""
        products: Any = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
        with cls.lock:
            if not cls.wide:
                cls.before = products.fp32_precision
            cls.wide += wide
            cls.narrow += narrow
            products.fp32_precision = "bf16" if cls.wide > cls.narrow else cls.before


MANY = 8
"""Sentences of a batch from which on wide products are worth their kernels."""


@contextmanager
def wide_products(wanted: bool = True) -> Iterator[None]:
    """Within such a block, float32 is multiplied over whole AVX-512 vectors on processors of AMD, too.

    There the library that torch multiplies float32 with (MKL) leaves half of each vector idle, and oneDNN,
    which it has for bfloat16, does not. oneDNN is asked by allowing it bfloat16 within the product. It makes
    use of that where there is AMX alone, so that results stay those of float32; elsewhere the block changes
    nothing. For each new shape of a product it compiles a kernel and keeps it, which takes longer than it
    saves on few rows or a shape that does not come again.

    Args:
        wanted: without it nothing changes.
    """
    if not wanted or not halves_vectors():
        yield
        return
    _Products.count(wide=1)
    try:
        yield
    finally:
        _Products.count(wide=-1)


@contextmanager
def narrow_products(wanted: bool = True) -> Iterator[None]:
    """Within such a block in `wide_products`, float32 is multiplied as elsewhere.

    For torch's fused attention, which multiplies many small blocks: on each oneDNN loses more than it saves.
    And for shapes that do not come again.

    Args:
        wanted: without it nothing changes.
    """
    if not wanted or not _Products.wide:
        yield
        return
    _Products.count(narrow=1)
    try:
        yield
    finally:
        _Products.count(narrow=-1)


def halves_vectors() -> bool:
    """Whether MKL leaves half of each vector idle on this processor: one of AMD with AVX-512."""
    capabilities = torch.cpu.get_capabilities()
    amx = capabilities.get("amx_bf16") or capabilities.get("amx_fp16")
    return bool(capabilities.get("avx512_bw") and not amx and not _of_intel(capabilities))


def _of_intel(capabilities: Mapping[str, Any]) -> bool:
    return "Intel" in capabilities.get("cpu_name", "")
