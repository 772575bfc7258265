from __future__ import annotations

import subprocess
import sys

import pytest

MEGABYTES = 200

# A process of its own: other tests leave freed memory behind, which a new array may use again.
SCRIPT = f"""
import numpy as np
from treeformers.training.memory import peak_memory, reset_peak_memory

reset_peak_memory()
print(peak_memory())
table = np.ones({MEGABYTES} * 125_000)
print(peak_memory())
del table
print(peak_memory())
reset_peak_memory()
print(peak_memory())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can set the peak memory back")
def test_the_peak_can_be_reset() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    before, high, kept, after = map(float, done.stdout.split())
    assert MEGABYTES - 10 < high - before < MEGABYTES + 50
    assert kept == pytest.approx(high, abs=5)
    assert after < high - MEGABYTES + 60


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can set the peak memory back")
def test_the_memory_of_the_starting_process_does_not_count() -> None:
    """A process that is started inherits the peak of `getrusage` from the one that starts it."""
    small = "from treeformers.training.memory import peak_memory; print(peak_memory())"
    start = f"subprocess.run([sys.executable, '-c', {small!r}])"
    big = f"import subprocess, sys; kept = b'x' * {MEGABYTES * 10**6}; {start}"
    done = subprocess.run([sys.executable, "-c", big], capture_output=True, text=True, check=True)
    assert float(done.stdout) < MEGABYTES
