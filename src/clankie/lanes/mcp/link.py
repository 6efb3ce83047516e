"""One server: started when it is first needed, watched, started again when it fell over.

The connection lives in one task of its own, `run`; turns only send requests through it.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, cast

from clankie.core.errors import ClankieError, TransitionRefusedError
from clankie.host import journal
from clankie.host.framing import one_line
from clankie.host.waiting import event_within
from clankie.lanes.mcp.offer import offer
from clankie.lanes.mcp.pins import Pin, identity
from clankie.lanes.mcp.secrets import UnusableError, environment, headers

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from clankie.core.mcp import McpServer
    from clankie.host.ports import Clock, Credentials, Ids
    from clankie.lanes.mcp.offer import Offer
    from clankie.lanes.mcp.pins import Pins
    from clankie.lanes.mcp.wire import Answer, Wire

FIRST_PAUSE: Final = 1.0
"""Seconds before a server that fell over is started again; doubles."""

LONGEST_PAUSE: Final = 300.0
_SENTENCE: Final = 300


class State(StrEnum):
    """Where a server is."""

    STARTING = "starting"
    READY = "ready"
    CHANGED = "changed"
    FAILED = "failed"


class ServerGoneError(Exception):
    """It ended, or cannot be reached; the sentence says what is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What every link works with."""

    clock: Clock
    ids: Ids
    credentials: Credentials
    pins: Pins


class Link:
    """A server of the settings, and how it is."""

    def __init__(self, name: str, server: McpServer, means: Means) -> None:
        self.name, self.server = name, server
        self.state, self.sentence = State.STARTING, "It is being started."
        self.offer: Offer | None = None
        self.agreed = False
        self.listed_at = 0.0
        self._means = means
        self._since = means.clock.monotonic()
        self._wire: Wire | None = None
        self._settled = asyncio.Event()
        self._nudge = asyncio.Event()
        self._stop = asyncio.Event()
        self._over = self._look = self._idle = False
        self._task: asyncio.Task[Any] | None = None
        self._errors = bytearray()

    # ── for turns and the owner ──────────────────────────────────────────────────────────────

    async def settled(self, seconds: float) -> None:
        """Wait until it is known how the server is.

        At most that long after it was started or asked: one that hangs holds up one turn, not each.
        """
        left = self._since + seconds - self._means.clock.monotonic()
        await event_within(self._means.clock, self._settled, left)

    def look_again(self) -> None:
        """Ask for its tools again; until the answer is there it is not settled."""
        if self._wire is not None and self.state is not State.STARTING:
            self._settled.clear()
            self._since = self._means.clock.monotonic()
            self._list_changed()

    def stop(self) -> None:
        """End it; `run` returns when it is gone."""
        self._stop.set()
        self._nudge.set()
        if self._task is not None and not self._idle:
            # It is on its way somewhere: up, into a list, or to the end of a pause.
            self._task.cancel()

    async def call(self, remote: str, arguments: Mapping[str, Any], seen: str) -> Answer:
        """Run a tool of the list whose hash is `seen`.

        Raises:
            ServerGoneError: it is not there, offers something else now, or fell over.
            TimeoutError: it took longer than the settings allow.
            ServerSaidNoError, NoAnswerError: what it answered is an error, or nothing of use.
        """
        wire = self._wire
        if wire is None or self.state is not State.READY:
            raise ServerGoneError(f"it was not run: the server {self.name} is {self.state}")
        if self.offer is None or self.offer.hash != seen:
            raise ServerGoneError(f"it was not run: the server {self.name} offers other tools now")
        try:
            async with asyncio.timeout(self.server.timeout):
                return await wire.call(remote, arguments, self.server.timeout + 1)
        except (ConnectionError, OSError) as error:
            if isinstance(error, TimeoutError):
                raise
            self._ended()
            raise ServerGoneError(
                f"the server {self.name} ended before it answered; what it did is not known"
            ) from error

    async def agree(self, hash_: str) -> None:
        """Use what it offers now. Raises TransitionRefusedError, StorageUnavailableError."""
        if self.offer is None or self.offer.hash != hash_:
            raise TransitionRefusedError(f"The MCP server {self.name!r}", self.state, "agreed to")
        await self._pin(hash_, agreed=True)
        self._usable(agreed=True)

    # ── its life ─────────────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Until `stop`. Whatever goes wrong is its state, never an exception."""
        self._task = asyncio.current_task()
        pause = FIRST_PAUSE
        while not self._stop.is_set():
            self._over = self._look = False
            began = self._means.clock.monotonic()
            try:
                await self._lived()
            except Exception as error:  # noqa: BLE001 - servers fail in ways nobody has listed
                self._fell(error)
            if self._means.clock.monotonic() - began > LONGEST_PAUSE:
                pause = FIRST_PAUSE
            await event_within(self._means.clock, self._stop, pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        self._settled.set()

    async def _lived(self) -> None:
        # Loading the SDK takes seconds on a slow machine; other turns go on.
        sdk = await asyncio.to_thread(_load)
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(self.server.timeout):
                wire = await stack.enter_async_context(self._connected(sdk))
                await self._list(wire)
            self._wire = wire
            try:
                await self._watched(wire)
            finally:
                self._wire = None

    async def _watched(self, wire: Wire) -> None:
        while not self._stop.is_set():
            self._idle = True
            await self._nudge.wait()
            self._idle = False
            self._nudge.clear()
            if self._over and not self._stop.is_set():
                raise ServerGoneError("it ended by itself")
            if self._look:
                self._look = False
                async with asyncio.timeout(self.server.timeout):
                    await self._list(wire)

    @asynccontextmanager
    async def _connected(self, sdk: Any) -> AsyncGenerator[Wire, None]:  # noqa: ANN401 - a module
        server, credentials = self.server, self._means.credentials
        self._errors.clear()
        if server.command:
            env = await asyncio.to_thread(environment, server, credentials)
            transport = sdk.program([server.command, *server.args], env, self._ended, self._errors)
        else:
            sent = await asyncio.to_thread(headers, server, credentials)
            transport = sdk.address(server.url, sent, server.timeout)
        async with sdk.wire.connected(transport, server.timeout, self._list_changed) as wire:
            yield wire

    async def _list(self, wire: Wire) -> None:
        described = await wire.tools()
        self.offer = offered = offer(self.name, described, self._means.ids)
        self.listed_at = self._means.clock.monotonic()
        pin = await asyncio.to_thread(self._means.pins.get, self.name)
        if pin is None or pin.identity != identity(self.server):
            await self._pin(offered.hash, agreed=False)
            self._usable(agreed=False)
        elif pin.hash == offered.hash:
            self._usable(agreed=pin.agreed)
        else:
            journal.warn("mcp server changed", server=self.name)
            self._become(
                State.CHANGED,
                "It offers other tools than before. They are not used until you agree to them.",
            )

    async def _pin(self, hash_: str, *, agreed: bool) -> None:
        pin = Pin(identity=identity(self.server), hash=hash_, agreed=agreed)
        await asyncio.to_thread(self._means.pins.put, self.name, pin)

    def _usable(self, *, agreed: bool) -> None:
        self.agreed = agreed
        left_out = self.offer.left_out if self.offer is not None else 0
        sentence = "Its tools can be used."
        if left_out:
            sentence += f" {left_out} are left out: their names or schemas cannot be used."
        if not agreed:
            sentence += " Each call counts as one with effects until you agree to its list."
        self._become(State.READY, sentence)

    def _fell(self, error: Exception) -> None:
        self._become(State.FAILED, one_line(f"{self._told(error)}.", _SENTENCE))
        journal.warn("mcp server failed", server=self.name, why=self.sentence)

    def _told(self, error: Exception) -> str:
        match _innermost(error):
            case FileNotFoundError() | PermissionError():
                return f"The program {self.server.command!r} cannot be started"
            case TimeoutError():
                return f"It did not answer within {self.server.timeout:g} seconds"
            case UnusableError() | ClankieError():
                return str(_innermost(error)).rstrip(".")
            case other:
                last = self._last_words()
                said = f"; it wrote: {last}" if last else ""
                return f"It cannot be used ({type(other).__name__}: {other}){said}"

    def _last_words(self) -> str:
        words = bytes(self._errors).decode("utf-8", "replace")
        for secret in self._means.credentials.known_secrets():
            words = words.replace(secret, "[secret]") if secret else words
        lines = words.strip().splitlines()
        return lines[-1] if lines else ""

    def _become(self, state: State, sentence: str) -> None:
        self.state, self.sentence = state, sentence
        self._settled.set()

    def _ended(self) -> None:
        self._over = True
        self._nudge.set()

    def _list_changed(self) -> None:
        self._look = True
        self._nudge.set()


def _innermost(error: BaseException) -> BaseException:
    """The first of what went wrong at once: the SDK's tasks report in groups."""
    group = cast("BaseExceptionGroup[BaseException]", error)
    return _innermost(group.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def _load() -> Any:  # noqa: ANN401 - a module
    from clankie.lanes.mcp import sdk  # noqa: PLC0415 - loaded when the first server is started

    return sdk
