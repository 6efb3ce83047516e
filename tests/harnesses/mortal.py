"""The real service that dies at a named commit, and a real harness that sits at it.

The service is the one of the tests of processes: whatever stands there in brackets is the mark of a
delivery, `~say hello [m-1]`, by which both models and the check at the end know it again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from clankie.cli.failures import CommandError
from fakes.until import until
from harnesses.homes import HOMES
from harnesses.house import House
from harnesses.install import Harnesses
from harnesses.model import Model, serving
from process.points import AFTER, BEFORE
from process.seat import HEAD
from process.service import Place, Service
from process.wire import Answer, GoneError

HURRIED: Final = Path(__file__).parent / "hurried"


def around(kind: str) -> tuple[str, str]:
    """The points before and after the commit of a kind of unit."""
    return kind + BEFORE, kind + AFTER


@dataclass
class Mortal(House):
    """A house whose service is told where to die. `place` outlives each of them."""

    place: Place = field(kw_only=True)
    service: Service = field(init=False)

    def _start(self) -> None:
        self.service = self.place.start(CLANKIE_CREDENTIALS="file")

    def _end(self, number: int) -> None:
        self.service.process.signal(number)
        self.service.ended()

    def _env(self) -> Mapping[str, str]:
        ours = dict(super()._env())
        return {**ours, "PYTHONPATH": f"{HURRIED}{os.pathsep}{ours['PYTHONPATH']}"}

    def log(self) -> str:
        """See House."""
        files = [*self.place.root.glob("*.stderr"), *self.home.glob("seats/*/*.log")]
        return "\n".join(f"{one}:\n{one.read_text(errors='replace')[-1500:]}" for one in files)

    def opened(self, seat: dict[str, Any]) -> None:
        """What is to be ended with it."""
        self._seats.append(seat)

    async def end(self) -> None:
        """Stop it, and wait until nobody writes into the folders any more."""
        for one in self._seats:
            with suppress(ProcessLookupError):  # a test that failed may have left it standing still
                os.kill(one["driver"], signal.SIGCONT)
        await self.stop()
        drivers = [Path(f"/proc/{one['driver']}/cmdline") for one in self._seats]
        await until(lambda: not any(_words(one) for one in drivers), why=self.log)

    @asynccontextmanager
    async def dying(self, *points: str) -> AsyncGenerator[None]:
        """What is done in here, the service dies of at the first point.

        The next ones die at the other points, each as soon as it comes there. Then one stands.
        """
        await asyncio.to_thread(self.service.die_at, points[0])
        yield
        await asyncio.to_thread(self._dead, points[0])
        await self.through(*points[1:])

    async def through(self, *points: str) -> None:
        """Services that die at these points, one after the other, and then one that stands."""
        for point in points:
            self.service = self.place.begin(CLANKIE_CREDENTIALS="file", CLANKIE_TEST_DIES_AT=point)
            await asyncio.to_thread(self._dead, point)
        await self.start()

    def _dead(self, point: str) -> None:
        try:
            assert self.service.ended() == -signal.SIGKILL, self.service.said()
        except AssertionError as error:
            raise AssertionError(f"it did not die at {point}\n{self.log()}") from error


def _words(path: Path) -> bytes:
    """What a process was started with; nothing once it has ended, reaped or not."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


@dataclass
class Life:
    """A harness at the head of a mortal service. `model` is the harness's own.

    `row` is the roster's of its seat, `driver` the process that pumps.
    """

    house: Mortal
    model: Model
    harness: str
    row: dict[str, Any] = field(default_factory=dict)
    driver: int = 0

    async def open(self, *arguments: str) -> None:
        """Open its seat. Raises AssertionError: the command failed."""
        given = ("--headless", "--detached", *arguments)
        opened = await self.house.run("seat", "open", self.harness, *given)
        self.house.opened(opened)
        self.driver = opened["driver"]
        self.row = await until(self.sits, why=self.house.log)

    def sits(self) -> dict[str, Any]:
        """The row of its seat, once it is there."""
        with suppress(CommandError):  # the service may be away
            return self.house.seat(HEAD)
        return {}

    async def says(self, name: str, command: str) -> Answer | None:
        """An owner's message; None when its answer was lost."""
        return await asyncio.to_thread(self.house.place.send, self.house.service, name, command)

    async def loses(self, name: str) -> None:
        """A message on a page that its pump does not read: it stands still from there on."""
        service = self.house.service
        await asyncio.to_thread(service.tell, "pause", "take.after-commit")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.says(name, "~say late"))
            # Whatever is taken there, a poll is open.
            await asyncio.to_thread(service.wait_at, "take.after-commit")
            os.kill(self.driver, signal.SIGSTOP)
            await asyncio.to_thread(service.tell, "go_on")
        await self.comes(lambda: self.attempts(name) == ["seat attempting"], name)

    async def ask(self, method: str, path: str, body: object = None) -> Answer | None:
        """Ask as the operator; None when the answer was lost."""
        with suppress(GoneError):
            return await asyncio.to_thread(self.house.service.client.ask, method, path, body)
        return None

    async def set(self, **limits: float) -> None:
        """Change the times of seats."""
        await asyncio.to_thread(lambda: self.house.service.client.set("seats", **limits))

    def receipt(self, name: str) -> dict[str, Any]:
        found = self.house.service.client.receipt(name)
        assert found.status == 200, found
        return found.body

    def attempts(self, name: str) -> list[str]:
        """Where it was tried, and how that ended: `seat taken`."""
        found = self.receipt(name)["attempts"]
        return [f"{one['destination']['kind']} {one['state']}" for one in found]

    def asked(self, name: str) -> int:
        """How often the harness's model was given it."""
        return len(self.model.fresh(f"[{name}]"))

    async def comes(self, found: Callable[[], Any], name: str = "m-0") -> None:
        """Until it is true; else with everything that was written about it."""
        await until(found, why=lambda: (self.receipt(name), self.asked(name), self.house.log()))

    async def ends(self, name: str, *outcomes: tuple[str, int]) -> dict[str, Any]:
        """Its receipt, once it has ended so: its state, and how often the model was given it.

        After a kill it may be uncertain first: the pump says later what became of it.
        """

        def ended() -> bool:
            return (self.receipt(name)["state"], self.asked(name)) in outcomes

        await self.comes(ended, name)
        return self.receipt(name)

    async def answered(self, name: str) -> None:
        """It was given once, and its answer is in the log."""
        found = await self.ends(name, ("settled", 1))
        assert [one["destination"]["kind"] for one in found["attempts"]] == ["seat"], found
        assert found.get("reply_cursor"), (found, self.house.log())

    async def goes_on(self, name: str) -> None:
        """A further message is answered."""
        await self.says(name, "~say on we go")
        await self.answered(name)

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [one for one in self.house.service.client.events(HEAD) if one["kind"] == kind]


@asynccontextmanager
async def living(harness: str, harnesses: Harnesses) -> AsyncGenerator[Life]:
    """A life from its beginning; at its end nothing may be there that breaks a promise."""
    async with AsyncExitStack() as stack:
        model = stack.enter_context(serving())
        place = stack.enter_context(Place())
        person = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        theirs = HOMES[harness](person / "own", harnesses, model)
        environment = {name: one for name, one in theirs.items() if "CLANKIE" not in name}
        environment["TMUX_TMPDIR"] = str(place.root)
        house = Mortal(place.home, environment, person / "own" / "work", place=place)
        await house.start()
        stack.push_async_callback(house.end)
        life = Life(house, model, harness)
        yield life
        await asyncio.to_thread(place.finish, house.service)
