"""Reading beside the writer: read-only connections on two threads, or none when inline."""

from __future__ import annotations

import asyncio
import queue
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import apsw

from clankie.core.errors import ReceiptsUnreadableError, ShuttingDownError
from clankie.store.sqlite import connect

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from clankie.store.sqlite.sql import Database

T = TypeVar("T")
THREADS: Final = 2
_UNREADABLE: Final = (apsw.CorruptError, apsw.NotADBError, apsw.IOError, apsw.CantOpenError)


class Readers(Protocol):
    """Where reads happen."""

    async def read(self, work: Callable[[Database], T]) -> T:
        """Run `work` in one consistent view. Raises ReceiptsUnreadableError, ShuttingDownError."""
        ...

    async def read_alone(self, work: Callable[[Database], T]) -> T:
        """Run `work` outside a transaction, on a connection of its own."""
        ...

    async def beside(self, work: Callable[[], T]) -> T:
        """Run what blocks and needs no database."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


def _view(connection: Database, work: Callable[[Database], T]) -> T:
    try:
        connection.execute("BEGIN")
        try:
            return work(connection)
        finally:
            if connection.in_transaction:
                connection.execute("COMMIT")
    except _UNREADABLE as error:
        raise ReceiptsUnreadableError(str(error)) from error


def _alone(path: Path, work: Callable[[Database], T]) -> T:
    connection = connect.reader(path)
    try:
        return work(connection)
    finally:
        connection.close()


class _Asked:
    """A read that waits or is done."""

    __slots__ = ("_future", "_work")

    def __init__(self, work: Callable[[Database], Any], future: asyncio.Future[Any]) -> None:
        self._work = work
        self._future = future

    def run(self, connection: Database) -> Callable[[], None]:
        """Read, on a thread; what to do on the event loop then."""
        try:
            return partial(self._tell, self._future.set_result, _view(connection, self._work))
        except Exception as error:  # noqa: BLE001 - it belongs to the caller, who waits for it
            return partial(self._tell, self._future.set_exception, error)

    def _tell(self, tell: Callable[[Any], None], what: object) -> None:
        if not self._future.done():
            tell(what)


class ThreadReaders:
    """Plain threads: an executor costs a third more for each read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._open = [connect.reader(path) for _ in range(THREADS)]
        self._queue: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._serve, args=(connection,), name=f"store-reader-{n}")
            for n, connection in enumerate(self._open)
        ]
        for thread in self._threads:
            thread.start()

    async def read(self, work: Callable[[Database], T]) -> T:
        """See Readers."""
        if not self._open:
            raise ShuttingDownError
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put(_Asked(work, future))
        return await future

    def _serve(self, connection: Database) -> None:
        while (asked := self._queue.get()) is not None:
            self._loop.call_soon_threadsafe(asked.run(connection))

    async def read_alone(self, work: Callable[[Database], T]) -> T:
        """See Readers."""
        return await asyncio.to_thread(_alone, self._path, work)

    async def beside(self, work: Callable[[], T]) -> T:
        """See Readers."""
        return await asyncio.to_thread(work)

    async def close(self) -> None:
        """See Readers."""
        opened, self._open = self._open, []
        for _ in opened:
            # Behind everything that was asked before.
            self._queue.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)
        for connection in opened:
            connection.close()


class InlineReaders:
    """One connection, read on the event loop."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open: Database | None = connect.reader(path)

    async def read(self, work: Callable[[Database], T]) -> T:
        """See Readers."""
        await asyncio.sleep(0)
        if self._open is None:
            raise ShuttingDownError
        return _view(self._open, work)

    async def read_alone(self, work: Callable[[Database], T]) -> T:
        """See Readers."""
        await asyncio.sleep(0)
        return _alone(self._path, work)

    async def beside(self, work: Callable[[], T]) -> T:
        """See Readers."""
        await asyncio.sleep(0)
        return work()

    async def close(self) -> None:
        """See Readers."""
        opened, self._open = self._open, None
        if opened is not None:
            opened.close()
