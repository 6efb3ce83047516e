"""The port Lane for tests: turns that a test has written.

A script is an `async def` over the request and the host. `plays` queues scripts, `when` binds one
to the words of an input; whatever has none is answered with its own words.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from clankie.core.conversation import Usage
from clankie.host.ports import LaneError, LaneResult, TurnHost, TurnRequest
from clankie.host.storage import Call

Script = Callable[[TurnRequest, TurnHost], Awaitable[LaneResult]]


class ScriptedLane:
    """Plays scripts; remembers which turns were asked for and which sessions were forgotten."""

    def __init__(self, *scripts: Script) -> None:
        self.requests: list[TurnRequest] = []
        self.evicted: list[str] = []
        self._queue = deque(scripts)
        self._bound: dict[str, Script] = {}

    def plays(self, *scripts: Script) -> None:
        self._queue.extend(scripts)

    def when(self, text: str, script: Script) -> None:
        self._bound[text] = script

    @property
    def asked(self) -> list[str]:
        """The deliveries whose turns were started, in order."""
        return [request.delivery.id for request in self.requests]

    async def run(self, request: TurnRequest, host: TurnHost) -> LaneResult:
        self.requests.append(request)
        script = self._bound.get(request.delivery.text)
        if script is None:
            script = self._queue.popleft() if self._queue else echo
        return await script(request, host)

    def evict(self, conversation: str) -> None:
        self.evicted.append(conversation)

    def status(self) -> dict[str, object]:
        return {"kind": "scripted", "turns": len(self.requests)}


async def echo(request: TurnRequest, _host: TurnHost) -> LaneResult:
    """Answer with the input's own words."""
    return LaneResult(text=f"re: {request.delivery.text}", usage=Usage(requests=1))


def answers(text: str) -> Script:
    async def play(_request: TurnRequest, _host: TurnHost) -> LaneResult:
        return LaneResult(text=text, usage=Usage(requests=1))

    return play


def drafts(*parts: str) -> Script:
    """Draft these, then answer with all of them."""

    async def play(_request: TurnRequest, host: TurnHost) -> LaneResult:
        for part in parts:
            host.draft(part)
            await asyncio.sleep(0)
        return LaneResult(text="".join(parts), usage=Usage(requests=1))

    return play


def fails(code: str, detail: str = "It did not work.", *, partial: str = "") -> Script:
    async def play(_request: TurnRequest, _host: TurnHost) -> LaneResult:
        raise LaneError(code, detail, partial=partial, usage=Usage(requests=1))

    return play


def breaks(error: BaseException) -> Script:
    """Fail in a way that a lane should not."""

    async def play(_request: TurnRequest, _host: TurnHost) -> LaneResult:
        raise error

    return play


def waits(event: asyncio.Event, then: Script = echo) -> Script:
    async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
        await event.wait()
        return await then(request, host)

    return play


async def silence(_request: TurnRequest, _host: TurnHost) -> LaneResult:
    """Never a word, never an end."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


def deaf(event: asyncio.Event, then: Script = echo) -> Script:
    """Do not heed being cancelled; go on when the event is set."""

    async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
        while not event.is_set():
            try:
                await event.wait()
            except asyncio.CancelledError:
                continue
        return await then(request, host)

    return play


def steers(after: asyncio.Event) -> Script:
    """Draft, wait, then take in what was sent meanwhile and name it in the answer."""

    async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
        await after.wait()
        joined = [one.text for one in await host.steered()]
        return LaneResult(text=" + ".join([request.delivery.text, *joined]))

    return play


def call(call_id: str, *, effect: bool = False, name: str = "look") -> Call:
    return Call(
        call_id=call_id, name=name, effect=effect, arguments_sha256="0" * 64, detail="a detail"
    )
