"""What the tests put into the process of the service: places to die at, and a record of effects.

None of it is imported by the tests themselves: it lives in the process that is killed.
"""

import json
import os
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from clankie.core.driver import Presence, Standing
from clankie.core.receipt import Delivery
from clankie.host.ports import LaneResult, TurnHost, TurnRequest
from clankie.lanes.service import ServiceLane
from clankie.lanes.tools import Bench, Done, Tool

STANDINGS: Final = {
    "none": None,
    "live": Standing(seat="seat-1", occupant="occupant-1", presence=Presence.LIVE),
    "remote": Standing(seat="seat-1", occupant="occupant-1", presence=Presence.ABSENT, remote=True),
}


def die() -> None:
    """End this process as a power cut would: no handler runs, nothing is flushed."""
    os.kill(os.getpid(), signal.SIGKILL)
    threading.Event().wait()  # the signal ends every thread; none goes on until it has


class Answers:
    """Lines to the test, on a pipe of their own."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def tell(self, line: str) -> None:
        os.write(self._descriptor, f"{line}\n".encode())


class Deadly:
    """The port CrashPoint: at one point the process dies, at one it waits until told to go on."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._deadly: str | None = None
        self._left = 0
        self._paused: str | None = None
        self._go_on = threading.Event()

    def arm(self, point: str, nth: int = 1) -> None:
        """Die when the writer comes to `point` for the nth time from now."""
        self._left = nth
        self._deadly = point

    def pause(self, point: str) -> None:
        """Wait at `point`, once, and say so."""
        self._go_on.clear()
        self._paused = point

    def go_on(self) -> None:
        self._go_on.set()

    def reach(self, name: str) -> None:
        if name == self._paused:
            self._paused = None
            self._answers.tell(f"at {name}")
            self._go_on.wait()
        if name == self._deadly:
            self._left -= 1
            if self._left == 0:
                die()


class Seats:
    """The port Seats: one standing for every conversation, as the test says."""

    def __init__(self) -> None:
        self._standing: Standing | None = None
        self._returns = False

    def stand(self, name: str) -> None:
        self._returns = name == "returning"
        self._standing = STANDINGS["remote" if self._returns else name]

    def standing(self, conversation: str) -> Standing | None:
        del conversation
        found = self._standing
        if self._returns and found is not None:
            # It comes back between two looks.
            self._standing = replace(found, presence=Presence.LIVE)
        return found


class Effects:
    """What the service did to the world: lines added to a file outside of the database."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def add(self, what: str, **fields: str) -> None:
        """One line, on disk before this returns."""
        os.write(self._file, (json.dumps({"what": what, **fields}) + "\n").encode())
        os.fsync(self._file)


class MarkArguments(msgspec.Struct, forbid_unknown_fields=True):
    """What to leave behind."""

    mark: Annotated[str, msgspec.Meta(min_length=1)]


def leave_mark(effects: Effects) -> Tool[MarkArguments]:
    """A tool with an effect that can be counted afterwards."""

    async def run(arguments: MarkArguments, bench: Bench) -> Done:
        effects.add("effect", call=bench.call_id, mark=arguments.mark)
        return Done("left", f"left {arguments.mark}")

    return Tool(
        name="leave_mark",
        description="Leave a mark in the world.",
        arguments=MarkArguments,
        effect=True,
        run=run,
    )


class WitnessedLane:
    """The service lane; each turn it starts is first written down outside of the database."""

    def __init__(self, lane: ServiceLane, effects: Effects) -> None:
        self._lane = lane
        self._effects = effects

    async def run(self, request: TurnRequest, host: TurnHost) -> LaneResult:
        delivery: Delivery = request.delivery
        self._effects.add("run", delivery=delivery.id, attempt=request.attempt)
        return await self._lane.run(request, host)

    def evict(self, conversation: str) -> None:
        self._lane.evict(conversation)

    def status(self) -> dict[str, object]:
        return self._lane.status()


def obey(verbs: Mapping[str, Callable[..., None]], answers: Answers) -> None:
    """Do what comes on standard input, a JSON array a line: verb and arguments.

    The end of the input is the end of the process: no service outlives the test that started it.
    """

    def listen() -> None:
        rest = b""
        while data := os.read(0, 65_536):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                verb, *arguments = _read(line)
                verbs[verb](*arguments)
                answers.tell("done")
        die()

    threading.Thread(target=listen, name="leash", daemon=True).start()


def _read(line: bytes) -> list[Any]:
    found: list[Any] = json.loads(line)
    return found
