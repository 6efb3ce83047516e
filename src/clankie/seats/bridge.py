"""`clankie bridge`: the server of tools that a harness starts, and the pump inside it.

Rule 1: only the handshake era of the protocol is spoken. A client that agrees on a later one takes
        no notification from us, and so no channel.
Rule 2: standard output is the protocol's alone; everything else goes to standard error.
Rule 3: a session that sits in no seat gets a server without tools, and is left alone.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from clankie import __version__
from clankie.seats import harnesses, registration
from clankie.seats import place as places
from clankie.seats.journal import Journal
from clankie.seats.launch import Means
from clankie.seats.registration import Arrival
from clankie.seats.relay import Relay, RelayError
from clankie.seats.running import Tools, pumped, reason
from clankie.seats.unix import WireError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server.context import ServerRequestContext
    from mcp.shared._stream_protocols import ReadStream, WriteStream

    from clankie.host.panes import PaneHost
    from clankie.host.ports import Clock
    from clankie.seats.folder import Folder
    from clankie.seats.registration import Seated

CHANNEL: Final = {"claude/channel": dict[str, Any]()}
"""A harness that knows no channels ignores it."""
SESSION: Final = "CLAUDE_CODE_SESSION_ID"
"""Where a harness says which session starts us; one that does not has a hook that registers."""
INSTRUCTIONS: Final = (
    "This session is a seat of Clankie: it drives a conversation that the owner also reaches from "
    "elsewhere. Answer an event that asks for a reply with the tool `reply`."
)
TRIES: Final = 30
PAUSE: Final = 0.5
"""Seconds between two tries to list the tools."""
REGISTERED: Final = 1.0
"""Seconds between two looks whether a hook has registered the session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What the bridge runs in. `panes` and `pane`: where the harness is seen, if anywhere."""

    folder: Folder | None
    tools: Tools
    panes: PaneHost | None = None
    pane: str | None = None


async def on_stdio(around: Around) -> None:
    """Serve the harness on standard input and output."""
    async with stdio_server() as (reading, writing):
        await serve(around, reading, writing)


async def serve(
    around: Around,
    reading: ReadStream[SessionMessage | Exception],
    writing: WriteStream[SessionMessage],
) -> None:
    """Serve the harness until it closes its end; meanwhile the pump runs."""
    folder = around.folder
    listed = None if folder is None else Listed(Relay(folder), around.tools.clock)
    server = _server(listed)
    options = server.create_initialization_options(
        NotificationOptions(tools_changed=True), experimental_capabilities=CHANNEL
    )
    async with asyncio.TaskGroup() as group:
        beside: list[asyncio.Task[None]] = []
        if listed is not None:
            beside.append(group.create_task(_relist(listed, around, writing)))
        if folder is not None and not places.driven(folder):
            beside.append(group.create_task(_pump(around, folder, writing)))
        await serve_loop(server, reading, writing, lifespan_state={}, init_options=options)
        for task in beside:
            task.cancel()


@dataclass
class Listed:
    """The list of tools, asked for with patience: harnesses ask once, when they start."""

    bank: Relay
    clock: Clock
    missing: asyncio.Event = field(default_factory=asyncio.Event)

    async def tools(self) -> list[types.Tool]:
        """What there is; none, and `missing`, where the service cannot be asked for a while."""
        for _ in range(TRIES):
            try:
                return await self.bank.tools()
            except RelayError:
                await self.clock.sleep(PAUSE)
        self.missing.set()
        return []

    async def found(self) -> None:
        """Wait until tools that were missing are there."""
        await self.missing.wait()
        while not await self.tools():
            pass
        self.missing.clear()


async def _relist(listed: Listed, around: Around, writing: WriteStream[SessionMessage]) -> None:
    while True:
        await listed.found()
        around.tools.say("Clankie's tools are there now.")
        await _note(writing, "notifications/tools/list_changed", {})


def _server(listed: Listed | None) -> Server[dict[str, Any]]:
    async def tools(
        ctx: ServerRequestContext[dict[str, Any], Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        del ctx, params
        return types.ListToolsResult(tools=[] if listed is None else await listed.tools())

    async def call(
        ctx: ServerRequestContext[dict[str, Any], Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        del ctx
        if listed is None:
            return _failed("This session sits in no seat.")
        try:
            return await listed.bank.call(params.name, params.arguments or {})
        except RelayError as error:
            return _failed(str(error))

    return Server(
        "clankie",
        version=__version__,
        instructions=None if listed is None else INSTRUCTIONS,
        on_list_tools=tools,
        on_call_tool=call,
    )


def _failed(sentence: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=sentence)], is_error=True)


async def _pump(around: Around, folder: Folder, writing: WriteStream[SessionMessage]) -> None:
    say = around.tools.say
    try:
        seated = await _registered(around, folder)
        if seated is None:
            return
        journal = Journal(folder, around.tools.clock)
        means = _means(around, folder, seated, journal, writing)
        async with harnesses.adapter(seated.harness).join(means) as harness:
            ending = await pumped(folder, harness, journal, around.tools)
        say(ending.sentence)
    except Exception as error:  # noqa: BLE001 - the tools go on without the pump
        say(f"The seat gets no events: {reason(error)}")


async def _registered(around: Around, folder: Folder) -> Seated | None:
    """The seat, once hook or bridge has it; None in a session that only inherited its place."""
    said = ""
    while True:
        if registration.inherited(folder):
            return None
        found = registration.seated(folder)
        if found is not None:
            return found
        problem = await _arrive(around, folder)
        if problem not in {"", said}:
            around.tools.say(problem)
        said = problem
        if registration.seated(folder) is None:
            await around.tools.clock.sleep(REGISTERED)


async def _arrive(around: Around, folder: Folder) -> str:
    """Register, if we know our session; a sentence where that will be tried again."""
    session = around.tools.environment.get(SESSION)
    if not session:
        return ""
    who = Arrival(session_id=session, pane=around.pane)
    try:
        await asyncio.to_thread(registration.register, folder, who)
    except WireError as error:
        if error.sent:
            raise
        return str(error)  # the service is away; the grant is still good
    return ""


async def _note(
    writing: WriteStream[SessionMessage], method: str, params: Mapping[str, object]
) -> None:
    note = types.JSONRPCNotification(jsonrpc="2.0", method=method, params=dict(params))
    await writing.send(SessionMessage(note))


def _means(
    around: Around,
    folder: Folder,
    seated: Seated,
    journal: Journal,
    writing: WriteStream[SessionMessage],
) -> Means:
    async def notify(method: str, params: Mapping[str, object]) -> None:
        await _note(writing, method, params)

    tools = around.tools
    return Means(
        place=places.kept(folder, tools.environment),
        clock=tools.clock,
        ids=tools.ids,
        ledger=journal,
        session_id=seated.session_id,
        pid=seated.pid,
        panes=around.panes,
        pane=around.pane,
        notify=notify,
    )
