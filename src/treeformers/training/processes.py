"""Processes that share the cores of this machine, and those that would write the same folder."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

__all__ = ["LOCK", "sole_writer", "start_processes"]

LOCK = ".lock"
"""The file that says that a folder is written."""


@contextmanager
def start_processes(
    number: int, prepare: Callable[..., None] | None = None, *arguments: Any
) -> Iterator[ProcessPoolExecutor]:
    """Several processes for the work of a block; what has not begun at its end is left.

    Each computes on as many threads as there are cores to it, unless `OMP_NUM_THREADS` says how many.

    Args:
        number: of processes.
        prepare: what each does first.
        *arguments: what that is called with.

    Raises:
        ChildProcessError: one of them was killed.
    """
    threads = max(1, (os.cpu_count() or 1) // number)
    pool = ProcessPoolExecutor(
        number,
        mp_context=multiprocessing.get_context("spawn"),  # torch's threads do not survive a fork
        initializer=_begin,
        initargs=(threads, prepare, arguments),
    )
    try:
        yield pool
    except BrokenProcessPool:
        raise ChildProcessError(
            "a process was killed, out of memory perhaps; the run can be resumed"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """A folder, made if it is not there, that one process at a time writes: the one in such a block.

    Of a process that is killed nothing stays but an empty file, which keeps nobody out.

    Raises:
        BlockingIOError: another one writes there.
        OSError: the folder cannot be made or written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise BlockingIOError(
            f"{folder}: another process writes there; wait until it has ended, or use another folder"
        ) from None
    try:
        yield
    finally:
        with suppress(OSError):  # who has it open sees that it is gone
            (folder / LOCK).unlink()
        lock.release()


def _begin(threads: int, prepare: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))  # torch reads it when it is loaded
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if prepare is not None:
        prepare(*arguments)


def _end_with_parent() -> None:
    """A process whose parent was killed would wait for work for ever, or train on beside the next run."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
