"""Who makes the shards: this process, several, or the machines of a Ray cluster. The shards are the same."""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import Any

from treeformers.bulk.shards import Shard, Task
from treeformers.engine import Engine

__all__ = ["Load", "by_processes", "by_ray", "here"]

Load = Callable[[], Engine]


def here(load: Load, task: Task, shards: Sequence[Shard]) -> Iterator[tuple[Shard, int]]:
    """Work in this process; gives each shard when it is done, and its number of lines without a tree."""
    engine = _ready(load)
    for shard in shards:
        yield shard, task.run(engine, shard)


def by_processes(
    load: Load, task: Task, shards: Sequence[Shard], workers: int
) -> Iterator[tuple[Shard, int]]:
    """Work in several processes, few shards in waiting, and give them as they are done.

    Raises:
        ChildProcessError: a worker was killed.
    """
    threads = max(1, (os.cpu_count() or 1) // workers)
    pool = ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("spawn"),  # torch's threads do not survive a fork
        initializer=_start_worker,
        initargs=(load, task, threads),
    )
    waiting = iter(shards)
    running: dict[Future[int], Shard] = {}
    try:
        while True:
            for shard in islice(waiting, 2 * workers - len(running)):
                running[pool.submit(_work, shard)] = shard
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    except BrokenProcessPool:
        raise ChildProcessError(
            "a worker was killed, out of memory perhaps; the run can be resumed"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


_worker: tuple[Load, Task] | None = None
_engine: Engine | None = None


def _start_worker(load: Load, task: Task, threads: int) -> None:
    global _worker
    _worker = load, task
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))  # torch reads it when the engine is loaded
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _work(shard: Shard) -> int:
    global _engine
    assert _worker is not None
    load, task = _worker
    if _engine is None:
        _engine = _ready(load)
    return task.run(_engine, shard)


class _Actor:
    """An actor of Ray Data: a row that names a shard to one that says how many lines have no tree."""

    def __init__(self, load: Load, task: Task) -> None:
        self.engine, self.task = _ready(load), task

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        shard = Shard(*(row[name] for name in Shard.__slots__))
        return {"name": shard.name, "unparsed": self.task.run(self.engine, shard)}


def by_ray(load: Load, task: Task, shards: Sequence[Shard], workers: int) -> Iterator[tuple[Shard, int]]:
    """Work on a Ray cluster and give the shards as they are done.

    Raises:
        ValueError: Ray is not installed.
        ChildProcessError: an actor failed.
    """
    try:
        from ray import data
        from ray.exceptions import RayError
    except ImportError as error:
        raise ValueError(f"Ray is not installed ({error}); expected pip install treeformers[ray]") from None
    data.DataContext.get_current().enable_progress_bars = False
    named = {shard.name: shard for shard in shards}
    rows = [{name: getattr(shard, name) for name in Shard.__slots__} for shard in shards]
    actors = data.ActorPoolStrategy(size=min(workers, len(rows)))
    done = data.from_items(rows, override_num_blocks=len(rows)).map(
        _Actor, fn_constructor_args=(load, task), compute=actors
    )
    try:
        for row in done.iter_rows():
            yield named[row["name"]], row["unparsed"]
    except RayError as error:
        *_, reason = str(error).strip().splitlines() or [type(error).__name__]
        raise ChildProcessError(f"Ray: {reason}; the run can be resumed") from error


def _ready(load: Load) -> Engine:
    engine = load()
    gc.freeze()  # the garbage collector need not look through torch again for every few thousand trees
    return engine
