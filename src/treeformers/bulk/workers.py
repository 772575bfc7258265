"""Who makes the shards: this process, several, or the machines of a Ray cluster. The shards are the same."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from itertools import islice
from typing import Any

from treeformers.bulk.shards import Reader, Shard, Task
from treeformers.tasks.load import Engine
from treeformers.training.workers import start_workers

__all__ = ["Load", "by_processes", "by_ray", "here"]

Load = Callable[[], Engine]


def here(load: Load, task: Task, shards: Sequence[Shard]) -> Iterator[tuple[Shard, int]]:
    """Work in this process; gives each shard when it is done, and its number of lines without a tree."""
    engine = _ready(load)
    with closing(Reader()) as reader:
        for shard in shards:
            yield shard, task.run(engine, reader, shard)


def by_processes(
    load: Load, task: Task, shards: Sequence[Shard], workers: int
) -> Iterator[tuple[Shard, int]]:
    """Work in several processes, few shards in waiting, and give them as they are done.

    Raises:
        ChildProcessError: a worker was killed.
    """
    waiting = iter(shards)
    running: dict[Future[int], Shard] = {}
    with start_workers(workers, _start_worker, load, task) as pool:
        while True:
            for shard in islice(waiting, 2 * workers - len(running)):
                running[pool.submit(_work, shard)] = shard
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()


_worker: tuple[Load, Task] | None = None
_engine: Engine | None = None
_reader = Reader()


def _start_worker(load: Load, task: Task) -> None:
    global _worker
    _worker = load, task


def _work(shard: Shard) -> int:
    global _engine
    assert _worker is not None
    load, task = _worker
    if _engine is None:
        _engine = _ready(load)
    return task.run(_engine, _reader, shard)


class _Actor:
    """An actor of Ray Data: a row that names a shard to one that says how many lines have no tree."""

    def __init__(self, load: Load, task: Task) -> None:
        self.engine, self.reader, self.task = _ready(load), Reader(), task

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        shard = Shard(*(row[name] for name in Shard.__slots__))
        return {"name": shard.name, "unparsed": self.task.run(self.engine, self.reader, shard)}


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
