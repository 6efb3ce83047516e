"""Admissions over HTTP: processor time of the service for each, over 64 connections.

The model server never answers, so each conversation has one turn that waits and nothing is measured
but admission. The floor is a bare Starlette route on the same uvicorn that echoes the body.
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

CONNECTIONS, CONVERSATIONS = 64, 16
TEXT = "Would you look at the build that failed this morning, and tell me what changed? " * 3


async def _posts(connection: Connection, path: str, name: str, count: int) -> None:
    for number in range(count):
        body = {"delivery_id": f"{name}-{number}", "text": TEXT}
        status, data = await connection.ask("POST", path, body)
        if status != 202:
            raise RuntimeError(data.decode())


async def _run(one: Running, secret: str, label: str, count: int) -> tuple[float, float]:
    """Microseconds of the server's processor for each request, and requests a second."""
    async with AsyncExitStack() as stack:
        all_of = [
            await stack.enter_async_context(Connection(one.port, secret))
            for _ in range(CONNECTIONS)
        ]
        paths = ["/"] * CONVERSATIONS
        if secret:
            names = [await all_of[0].conversation(f"{label}-{n}") for n in range(CONVERSATIONS)]
            paths = [f"/v1/conversations/{name}/inputs" for name in names]
        for number, path in enumerate(paths):
            await _posts(all_of[0], path, f"{label}-warm-{number}", 2)
        used, began = one.cpu(), time.perf_counter()
        async with anyio.create_task_group() as tasks:
            for number, connection in enumerate(all_of):
                path = paths[number % CONVERSATIONS]
                tasks.start_soon(_posts, connection, path, f"{label}-{number}", count)
        total = count * CONNECTIONS
        return (one.cpu() - used) / total * 1e6, total / (time.perf_counter() - began)


async def _alone(port: int, secret: str, count: int) -> list[float]:
    """Milliseconds of wall of admissions one after the other."""
    found: list[float] = []
    async with Connection(port, secret) as connection:
        path = f"/v1/conversations/{await connection.conversation('alone')}/inputs"
        for number in range(count):
            began = time.perf_counter()
            await _posts(connection, path, f"alone-{number}", 1)
            found.append((time.perf_counter() - began) * 1000)
    return found


def rows(*, quick: bool) -> list[Row]:
    """Processor, rate, and the wall of a single one."""
    rounds, count = (1, 20) if quick else (3, 30)
    with helper("echo") as bare:
        floor = Rounds.of(
            [uvloop.run(_run(bare, "", f"f{n}", count))[0] for n in range(rounds)]
        ).median
    with (
        scratch() as home,
        helper("mute") as mute,
        service(home, model="openai-chat:any", model_port=mute.port) as one,
    ):
        secret = token(home)
        found = [uvloop.run(_run(one, secret, f"r{n}", count)) for n in range(rounds)]
        alone = Rounds.of(uvloop.run(_alone(one.port, secret, 50)))
    cpu, rate = (Rounds.of(values) for values in zip(*found, strict=True))
    return [
        Row(
            name="admission over HTTP, processor",
            figure=cpu.median,
            unit="us",
            target=500.0,
            floor=floor,
            floor_is="bare Starlette echo",
            spread=cpu.spread,
        ),
        Row(
            name=f"admission over HTTP, {CONNECTIONS} connections",
            figure=rate.median,
            unit="/s",
            spread=rate.spread,
        ),
        Row(
            name="admission over HTTP, wall of one",
            figure=alone.median,
            unit="ms",
            spread=alone.spread,
        ),
    ]
