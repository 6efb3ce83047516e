"""The one writer: units wait in line, and everything that waits goes into one transaction.

The commit before is the only batching window: nothing is delayed on purpose. A batch is resolved
with one call to the event loop, where the host first hears what was committed and then each caller
gets its answer.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast

from clankie.core.errors import BackpressureError, ShuttingDownError
from clankie.store.sqlite.unit import Done, Kind, Transaction, Unit

if TYPE_CHECKING:
    from collections.abc import Callable

    from clankie.host.storage import Committed
    from clankie.store.sqlite.batch import Batches

T = TypeVar("T")
BATCH: Final = 256


class Writer(Protocol):
    """Where units are written. `outlived`: a later node has taken over, and this one is dead."""

    bound: int
    outlived: asyncio.Event

    async def write(self, kind: Kind, work: Callable[[Transaction], T]) -> T:
        """Run `work` in a transaction and return its result once that is on disk.

        Raises:
            BackpressureError, StorageUnavailableError, CommitUnknownError: see core.errors.
            ShuttingDownError: the writer was closed.
        """
        ...

    def backlog(self) -> int:
        """Units that are not yet written."""
        ...

    async def close(self) -> None:
        """Write what was accepted, then end."""
        ...


class _Line:
    """What both writers share: the line of waiting units, and telling what came of them."""

    def __init__(self, batches: Batches, committed: Committed, bound: int) -> None:
        self._batches = batches
        self._committed = committed
        self._loop = asyncio.get_running_loop()
        self._waiting = 0
        self._closed = False
        self._dead: BaseException | None = None
        self.outlived = asyncio.Event()
        self.bound = bound

    def backlog(self) -> int:
        """See Writer."""
        return self._waiting

    def _accept(self, kind: Kind, work: Callable[[Transaction], Any]) -> Unit:
        if self._dead is not None:
            raise self._dead
        if self._closed:
            raise ShuttingDownError
        if kind.bounded and self._waiting >= self.bound:
            raise BackpressureError
        self._waiting += 1
        return Unit(kind, work, self._loop.create_future())

    def _run(self, units: list[Unit]) -> Done:
        if self._dead is None:
            try:
                return self._batches.run(units)
            except BaseException as error:  # noqa: BLE001 - the process is said to be dead
                # A crash point ended the batch: like a killed process it answers nobody and writes
                # no more, but whoever waits must not hang.
                self._batches.abort()
                self._dead = error
        return Done([Unit(u.kind, u.work, u.future, error=self._dead) for u in units])

    def _resolve(self, done: Done) -> None:
        self._waiting -= len(done.units)
        if done.outlived:
            self.outlived.set()
        try:
            if done.events or done.touched:
                self._committed(done.events, done.touched)
        finally:
            for unit in done.units:
                future = unit.future
                if future.done():
                    continue
                if unit.error is None:
                    future.set_result(unit.result)
                else:
                    future.set_exception(unit.error)


class ThreadWriter(_Line):
    """Writes on a thread of its own."""

    def __init__(self, batches: Batches, committed: Committed, bound: int) -> None:
        super().__init__(batches, committed, bound)
        self._queue: queue.SimpleQueue[Unit | None] = queue.SimpleQueue()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._thread = threading.Thread(target=self._work, name="store-writer")
        self._thread.start()

    async def write(self, kind: Kind, work: Callable[[Transaction], T]) -> T:
        """See Writer."""
        unit = self._accept(kind, work)
        self._queue.put(unit)
        return cast("T", await unit.future)

    async def close(self) -> None:
        """See Writer."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
        await asyncio.shield(self._ended)
        self._thread.join()

    def _work(self) -> None:
        more = True
        while more:
            units, more = self._next()
            if units:
                self._loop.call_soon_threadsafe(self._resolve, self._run(units))
        self._loop.call_soon_threadsafe(self._end)

    def _next(self) -> tuple[list[Unit], bool]:
        units: list[Unit] = []
        entry = self._queue.get()
        while entry is not None:
            units.append(entry)
            if len(units) == BATCH:
                return units, True
            try:
                entry = self._queue.get_nowait()
            except queue.Empty:
                return units, True
        return units, False

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)


class InlineWriter(_Line):
    """Writes on the event loop itself: the same batches, but in an order that repeats."""

    def __init__(self, batches: Batches, committed: Committed, bound: int) -> None:
        super().__init__(batches, committed, bound)
        self._units: list[Unit] = []

    async def write(self, kind: Kind, work: Callable[[Transaction], T]) -> T:
        """See Writer."""
        unit = self._accept(kind, work)
        self._units.append(unit)
        if len(self._units) == 1:
            self._loop.call_soon(self._drain)
        return cast("T", await unit.future)

    async def close(self) -> None:
        """See Writer."""
        self._closed = True
        self._drain()

    def _drain(self) -> None:
        while self._units:
            units, self._units = self._units[:BATCH], self._units[BATCH:]
            self._resolve(self._run(units))
