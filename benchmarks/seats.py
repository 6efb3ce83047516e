"""Seats: a thousand parked polls, the way of an input into a poll, hooks, and a long log."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import uuid
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import uvloop

import projection
from clankie.core.conversation import OPERATOR, Author, Principal
from clankie.core.ids import HEAD
from clankie.core.seat import Capabilities, Native, Occupant
from clankie.core.settings import SeatLimits
from clankie.host.bearer import Token
from clankie.host.clock import SystemClock
from clankie.host.seatstore import Ask, Grant, Seat
from clankie.seats import folder, registration, sync
from clankie.seats.process import started_at
from hooks import BARE
from processes import service, token
from shape import Rounds, Row, child_cpu, scratch
from wire import Connection

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from clankie.store.sqlite.store import SqliteStore

PARKED, SENT = 1_000, 300
_ENTRY = "import sys; from clankie.cli.entry import main; sys.exit(main())"
_SYNC = [sys.executable, "-P", "-c", _ENTRY, "seat-sync"]
_SESSION = "6f1c1c7e-3b0e-4a6e-8f53-2f4b7a0d9a11"
_ROWS, _ROW = 12_800, 4_096
"""50 MiB of transcript."""
_CAN: dict[str, object] = {}
_LEAST = 6
"""The first inputs of a fresh process are not counted."""


class Bridge:
    """One bridge, that polls and acknowledges."""

    def __init__(self, home: Path, port: int, name: str) -> None:
        self._home, self._port, self.name = home, port, name
        self._binding, self._polls = str(uuid.uuid5(uuid.NAMESPACE_OID, name)), 0
        self.conversation = self.path = ""

    async def open(self, operator: Connection, stack: AsyncExitStack) -> None:
        """Register over the socket, attached to a conversation of its own."""
        self.conversation = await operator.conversation(self.name)
        body: dict[str, object] = {"conversation": self.conversation, "harness": "claude"}
        grant = (await operator.done("POST", "/v1/seats/grants", body))["grant"]
        native = {
            "session_id": self.name,
            "pid": os.getpid(),
            "process_started_at": started_at(os.getpid()),
        }
        body = {"grant": grant, "harness": "claude", "native": native, "capabilities": _CAN}
        socket = self._home / "service.sock"
        async with Connection(self._port, socket=socket) as near:
            made = await near.done("POST", "/v1/seats", body)
        self.path = f"/v1/seats/{made['seat']}"
        self._line = Connection(self._port, made["token"])
        await stack.enter_async_context(self._line)

    async def poll(self) -> list[dict[str, Any]]:
        """The next page."""
        self._polls += 1
        query = f"wait=30&binding={self._binding}&poll_id=p-{self._polls}"
        page = await self._line.done("GET", f"{self.path}/events?{query}")
        found: list[dict[str, Any]] = page["events"]
        return found

    async def ack(self, event: dict[str, Any]) -> None:
        """The harness has it."""
        body = {"binding": self._binding, "attempt": event["attempt"]}
        await self._line.done("POST", f"{self.path}/events/{event['id']}/ack", body)


async def _parked(
    home: Path, port: int, count: int, rss: Callable[[], float]
) -> tuple[float, float]:
    """MiB before and with `count` polls parked."""
    async with AsyncExitStack() as stack:
        operator = await stack.enter_async_context(Connection(port, token(home)))
        seats = [Bridge(home, port, f"s-{n}") for n in range(count)]
        for seat in seats:
            await seat.open(operator, stack)
        before = rss()
        async with asyncio.TaskGroup() as tasks:
            polling = [tasks.create_task(seat.poll()) for seat in seats]
            await asyncio.sleep(2)
            await operator.done("GET", "/v1/status")
            after = rss()
            for one in polling:
                one.cancel()
    return before, after


async def _reached(home: Path, port: int, count: int) -> list[float]:
    """Seconds from sending an input to its page, each with two commits in it."""
    found: list[float] = []
    async with AsyncExitStack() as stack:
        operator = await stack.enter_async_context(Connection(port, token(home)))
        seat = Bridge(home, port, "one")
        await seat.open(operator, stack)
        for n in range(count):
            async with asyncio.TaskGroup() as tasks:
                polling = tasks.create_task(seat.poll())
                await asyncio.sleep(0.005)
                began = time.perf_counter()
                sending = tasks.create_task(operator.send(seat.conversation, f"m-{n}", "Hello"))
                events = await polling
                found.append(time.perf_counter() - began)
                await sending
            for event in events:
                await seat.ack(event)
    return found[_LEAST:]


async def _commits(home: Path, port: int, count: int) -> list[float]:
    """Seconds of an admission to an idle conversation's log: one commit and the way there."""
    found: list[float] = []
    async with Connection(port, token(home)) as operator:
        for n in range(count):
            began = time.perf_counter()
            body = {"request_id": f"r-{n}", "name": f"c-{n}", "kind": "global"}
            await operator.done("POST", "/v1/conversations", body)
            found.append(time.perf_counter() - began)
    return found[_LEAST:]


