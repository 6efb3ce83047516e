"""What a seat does costs what it is given, however much happened in the conversation before."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import apsw
import pytest

from clankie.core.admission import Origin
from clankie.core.driver import Presence, Standing
from clankie.core.ids import HEAD
from clankie.core.seat import Activity, Entry, EntryKind, Report
from clankie.host.storage import Store
from contracts.seat_kit import BRIDGE, BY, LIMITS, offered, poll, seated
from contracts.store_handoff import one_handoff, ran
from contracts.store_kit import World, made
from store.test_projection_cost import Work

# A long life: turns of the service lane that the harness was told, and as many at the seat itself.
_INPUTS = """
WITH RECURSIVE step (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM step WHERE i < :count)
INSERT INTO input (id, conversation, origin, principal, author, text, mode, fingerprint, state,
  admitted_at, message_cursor, settled_at)
SELECT printf('old-%d', i), 1, 'owner', 'operator', 'operator', 'Old', 'auto', printf('%064d', i),
  'settled', 0, i, 1 FROM step"""
_ATTEMPTS = """
INSERT INTO attempt (id, delivery, conversation, n, state, node, token, started_at, asked_at,
  ended_at, start_cursor, end_cursor, seat, occupant, binding, poll_id, place)
SELECT id || '#1', id, 1, 1, iif(message_cursor % 2, 'replied', 'completed'),
  (SELECT id FROM node), 1, 0, 0, 1, message_cursor,
  iif(message_cursor % 2, NULL, message_cursor),
  iif(message_cursor % 2, 's-1', NULL), iif(message_cursor % 2, 'o-1', NULL),
  iif(message_cursor % 2, 'b-0', NULL), iif(message_cursor % 2, id, NULL),
  iif(message_cursor % 2, 0, NULL)
FROM input WHERE id LIKE 'old-%'"""
_EVENTS = """
INSERT INTO event (conversation, cursor, at, kind, ordinal, body)
SELECT 1, message_cursor, 0, 'message', message_cursor,
  json_object('kind', 'message', 'author', json_object('principal', 'operator', 'id', 'operator'),
    'at', '', 'role', 'owner', 'text', printf('%0200d', message_cursor))
FROM input WHERE id LIKE 'old-%'"""
_ENTRIES = """
INSERT INTO native_entry (session, id, cursor)
SELECT 1, printf('row-%d', message_cursor), message_cursor FROM input WHERE id LIKE 'old-%'"""
_SPANS = """
INSERT INTO span (id, conversation, state, from_cursor, to_cursor, opened_at, asked_at, ended_at,
  tries, seat, occupant, binding, poll_id)
SELECT 'h-' || id, 1, 'delivered', message_cursor - 1, message_cursor, 0, 0, 1, 1, 's-1', 'o-1',
  'b-0', id FROM input WHERE id LIKE 'old-%'"""
_HEAD = """
UPDATE conversation SET cursor = :count, ordinal = :count, service_cursor = :count,
  harness_cursor = :count WHERE n = 1"""


async def lived(build: Callable[[bool], World], path: Path, count: int) -> World:
    """A world in which a seat has sat at the head for long."""
    world = build(True)
    async with world.open() as store:
        await store.boot()
        await made(store, "den")
        await seated(store, world, conversation="den")
        row = Entry(id="r-0", kind=EntryKind.USER, at=world.clock.now(), text="Hi")
        await store.mail.sync("s-1", "n-0", [row], None, LIMITS)
    database = apsw.Connection(str(path))
    database.execute("PRAGMA synchronous = OFF")
    for statement in (_INPUTS, _ATTEMPTS, _EVENTS, _ENTRIES, _SPANS, _HEAD):
        database.execute(statement, {"count": count} if ":count" in statement else None)
    database.close()
    return world


async def everything(store: Store, world: World) -> dict[str, Callable[[], Awaitable[object]]]:
    """Each verb of a seat by name, in an order in which each has something to do."""
    now = world.clock.now()
    row = Entry(id="r-1", kind=EntryKind.ASSISTANT, at=now, text="Done")

    async def hand_off() -> None:
        event = await one_handoff(store, "p-1")
        await store.mail.ack("s-1", event.id, 1, BRIDGE)

    async def take() -> None:
        (event,) = await poll(store, poll_id="p-2")
        await store.mail.ack("s-1", event.id, event.attempt, BRIDGE)

    return {
        "attach": lambda: store.seats.attach("s-1", HEAD, None, BY),
        "run": lambda: ran(store, "w-1", "Wake"),
        "hand off": hand_off,
        "offer": lambda: _offer(store),
        "take": take,
        "empty poll": lambda: poll(store, poll_id="p-3"),
        "sync": lambda: store.mail.sync("s-1", "n-1", [row], Report(Activity.WAITING), LIMITS),
        "in flight": store.mail.in_flight,
        "counts": lambda: store.mail.counts("s-1"),
        "stored": lambda: store.mail.offered("s-1"),
        "project": lambda: store.seats.projected("s-1", "n-1", 1),
        "take over": lambda: store.mail.take_over("s-1", "silent", None),
        "queue": lambda: store.mail.end_queue("s-1", "gone"),
        "detach": lambda: store.seats.detach("s-1", "gone", BY),
        "boot": store.boot,
    }


async def _offer(store: Store) -> None:
    seat = await store.seats.get("s-1")
    standing = Standing(seat="s-1", occupant=seat.occupant.id, presence=Presence.LIVE)
    await offered(store, standing, "w-2", "Look", origin=Origin.WAKE)


async def test_a_longer_past_costs_no_more(
    build: Callable[[bool], World], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # proves: HAND-3, SEAT-1
    costs: list[dict[str, int]] = []
    for count in (300, 9_000):
        world = await lived(build, path, count)
        work = Work()
        monkeypatch.setattr(apsw, "connection_hooks", [work])
        async with world.open() as store:
            await store.boot()
            spent: dict[str, int] = {}
            for name, verb in (await everything(store, world)).items():
                before = work.steps
                await verb()
                spent[name] = work.steps - before
        monkeypatch.setattr(apsw, "connection_hooks", [])
        costs.append(spent)
        for file in path.parent.glob("clankie.db*"):
            file.unlink()
    short, long = costs
    assert {name for name in long if long[name] > short[name] * 1.2 + 50} == set()
    assert max(long.values()) < 5_000
