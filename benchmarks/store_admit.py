"""Durable admissions at the store: processor time a unit, beside a floor measured in the same run.

The floor writes the same rows to a bare connection on one thread, in batches as large as there are
writers, with the same durability and nothing else: no decision, no receipt, no event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import apsw
import uvloop

from clankie.core.admission import Offer
from clankie.core.conversation import OPERATOR, Kind
from clankie.host.clock import NoCrash, SystemClock, SystemIds
from clankie.host.storage import NewConversation
from clankie.store.sqlite import SqliteStore, connect, migrate
from shape import Meter, Rounds, Row, scratch

if TYPE_CHECKING:
    from pathlib import Path

WRITERS = 64
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


def floor(path: Path, units: int, batch: int) -> Meter:
    """The same rows on a bare connection."""
    database = connect.writer(path)
    migrate.migrate(database, migrate.migrations(), 0)
    database.close()
    bare = apsw.Connection(str(path))
    bare.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -16384")
    for name in NAMES:
        bare.execute(CONVERSATION, (name, name))
    meter = Meter()
    _fill(bare, units, batch)
    meter.stop()
    bare.close()
    return meter


def _fill(bare: apsw.Connection, units: int, batch: int) -> None:
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


async def store(path: Path, units: int, writers: int) -> Meter:
    """The store, with so many callers at once."""
    async with SqliteStore(
        path,
        clock=SystemClock(),
        ids=SystemIds(),
        crash=NoCrash(),
        committed=lambda _events, _touched: None,
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

        meter = Meter()
        async with anyio.create_task_group() as callers:
            for number in range(writers):
                callers.start_soon(caller, number)
        return meter.stop()


def rows(*, quick: bool) -> list[Row]:
    """The store under many callers and under one, beside the bare connection."""
    units, rounds = (4_000, 2) if quick else (10_000, 3)
    bare: list[Meter] = []
    many: list[Meter] = []
    single: list[Meter] = []
    with scratch() as place:
        for number in range(rounds):
            bare.append(floor(place / f"floor-{number}.db", units, WRITERS))
            many.append(uvloop.run(store(place / f"many-{number}.db", units, WRITERS)))
            single.append(uvloop.run(store(place / f"one-{number}.db", units // 20, 1)))
    least, cpu = _each(bare, units), _each(many, units)
    rate = Rounds.of([units / meter.wall for meter in many])
    one = _each(single, units // 20)
    floor_is = f"bare connection, the same rows, {WRITERS} a commit"
    return [
        Row(
            name=f"admission at the store, {WRITERS} writers, processor",
            figure=cpu.median,
            unit="us",
            target=65.0,
            floor=least.median,
            floor_is=floor_is,
            spread=cpu.spread,
        ),
        Row(
            name=f"admission at the store, {WRITERS} writers",
            figure=rate.median,
            unit="/s",
            floor=Rounds.of([units / meter.wall for meter in bare]).median,
            floor_is=floor_is,
            spread=rate.spread,
        ),
        Row(
            name="admission at the store, 1 writer, processor",
            figure=one.median,
            unit="us",
            spread=one.spread,
        ),
    ]


def _each(meters: list[Meter], units: int) -> Rounds:
    return Rounds.of([meter.cpu / units * 1e6 for meter in meters])
