"""Requests that come at the same time are computed together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Generic, TypeVar

__all__ = ["Batcher"]

MOMENTS = 8
Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Batcher(Generic[Item, Answer]):
    """Gathers items of all requests for a moment and computes them in one call.

    A batch waits until for a moment nothing more comes, since a batch takes hardly longer than its longest
    item: those who have just got an answer and ask again come along, instead of waiting for the batch after.
    An item whose request was given up is not computed. Where a batch fails with a ValueError its items are
    computed one by one, so that the fault falls on the item that has it.

    Args:
        compute: gives an answer for each item; called in a thread of the executor.
        executor: where it is called.
        most: items of a batch.
        wait: the moment, in seconds; a batch waits for at most `MOMENTS` of them.
        size: of an item.
        most_size: of a batch, unless one item is larger.
    """

    def __init__(
        self,
        compute: Callable[[Sequence[Item]], Sequence[Answer]],
        executor: Executor,
        most: int = 64,
        wait: float = 0.004,
        size: Callable[[Item], int] = lambda item: 1,
        most_size: int | None = None,
    ) -> None:
        self.compute, self.executor = compute, executor
        self.most, self.wait = most, wait
        self.size, self.most_size = size, most_size
        self._waiting: deque[tuple[Item, asyncio.Future[Answer]]] = deque()
        self._running: asyncio.Task[None] | None = None

    async def submit(self, items: Sequence[Item]) -> list[Answer]:
        """The answers of the items.

        Raises:
            ValueError: what `compute` raises of one of them.
        """
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[Answer]] = [loop.create_future() for _ in items]
        self._waiting.extend(zip(items, futures, strict=True))
        if self._running is None or self._running.done():
            self._running = loop.create_task(self._run())
        try:
            return [await future for future in futures]
        finally:
            for future in futures:
                if not future.cancel() and not future.cancelled():
                    future.exception()  # has been seen: one fault is reported of a request

    async def _run(self) -> None:
        while self._waiting:
            await self._gather()
            if batch := self._next():
                await self._answer(batch)

    async def _gather(self) -> None:
        """Wait until nothing more comes, or the batch is full."""
        for _ in range(MOMENTS):
            before = len(self._waiting)
            if before >= self.most:
                return
            await asyncio.sleep(self.wait)
            if len(self._waiting) == before:
                return

    def _next(self) -> list[tuple[Item, asyncio.Future[Answer]]]:
        batch: list[tuple[Item, asyncio.Future[Answer]]] = []
        room = self.most_size
        while self._waiting and len(batch) < self.most:
            item, future = self._waiting[0]
            if not future.done():
                if room is not None:
                    room -= self.size(item)
                    if room < 0 and batch:
                        break
                batch.append((item, future))
            self._waiting.popleft()
        return batch

    async def _answer(self, batch: Sequence[tuple[Item, asyncio.Future[Answer]]]) -> None:
        loop = asyncio.get_running_loop()
        items = [item for item, _ in batch]
        try:
            answers = await loop.run_in_executor(self.executor, self.compute, items)
        except ValueError as error:
            if len(batch) == 1:
                _fail(batch[0][1], error)
                return
            for one in batch:
                if not one[1].done():
                    await self._answer([one])
        except Exception as error:
            for _, future in batch:
                _fail(future, error)
        else:
            for (_, future), answer in zip(batch, answers, strict=True):
                if not future.done():
                    future.set_result(answer)


def _fail(future: asyncio.Future[Answer], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