def _percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def _reach(*, quick: bool) -> list[Row]:
    count = 60 if quick else SENT
    with scratch() as home, service(home) as one:
        found = uvloop.run(_reached(home, one.port, count))
        commit = Rounds.of(uvloop.run(_commits(home, one.port, count))).median
    late = _percentile(found, 0.99)
    return [
        Row(
            name="seat, input to its poll, 99th percentile less two commits",
            figure=(late - 2 * commit) * 1e3,
            unit="ms",
            target=4.0,
            floor=commit * 1e3,
            floor_is="one commit over HTTP",
        ),
        Row(
            name="seat, input to its poll, median",
            figure=Rounds.of(found).median * 1e3,
            unit="ms",
            spread=(min(found) * 1e3, max(found) * 1e3),
        ),
    ]


def _park(*, quick: bool) -> Row:
    count = 100 if quick else PARKED
    with scratch() as home, service(home) as one:
        before, after = uvloop.run(_parked(home, one.port, count, one.rss))
    return Row(
        name=f"memory of {count:,} parked polls",
        figure=after - before,
        unit="MiB",
        target=32.0,
        floor=before,
        floor_is="the same seats, not polling",
    )


def _row(number: int, size: int) -> bytes:
    row: dict[str, Any] = {
        "type": "assistant",
        "uuid": f"00000000-0000-4000-8000-{number:012d}",
        "sessionId": _SESSION,
        "timestamp": "2026-11-30T12:00:00.000Z",
        "message": {"id": f"m-{number}", "role": "assistant", "content": []},
    }
    row["message"]["content"] = [{"type": "text", "text": "x" * (size - len(json.dumps(row)))}]
    return json.dumps(row).encode() + b"\n"


async def _granted(home: Path, port: int) -> str:
    async with Connection(port, token(home)) as operator:
        body = {"conversation": HEAD, "harness": "claude"}
        return str((await operator.done("POST", "/v1/seats/grants", body))["grant"])


