"""From the start of the process to its ready line, and to the practice model's first answer."""

from __future__ import annotations

import time

import uvloop

from processes import service, token
from shape import Rounds, Row, scratch
from wire import Connection


async def _first(port: int, secret: str) -> None:
    async with Connection(port, secret) as connection:
        await connection.turn("global-default", "first", "Hello")


def _once() -> tuple[float, float, float]:
    with scratch() as home:
        began = time.perf_counter()
        with service(home) as one:
            used = one.cpu()
            uvloop.run(_first(one.port, token(home)))
            return one.seconds, used, time.perf_counter() - began


def rows(*, quick: bool) -> list[Row]:
    """A new state directory each time; the files of the program are in the page cache."""
    found = [_once() for _ in range(2 if quick else 5)]
    ready, used, answer = (Rounds.of(values) for values in zip(*found, strict=True))
    return [
        Row(
            name="start to ready, wall",
            figure=ready.median,
            unit="s",
            target=1.5,
            spread=ready.spread,
        ),
        Row(name="start to ready, processor", figure=used.median, unit="s", spread=used.spread),
        Row(
            name="start to first practice answer, wall",
            figure=answer.median,
            unit="s",
            target=4.0,
            spread=answer.spread,
        ),
    ]
