"""What the service holds: idle, after 100 turns, and after 100 turns with a model over HTTP."""

from __future__ import annotations

from contextlib import AsyncExitStack

import anyio
import uvloop

from processes import helper, service, token
from shape import Row, child_rss, scratch
from wire import Connection

TURNS, MANY = 100, 20
_REST = 1.0
"""Seconds of quiet before the idle figure: what is imported after the ready line counts too."""


async def _several(connection: Connection, conversation: str) -> None:
    for number in range(TURNS // MANY):
        await connection.turn(conversation, f"{conversation}-{number}", "Hello")


async def _talk(port: int, secret: str) -> None:
    async with AsyncExitStack() as stack, anyio.create_task_group() as tasks:
        for number in range(MANY):
            one = await stack.enter_async_context(Connection(port, secret))
            tasks.start_soon(_several, one, await one.conversation(f"c{number}"))


def rows(*, quick: bool) -> list[Row]:
    """MiB of resident memory."""
    del quick
    floor = child_rss("import apsw, uvloop, uvicorn, fastapi")
    with scratch() as home, service(home) as one:
        uvloop.run(anyio.sleep(_REST))
        idle = one.rss()
        uvloop.run(_talk(one.port, token(home)))
        after = one.rss()
    with (
        scratch() as home,
        helper("model") as model,
        service(home, model="openai-chat:any", model_port=model.port) as one,
    ):
        uvloop.run(_talk(one.port, token(home)))
        real = one.rss()
    return [
        Row(
            name="memory, idle without a provider",
            figure=idle,
            unit="MiB",
            target=80.0,
            floor=floor,
            floor_is="importing apsw, uvloop, uvicorn, fastapi",
        ),
        Row(name=f"memory, after {TURNS} practice turns", figure=after, unit="MiB"),
        Row(name=f"memory, after {TURNS} turns with a model over HTTP", figure=real, unit="MiB"),
    ]