def _hook(*, quick: bool) -> list[Row]:
    """`seat-sync` after one more row of a transcript that is nearly empty, and of a long one."""
    bare: list[float] = []
    took: dict[int, list[float]] = {}
    for rows_before in (1, _ROWS):
        with scratch() as home, service(home) as one:
            config = home / "claude"
            log = config / "projects" / "here" / f"{_SESSION}.jsonl"
            log.parent.mkdir(parents=True)
            log.write_bytes(b"".join(_row(n, _ROW) for n in range(rows_before)))
            place = folder.made(str(home), "bench")
            grant = uvloop.run(_granted(home, one.port))
            place.write(
                registration.GRANT, {"grant": grant, "harness": "claude", "conversation": HEAD}
            )
            place.write(folder.PLACE, {"harness": "claude", "resume": _SESSION})
            here = registration.Arrival(session_id=_SESSION, pid=os.getpid())
            seated = registration.register(place, here)
            environment = {
                **os.environ,
                "CLANKIE_HOME": str(home),
                "CLANKIE_SEAT_GRANT": place.file(registration.GRANT),
                "CLAUDE_CONFIG_DIR": str(config),
            }
            source = sync.Source(path=str(log), session_id=_SESSION, environment=environment)
            sync.notice(place, seated, source, "resume")
            hook = home / "hook.json"
            said = {"session_id": _SESSION, "transcript_path": str(log), "hook_event_name": "Stop"}
            hook.write_text(json.dumps(said), encoding="utf-8")
            took[rows_before] = found = []
            for n in range(10 if quick else 30):
                with log.open("ab") as file:
                    file.write(_row(100_000 + n, _ROW))
                bare.append(child_cpu(BARE, environment)[0])
                found.append(child_cpu(_SYNC, environment, str(hook))[0])
    floor = Rounds.of(bare).median
    short, long = (Rounds.of(one).median for one in took.values())
    return [
        Row(
            name="seat-sync of one new row over bare python, processor",
            figure=short / floor,
            unit="times",
            target=8.0,
        ),
        Row(
            name="seat-sync, a transcript of 50 MiB against one of 4 KiB",
            figure=long / short,
            unit="times",
            target=1.2,
        ),
    ]


async def _seated(store: SqliteStore, name: str) -> str:
    now = SystemClock().now()
    grant = Grant(
        secret_sha256=name,
        conversation=HEAD,
        harness="claude",
        uid=os.getuid(),
        expected=None,
        expires_at=now + timedelta(minutes=5),
    )
    await store.seats.add_grant(grant)
    bearer = Token(
        id=f"t-{name}",
        principal=Author(Principal.SEAT, name),
        label=name,
        created_at=now,
    )
    seat = Seat(
        id=name,
        harness="claude",
        occupant=Occupant(harness="claude", native=Native(name, os.getpid(), "linux:x:1")),
        capabilities=Capabilities(),
        registered_at=now,
        granted=HEAD,
        token=bearer.id,
    )
    made, _ = await store.seats.register(grant, seat, bearer, f"sha-{name}")
    return made.id


async def _attached(path: Path, rounds: int) -> Rounds:
    """Processor time of attaching, of the look into an empty mailbox, and of the projection."""
    found: list[float] = []
    async with projection.store(path) as store:
        await store.boot()
        seat = await _seated(store, f"s-{time.monotonic_ns()}")
        for n in range(rounds):
            _ = await store.seats.detach(seat, "bench", OPERATOR)
            began = time.process_time()
            _ = await store.seats.attach(seat, HEAD, None, OPERATOR)
            ask = Ask(binding="b", poll_id=f"p-{n}", responding=False, cleared=frozenset())
            _ = await store.mail.take(seat, ask, limits=SeatLimits(), budget=20_000)
            found.append((time.process_time() - began) * 1e6)
        _ = await store.seats.retire(seat, "bench", OPERATOR)
    return Rounds.of(found[5:])


def _attach(*, quick: bool) -> list[Row]:
    found: dict[int, Rounds] = {}
    with scratch() as directory:
        path = directory / "clankie.db"
        uvloop.run(projection.make(path))
        for size in (1_000, 10_000 if quick else 1_000_000):
            projection.fill(path, size)
            found[size] = uvloop.run(_attached(path, 60))
    rows = [
        Row(
            name=f"attach and first look, log of {size:,} events",
            figure=one.median,
            unit="us",
            spread=one.spread,
        )
        for size, one in found.items()
    ]
    short, long = (one.median for one in found.values())
    flat = Row(
        name="attach, longest against shortest log", figure=long / short, unit="times", target=1.5
    )
    return [*rows, flat]


def rows(*, quick: bool) -> list[Row]:
    """The figures that seats are held to."""
    return [*_reach(quick=quick), _park(quick=quick), *_hook(quick=quick), *_attach(quick=quick)]
