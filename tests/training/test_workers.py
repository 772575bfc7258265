from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from treeformers.training.workers import start_workers


def die(_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def variable(name: str) -> str | None:
    return os.environ.get(name)


def set_variable(name: str, value: str) -> None:
    os.environ[name] = value


def test_each_worker_is_prepared_and_gets_an_equal_number_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    with start_workers(2, set_variable, "SPECIES", "owl") as pool:
        assert list(pool.map(variable, ["SPECIES", "OMP_NUM_THREADS"])) == ["owl", "3"]
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    with start_workers(8) as pool:
        assert pool.submit(variable, "OMP_NUM_THREADS").result() == "5"


def test_a_killed_worker_ends_the_pool() -> None:
    with (
        pytest.raises(ChildProcessError, match=r"a process was killed, .*; the run can be resumed"),
        start_workers(2) as pool,
    ):
        list(pool.map(die, range(3)))


START_WORKER = """
import time

from treeformers.training.workers import start_workers

if __name__ == "__main__":
    with start_workers(1) as pool:
        pool.submit(print, "started", flush=True).result()
        pool.submit(time.sleep, 600).result()
"""


def test_workers_exit_with_their_parent(tmp_path: Path) -> None:
    script = tmp_path / "start.py"
    script.write_text(START_WORKER)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.readline() == "started\n"
        parent.kill()
        # The worker holds this end of the pipe too, so the pipe closes when the worker has exited.
        assert parent.communicate(timeout=60) == ("", None)
