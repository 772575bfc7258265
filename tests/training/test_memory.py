from __future__ import annotations

import sys

import numpy as np
import pytest

from treeformers.training.memory import peak_memory, reset_peak_memory

MEGABYTES = 200


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can set the peak memory back")
def test_the_peak_can_be_reset() -> None:
    reset_peak_memory()
    before = peak_memory()
    table = np.ones(MEGABYTES * 125_000)
    high = peak_memory()
    assert before is not None and high is not None
    assert MEGABYTES - 10 < high - before < MEGABYTES + 50
    del table
    assert peak_memory() == pytest.approx(high, abs=5)
    reset_peak_memory()
    after = peak_memory()
    assert after is not None and after < high - MEGABYTES + 60
