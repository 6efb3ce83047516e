"""The host's own share of a turn: a lane that does nothing, in this process, on the real store."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from typing import TYPE_CHECKING

import anyio
import uvloop

from clankie.core.admission import Offer
from clankie.core.conversation import OPERATOR, Kind
from clankie.core.delivery import InputState
from clankie.host import conversations, deliveries
from clankie.host.admit import admit
from clankie.host.ports import LaneResult
from clankie.wiring.config import from_environment
from clankie.wiring.house import Ports, open_house
from clankie.wiring.logs import to_standard_error
from shape import Meter, Rounds, Row, scratch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clankie.host.house import House
    from clankie.host.ports import TurnHost, TurnRequest

MANY = 16


class Nothing:
    """A lane that answers one word."""

    async def run(self, _request: TurnRequest, _host: TurnHost, /) -> LaneResult:
        """At once."""
        return LaneResult(text="Done.")

    def evict(self, conversation: str) -> None:
        """It remembers nothing."""

    def status(self) -> dict[str, object]:
        """Nor has it anything to say."""
        return {}

    async def close(self) -> None:
        """Nor to close."""


class Commits:
    """Sits at the crash points around each commit, on the writer's thread, and times them."""

    def __init__(self) -> None:
        self.count = 0
        self.wall = self.cpu = 0.0
        self._wall = self._cpu = 0.0
        self._open = False

    def reach(self, name: str) -> None:
        """`before` starts the watch (units of a batch share a commit), `after` stops it."""
        if name.endswith(".before-commit"):
            self._open = True
            self._wall, self._cpu = time.perf_counter(), time.thread_time()
        elif self._open:
            self._open = False
            self.count += 1
            self.wall += time.perf_counter() - self._wall
            self.cpu += time.thread_time() - self._cpu


@contextlib.contextmanager
def _logged() -> Iterator[None]:
    """The log is written as in the service, to nowhere."""
    root, before = logging.getLogger(), sys.stderr
    handlers, level = root.handlers[:], root.level
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123 - a device
        sys.stderr = nowhere
        try:
            to_standard_error(tuple)
            yield
        finally:
            sys.stderr = before
            root.handlers[:] = handlers
            root.setLevel(level)


async def _turn(house: House, conversation: str, delivery: str) -> None:
    offer = Offer(
        delivery_id=delivery, conversation=conversation, text="Say it again.", author=OPERATOR
    )
    await admit(house, offer)
    receipt = await deliveries.read(house, delivery, 30.0)
    if receipt.state is not InputState.SETTLED:
        message = f"the turn {delivery} ended as {receipt}"
        raise RuntimeError(message)


async def _make(house: House, name: str) -> str:
    made, _ = await conversations.create(
        house, request_id=name, name=name, kind=Kind.GLOBAL, directory=None, by=OPERATOR
    )
    return made.id


async def _several(house: House, conversation: str, name: str, count: int) -> None:
    for number in range(count):
        await _turn(house, conversation, f"{name}-{number}")


async def _measure(rounds: int, count: int) -> list[Row]:
    commits = Commits()
    with scratch() as directory, _logged():
        config = from_environment({"CLANKIE_HOME": str(directory)})
        async with open_house(config, Ports(lane=Nothing(), crash=commits)) as house:
            names = [await _make(house, f"c{number}") for number in range(MANY)]
            await _several(house, names[0], "warm", 30)
            one = [await _alone(house, commits, names[0], f"a{n}", count) for n in range(rounds)]
            many = [await _together(house, names, f"t{n}", count) for n in range(rounds)]
    return _rows(one, many)


async def _alone(
    house: House, commits: Commits, conversation: str, name: str, count: int
) -> tuple[float, float, float, float]:
    before, number = commits.wall, commits.count
    meter = Meter()
    await _several(house, conversation, name, count)
    meter.stop()
    waited = (commits.wall - before) / count
    each = (commits.count - number) / count
    return meter.cpu / count, meter.wall / count - waited, waited, each


async def _together(house: House, names: list[str], name: str, count: int) -> tuple[float, float]:
    total = MANY * (count // 4)
    meter = Meter()
    async with anyio.create_task_group() as tasks:
        for conversation in names:
            tasks.start_soon(_several, house, conversation, f"{name}-{conversation}", count // 4)
    meter.stop()
    return total / meter.wall, meter.cpu / total


def _rows(
    one: list[tuple[float, float, float, float]], many: list[tuple[float, float]]
) -> list[Row]:
    cpu, wall, waited, each = (Rounds.of(values).median for values in zip(*one, strict=True))
    rate = Rounds.of([value for value, _ in many])
    shared = Rounds.of([value * 1000 for _, value in many])
    return [
        Row(
            name="host per turn, processor",
            figure=cpu * 1000,
            unit="ms",
            target=3.0,
            spread=_ms([value[0] for value in one]),
        ),
        Row(
            name="host per turn, wall less commits",
            figure=wall * 1000,
            unit="ms",
            target=3.0,
            floor=waited * 1000,
            floor_is=f"its {each:.1f} commits",
            spread=_ms([value[1] for value in one]),
        ),
        Row(
            name=f"turns over {MANY} conversations",
            figure=rate.median,
            unit="/s",
            target=150.0,
            least=True,
            spread=rate.spread,
        ),
        Row(
            name=f"processor per turn, {MANY} conversations",
            figure=shared.median,
            unit="ms",
            spread=shared.spread,
        ),
    ]


def _ms(values: list[float]) -> tuple[float, float]:
    least, most = Rounds.of(values).spread
    return least * 1000, most * 1000


def rows(*, quick: bool) -> list[Row]:
    """Host overhead per turn, alone and over 16 conversations."""
    assert threading.current_thread() is threading.main_thread()
    return uvloop.run(_measure(2 if quick else 5, 40 if quick else 100))
