from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from treeformers.training.lock import lock_folder, start_workers


def die(_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def variable(name: str) -> str | None:
    return os.environ.get(name)


def remember(name: str, value: str) -> None:
    os.environ[name] = value


def test_each_is_prepared_and_has_its_share_of_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    with start_workers(2, remember, "SPECIES", "owl") as pool:
        assert list(pool.map(variable, ["SPECIES", "OMP_NUM_THREADS"])) == ["owl", "3"]
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    with start_workers(8) as pool:
        assert pool.submit(variable, "OMP_NUM_THREADS").result() == "5"


def test_one_that_is_killed_ends_all() -> None:
    with (
        pytest.raises(ChildProcessError, match=r"a process was killed, .*; the run can be resumed"),
        start_workers(2) as pool,
    ):
        list(pool.map(die, range(3)))


STARTS = """
import time

from treeformers.training.workers import start_workers

if __name__ == "__main__":
    with start_workers(1) as pool:
        pool.submit(print, "begun", flush=True).result()
        pool.submit(time.sleep, 600).result()
"""


def test_they_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    script = tmp_path / "starts.py"
    script.write_text(STARTS)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.readline() == "begun\n"
        parent.kill()
        # Whoever it started holds this end too: it is closed when the last of them is gone.
        assert parent.communicate(timeout=60) == ("", None)


HOLDS = """
import sys
import time
from pathlib import Path

from treeformers.training.lock import lock_folder

with lock_folder(Path(sys.argv[1])):
    print("begun", flush=True)
    time.sleep(600)
"""


def test_a_folder_is_written_by_one(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "folder"
    with lock_folder(folder):
        with (
            pytest.raises(BlockingIOError, match=rf"{folder}: another process writes there; wait until"),
            lock_folder(folder),
        ):
            pass
        with lock_folder(tmp_path / "other"):
            pass
    assert not list(folder.iterdir())
    with lock_folder(folder):
        pass


def test_one_that_is_killed_keeps_nobody_out(tmp_path: Path) -> None:
    script, folder = tmp_path / "holds.py", tmp_path / "folder"
    script.write_text(HOLDS)
    with subprocess.Popen(
        [sys.executable, str(script), str(folder)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "begun\n"
        with pytest.raises(BlockingIOError, match="another process"), lock_folder(folder):
            pass
        other.kill()
    assert (folder / LOCK).is_file()
    with lock_folder(folder):
        pass
    assert not list(folder.iterdir())
