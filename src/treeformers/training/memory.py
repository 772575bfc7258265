"""The most memory that this process has held."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["peak_memory", "reset_peak_memory"]


def reset_peak_memory() -> None:
    """Begin to measure anew; only Linux can, elsewhere the peak is that of the whole life of the process."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_memory() -> float | None:
    """The peak resident memory in MB (10^6 bytes), with that of the libraries; None where none is told."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1)
