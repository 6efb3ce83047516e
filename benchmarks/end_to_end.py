"""A whole turn over HTTP: client, service and model server are three processes.

The model server answers at once with 20 chunks, so what is left is ours. The floor is a bare
durable accept plus the same model call, in the same shape.
"""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import anyio
import uvloop

from processes import helper, service, token
from shape import Rounds, Row, scratch
from wire import Connection

if TYPE_CHECKING:
    from processes import Running

MANY = 16
EARLY, LATE = 50, 500
_WINDOW = 40
_SAME = 1.25
"""Times as much that still counts as the same, on a machine with neighbours."""


async def _timed(connection: Connection, conversation: str, name: str, count: int) -> list[float]:
    """Seconds of wall of each turn."""
    found: list[float] = []
    for number in range(count):
        began = time.perf_counter()
        await connection.turn(conversation, f"{name}-{number}")
        found.append(time.perf_counter() - began)
    return found


async def _line(one: Running, secret: str, last: int) -> tuple[list[float], list[float]]:
    """Wall of each turn up to the late window, and the service's processor time in each window."""
    async with Connection(one.port, secret) as connection:
        name = await connection.conversation("line")
        wall, cpu = await _timed(connection, name, "warm", EARLY), list[float]()
        for part, count in (("early", _WINDOW), ("mid", last - EARLY - _WINDOW), ("late", _WINDOW)):
            before = one.cpu()
            wall += await _timed(connection, name, part, count)
            cpu.append((one.cpu() - before) / count * 1000)
        return wall, cpu


async def _rate(port: int, secret: str, count: int, label: str) -> float:
    async with AsyncExitStack() as stack:
        connections = [
            await stack.enter_async_context(Connection(port, secret)) for _ in range(MANY)
        ]
        names = [await one.conversation(f"{label}-{n}") for n, one in enumerate(connections)]
        for one, name in zip(connections, names, strict=True):
            await one.turn(name, f"warm-{name}")
        began = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            for one, name in zip(connections, names, strict=True):
                tasks.start_soon(_timed, one, name, name, count)
        return MANY * count / (time.perf_counter() - began)


async def _bare(port: int, count: int, many: int) -> tuple[list[float], float]:
    """The floor: one after the other, and as many at once."""

    async def ask(connection: Connection, name: str) -> list[float]:
        found: list[float] = []
        for number in range(count):
            began = time.perf_counter()
            body = {"delivery_id": f"{name}-{number}", "text": "Say it again."}
            await connection.done("POST", "/", body)
            found.append(time.perf_counter() - began)
        return found

    async with AsyncExitStack() as stack:
        all_of = [await stack.enter_async_context(Connection(port)) for _ in range(many)]
        await ask(all_of[0], "warm")
        alone = await ask(all_of[0], "alone")
        began = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            for number, one in enumerate(all_of):
                tasks.start_soon(ask, one, f"many-{number}")
        return alone, many * count / (time.perf_counter() - began)


def _ms(values: list[float]) -> Rounds:
    return Rounds.of([value * 1000 for value in values])


def rows(*, quick: bool) -> list[Row]:
    """Wall and processor of a turn, the rate over 16 conversations, turn 50 against turn 500."""
    late = 200 if quick else LATE
    with scratch() as home, helper("model") as model:
        with helper("accept", str(model.port)) as bare:
            floor, floor_rate = uvloop.run(_bare(bare.port, 60, MANY))
        with service(home, model="openai-chat:any", model_port=model.port) as one:
            secret = token(home)
            wall, cpu = uvloop.run(_line(one, secret, late))
            rates = [
                uvloop.run(_rate(one.port, secret, 20, f"round{n}"))
                for n in range(1 if quick else 3)
            ]
    bare_turn, bare_rate = _ms(floor).median, floor_rate
    half, rate = _ms(wall[EARLY:]), Rounds.of(rates)
    early_turns, late_turns = _ms(wall[EARLY : EARLY + _WINDOW]), _ms(wall[late : late + _WINDOW])
    floor_is = "durable accept + model call"
    return [
        Row(
            name="end to end, wall of a turn",
            figure=half.median,
            unit="ms",
            target=12.0,
            floor=bare_turn,
            floor_is=floor_is,
            spread=half.spread,
        ),
        Row(
            name=f"end to end, turns over {MANY} conversations",
            figure=rate.median,
            unit="/s",
            target=110.0,
            least=True,
            floor=bare_rate,
            floor_is=floor_is,
            spread=rate.spread,
        ),
        Row(name=f"end to end, processor of turn {EARLY}", figure=cpu[0], unit="ms"),
        Row(
            name=f"end to end, processor of turn {late}",
            figure=cpu[2],
            unit="ms",
            floor=cpu[0],
            floor_is=f"turn {EARLY}",
            target=_SAME * cpu[0],
        ),
        Row(
            name=f"end to end, wall of turn {late}",
            figure=late_turns.median,
            unit="ms",
            floor=early_turns.median,
            floor_is=f"turn {EARLY}",
            spread=late_turns.spread,
        ),
    ]
