"""Durable admissions at the store: processor time a unit, beside a floor measured in the same run.

    python benchmarks/store_admit.py [--units 20000] [--writers 64] [--directory DIR]

The floor writes the same rows to a bare connection on one thread, in batches as large as there are
writers, with the same durability and nothing else: no decision, no receipt, no event loop.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import apsw

from clankie.core.admission import Offer
from clankie.core.conversation import OPERATOR, Kind
from clankie.host.ports import NewConversation
from clankie.store.sqlite import SqliteStore, connect, migrate

CONVERSATIONS = 16
TEXT = "Would you look at the build that failed this morning, and tell me what changed? " * 3
NAMES = [f"conversation-{n:026d}" for n in range(CONVERSATIONS)]
AUTHOR = '"author":{"principal":"operator","id":"operator"},"at":"2026-11-30T12:00:00.000Z"'
MESSAGE = f'{{"kind":"message",{AUTHOR},"role":"owner","text":"{TEXT}","delivery_id":"m-1"}}'
TURN = f'{{"kind":"turn",{AUTHOR},"phase":"admitted","delivery_id":"m-1"}}'

CONVERSATION = """
INSERT INTO conversation (id, request_id, name, kind, created_at) VALUES (?, ?, 'c', 'global', 0)"""
EVENT = """
INSERT INTO event (conversation, cursor, at, kind, ordinal, body) VALUES (?, ?, ?, ?, ?, ?)"""
INPUT = """
INSERT INTO input (id, conversation, origin, principal, author, text, mode, fingerprint, state,
  admitted_at, message_cursor)
VALUES (?, ?, 'owner', 'operator', 'operator', ?, 'auto', ?, 'queued', ?, ?)"""
MOVE = "INSERT INTO transition (record, before, after, at) VALUES (?, NULL, 'queued', ?)"
HEAD = "UPDATE conversation SET cursor = ?, ordinal = ?, waiting = ? WHERE n = ?"


@dataclass(frozen=True)
class Figure:
    """What one run took; seconds."""

    name: str
    units: int
    cpu: float
    wall: float

    def line(self) -> str:
        """One row of the table."""
        cpu, rate = self.cpu / self.units * 1e6, self.units / self.wall
        return f"{self.name:<44} {cpu:>10.1f} {rate:>12,.0f}"


class _Clock:
    def now(self) -> datetime:
        return datetime.fromtimestamp(time.time_ns() // 1_000_000 / 1000, UTC)

    def monotonic(self) -> float:
        return time.perf_counter()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Ids:
    def __init__(self) -> None:
        self._count = 0

    def new(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}-{self._count:026d}"

    def secret(self) -> str:
        return self.new("secret")


class _NoCrash:
    def reach(self, name: str) -> None:
        del name


def measured(name: str, units: int, work: Callable[[], None]) -> Figure:
    """Run it once and read both clocks."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Figure(name, units, time.process_time() - cpu, time.perf_counter() - wall)


def floor(path: Path, units: int, batch: int) -> Figure:
    """The same rows on a bare connection."""
    database = connect.writer(path)
    migrate.migrate(database, migrate.migrations(), 0)
    database.close()
    bare = apsw.Connection(str(path))
    bare.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -16384")
    for name in NAMES:
        bare.execute(CONVERSATION, (name, name))
    figure = measured(
        "floor: bare connection, the same rows", units, lambda: rows(bare, units, batch)
    )
    bare.close()
    return figure


def rows(bare: apsw.Connection, units: int, batch: int) -> None:
    """What an admission leaves, without what decides it."""
    at, cursors = 1_790_000_000_000, [0] * CONVERSATIONS
    for first in range(0, units, batch):
        bare.execute("BEGIN IMMEDIATE")
        for n in range(first, min(first + batch, units)):
            one, place = f"m-{n}", n % CONVERSATIONS
            cursors[place] = cursor = cursors[place] + 2
            conversation, ordinal = place + 1, cursor // 2
            bare.execute(EVENT, (conversation, cursor - 1, at, "message", ordinal, MESSAGE))
            bare.execute(EVENT, (conversation, cursor, at, "turn", None, TURN))
            bare.execute(INPUT, (one, conversation, TEXT, "0" * 64, at, cursor - 1))
            bare.execute(MOVE, (one, at))
            bare.execute(HEAD, (cursor, ordinal, ordinal, conversation))
        bare.execute("COMMIT")


async def store(path: Path, units: int, writers: int) -> Figure:
    """The store, with so many callers at once."""
    async with SqliteStore(
        path, clock=_Clock(), ids=_Ids(), crash=_NoCrash(), committed=lambda _events, _touched: None
    ) as opened:
        await opened.boot()
        for name in NAMES:
            new = NewConversation(id=name, request_id=name, name=name, kind=Kind.WORKSPACE)
            await opened.conversations.create(new, OPERATOR)

        async def caller(number: int) -> None:
            for n in range(number, units, writers):
                offer = Offer(
                    delivery_id=f"m-{n}", conversation=NAMES[n % CONVERSATIONS], text=TEXT
                )
                await opened.deliveries.admit(offer, units)

        wall, cpu = time.perf_counter(), time.process_time()
        async with asyncio.TaskGroup() as callers:
            for number in range(writers):
                callers.create_task(caller(number))
        spent = time.process_time() - cpu, time.perf_counter() - wall
    return Figure(f"store: admit, {writers} writers", units, *spent)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=20_000)
    parser.add_argument("--writers", type=int, default=64)
    parser.add_argument("--directory", type=Path, default=None)
    given = parser.parse_args()
    print(f"{given.units:,} units; CPU is of the whole process")
    print(f"{'':<44} {'us CPU/unit':>10} {'units/s':>12}")
    with tempfile.TemporaryDirectory(dir=given.directory) as directory:
        place = Path(directory)
        print(floor(place / "floor.db", given.units, given.writers).line())
        print(asyncio.run(store(place / "store.db", given.units, given.writers)).line())
        one = given.units // 20
        print(asyncio.run(store(place / "single.db", one, 1)).line())


if __name__ == "__main__":
    main()
