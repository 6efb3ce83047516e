"""Reading beside the writer: read-only connections on two threads, or none when inline."""

from __future__ import annotations

import asyncio
import queue
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

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


class ThreadReaders:
    """A small pool."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open = [connect.reader(path) for _ in range(THREADS)]
        self._free: queue.SimpleQueue[Database] = queue.SimpleQueue()
        for connection in self._open:
            self._free.put(connection)
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="store-reader")

    async def read(self, work: Callable[[Database], T]) -> T:
        """See Readers."""
        if not self._open:
            raise ShuttingDownError
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._read, work)

    def _read(self, work: Callable[[Database], T]) -> T:
        connection = self._free.get()
        try:
            return _view(connection, work)
        finally:
            self._free.put(connection)

    async def read_alone(self, work: Callable[[Database], T]) -> T:
        """See Readers."""
        return await asyncio.to_thread(_alone, self._path, work)

    async def beside(self, work: Callable[[], T]) -> T:
        """See Readers."""
        return await asyncio.to_thread(work)

    async def close(self) -> None:
        """See Readers."""
        opened, self._open = self._open, []
        await asyncio.to_thread(self._pool.shutdown)
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
