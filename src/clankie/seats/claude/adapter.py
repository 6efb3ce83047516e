"""Claude Code: in a person's terminal (joined), or without one (driven)."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from clankie.core.seat import Capabilities, EventKind
from clankie.seats.claude import launch as starting
from clankie.seats.claude.joined import Joined
from clankie.seats.claude.registry import config
from clankie.seats.claude.stream import Stream
from clankie.seats.claude.watch import Watch
from clankie.seats.port import Declaration, Way

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from clankie.seats.launch import Driven, Launch, Means, Place
    from clankie.seats.port import Harness

_ROW: Final = (
    "a row of the transcript with the delivery's own id, or its queue with exactly its words"
)
_MESSAGE: Final = Way(
    delivers="as a message on the session's messaging socket; it joins a running turn",
    proof=_ROW,
    refusal="nobody listens on the socket, the session has ended, or its usage limit is reached",
)
_TYPED: Final = Way(
    delivers=(
        "typed into its terminal as a prompt; as a message where a turn runs, a dialog or a menu "
        "is open, there may be a draft, or the words would be an order to the client"
    ),
    proof="one new row with exactly the words within ten seconds; for a message as below",
    refusal="as for a message; words that were typed are never refused",
)
_LINE: Final = Way(
    delivers="as a user's message on its standard input; it joins a running turn",
    proof="the client's own word that it is queued, or as for a message",
    refusal="the process has ended, or its usage limit is reached",
)


class Claude:
    """Implements `launch.Adapter`."""

    name = "claude"
    program = starting.PROGRAM
    install = "npm install -g @anthropic-ai/claude-code"

    def declaration(self, *, headless: bool) -> Declaration:
        """What it can do in this manner."""
        ways = dict.fromkeys(EventKind, _LINE if headless else _MESSAGE)
        if not headless:
            ways[EventKind.TURN] = _TYPED
        return Declaration(
            harness=self.name,
            ways=ways,
            capabilities=Capabilities(interrupt=headless),
            tested=starting.TESTED,
        )

    def driven(self, *, headless: bool) -> bool:
        """Without a terminal a driver owns it."""
        return headless

    def launch(self, place: Place) -> Launch:
        """How it is started in a pane."""
        return starting.launch(place)

    @asynccontextmanager
    async def join(self, means: Means) -> AsyncGenerator[Harness]:
        """The session that started the bridge we are in."""
        watch = Watch(
            clock=means.clock,
            config=config(means.place.environment),
            pid=means.pid,
            session_id=means.session_id,
        )
        watch.look()
        async with asyncio.TaskGroup() as tasks:
            looking = tasks.create_task(watch.run())
            try:
                yield Joined(means, watch, self.declaration(headless=False))
            finally:
                looking.cancel()

    @asynccontextmanager
    async def drive(self, means: Means) -> AsyncGenerator[Driven]:
        """Start one without a terminal, and end it with this."""
        async with Stream.started(means, self.declaration(headless=True)) as stream:
            yield stream


ADAPTER: Final = Claude()
