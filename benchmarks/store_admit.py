"""Durable admissions at the store: processor time a unit, beside a floor measured in the same run.

The floor writes the same rows to a bare connection on one thread, in batches as large as there are
writers, with the same durability and nothing else: no decision, no receipt, no event loop.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import apsw
import uvloop

from clankie.core.admission import Offer
from clankie.core.conversation import OPERATOR, Kind
from clankie.host.clock import NoCrash, SystemClock, SystemIds
from clankie.host.storage import NewConversation
from clankie.store.sqlite import SqliteStore
from shape import Meter, Rounds, Row, scratch

if TYPE_CHECKING:
    from pathlib import Path

WRITERS = 64
TARGET = 65.0
_ROUNDS = 3
_TEXT = "Would you look at the build that failed this morning, and tell me what changed? " * 3
_AUTHOR = '"author":{"principal":"operator","id":"operator"},"at":"2026-11-30T12:00:00.000Z"'
_MESSAGE = f'{{"kind":"message",{_AUTHOR},"role":"owner","text":"{_TEXT}","delivery_id":"m-1"}}'
_TURN = f'{{"kind":"turn",{_AUTHOR},"phase":"admitted","delivery_id":"m-1"}}'

_SETTINGS = """
PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -16384"""
_EVENT = """
INSERT INTO event (conversation, cursor, at, kind, ordinal, body) VALUES (?, ?, ?, ?, ?, ?)"""
_INPUT = """
INSERT INTO input (id, conversation, origin, principal, author, text, mode, fingerprint, state,
  admitted_at, message_cursor)
VALUES (?, ?, 'owner', 'operator', 'operator', ?, 'auto', ?, 'queued', ?, ?)"""
_MOVE = "INSERT INTO transition (record, before, after, at) VALUES (?, NULL, 'queued', ?)"
_HEAD = "UPDATE conversation SET cursor = ?, ordinal = ?, waiting = ? WHERE n = ?"


def _floor(database: apsw.Connection, units: int, conversations: int) -> None:
    at, cursors = 1_790_000_000_000, [0] * conversations
    for first in range(0, units, WRITERS):
        database.execute("BEGIN IMMEDIATE")
        for n in range(first, min(first + WRITERS, units)):
            place = n % conversations
            cursors[place] = cursor = cursors[place] + 2
            number, ordinal = place + 2, cursor // 2
            database.execute(_EVENT, (number, cursor - 1, at, "message", ordinal, _MESSAGE))
            database.execute(_EVENT, (number, cursor, at, "turn", None, _TURN))
            database.execute(_INPUT, (f"m-{n}", number, _TEXT, "0" * 64, at, cursor - 1))
            database.execute(_MOVE, (f"m-{n}", at))
            database.execute(_HEAD, (cursor, ordinal, ordinal, number))
        database.execute("COMMIT")


def _store(path: Path) -> SqliteStore:
    return SqliteStore(
        path,
        clock=SystemClock(),
        ids=SystemIds(),
        crash=NoCrash(),
        committed=lambda _events, _touched: None,
    )


async def _made(store: SqliteStore, conversations: int) -> list[str]:
    await store.boot()
    names = [f"conversation-{n:026d}" for n in range(conversations)]
    for name in names:
        new = NewConversation(id=name, request_id=name, name=name, kind=Kind.WORKSPACE)
        await store.conversations.create(new, OPERATOR)
    return names


async def _prepared(path: Path, conversations: int) -> None:
    async with _store(path) as store:
        await _made(store, conversations)


async def _admitted(path: Path, units: int, conversations: int) -> Meter:
    async with _store(path) as store:
        names = await _made(store, conversations)

        async def caller(number: int) -> None:
            for n in range(number, units, WRITERS):
                one = Offer(delivery_id=f"m-{n}", conversation=names[n % conversations], text=_TEXT)
                await store.deliveries.admit(one, units)

        meter = Meter()
        async with asyncio.TaskGroup() as callers:
            for number in range(WRITERS):
                callers.create_task(caller(number))
        return meter.stop()


def _floor_of(path: Path, units: int, conversations: int) -> Meter:
    uvloop.run(_prepared(path, conversations))
    database = apsw.Connection(str(path))
    database.execute(_SETTINGS)
    meter = Meter()
    _floor(database, units, conversations)
    meter.stop()
    database.close()
    return meter


def _measured(units: int, conversations: int) -> list[Row]:
    floors: list[float] = []
    figures: list[float] = []
    rates: list[float] = []
    for n in range(_ROUNDS):
        with scratch() as directory:
            floors.append(_floor_of(directory / "floor.db", units, conversations).cpu / units * 1e6)
            meter = uvloop.run(_admitted(directory / f"{n}.db", units, conversations))
        figures.append(meter.cpu / units * 1e6)
        rates.append(units / meter.wall)
    cpu, rate, where = Rounds.of(figures), Rounds.of(rates), f"{conversations} conversations"
    return [
        Row(
            name=f"durable admission, {WRITERS} writers, {where}",
            figure=cpu.median,
            unit="us CPU",
            floor=Rounds.of(floors).median,
            floor_is="the same rows, bare",
            target=TARGET,
            spread=cpu.spread,
        ),
        Row(
            name=f"durable admissions, {WRITERS} writers, {where}",
            figure=rate.median,
            unit="/s",
            spread=rate.spread,
        ),
    ]


def rows(*, quick: bool) -> list[Row]:
    """Processor time of an admission, and how many a second this disk takes."""
    units = 4_000 if quick else 20_000
    return [*_measured(units, 1), *_measured(units, 16)]
