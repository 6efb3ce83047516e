"""Codex as an adapter: from a seat's folder to a running seat."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from clankie.seats.beside import beside
from clankie.seats.codex import launch, proof
from clankie.seats.codex import thread as threads
from clankie.seats.codex.adapter import CodexSeat
from clankie.seats.codex.handing import begun, first_of, running_turn
from clankie.seats.codex.rpc import Rpc, RpcError, RpcRefusedError, connected
from clankie.seats.codex.server import CodexError, Server, running
from clankie.seats.folder import Folder
from clankie.seats.launch import NEWEST, Launch, Means, Place

if TYPE_CHECKING:
    from clankie.seats.launch import Driven
    from clankie.seats.port import Declaration, Harness

_RESUMED_WITHIN: Final = 80.0
"""Seconds; a large thread takes its time."""
_NEVER_WRITTEN: Final = "no rollout found"


class Codex:
    """The adapter."""

    name = "codex"
    program = "codex"
    install = "npm install -g @openai/codex"

    def declaration(self, *, headless: bool) -> Declaration:
        """What it can do; the same with a terminal and without."""
        del headless
        return launch.DECLARATION

    def driven(self, *, headless: bool) -> bool:
        """Always: the app-server is ours."""
        del headless
        return True

    def launch(self, place: Place) -> Launch:
        """The argv of a server alone, to look at; `drive` is how a seat is opened."""
        return Launch(argv=launch.server(place, launch.socket(place, "dry"), hooks=False))

    def join(self, means: Means) -> AbstractAsyncContextManager[Harness]:
        """There is nothing to join from inside a bridge."""
        del means
        raise CodexError("A Codex seat is driven from outside; open it with `clankie seat open`.")

    def drive(self, means: Means) -> AbstractAsyncContextManager[Driven]:
        """Start the app-server, or join the one of this seat. Raises CodexError."""
        return _drive(means)


@asynccontextmanager
async def _drive(means: Means) -> AsyncGenerator[CodexSeat]:
    before = proof.kept(Folder(str(means.place.folder)))
    async with running(means) as server:
        try:
            async with connected(Path(server.record.link)) as rpc:
                thread = await _thread(rpc, server, means, before)
                seat = CodexSeat(rpc, server, means, thread)
                async with beside(seat.listen()):
                    yield seat
        except RpcError as error:
            raise CodexError(f"Codex's app-server failed: {error}.") from error


async def _thread(
    rpc: Rpc, server: Server, means: Means, before: proof.Record | None
) -> threads.Thread:
    """The thread of the seat: the one it had, the one that was asked for, or a new one."""
    wanted = server.record.thread or (before.thread if before is not None else "")
    if not wanted and means.place.resume is not None:
        wanted = await _newest(rpc, means) if means.place.resume == NEWEST else means.place.resume
    if wanted:
        found = await _resumed(rpc, wanted)
        if found is not None:
            return found
        if means.place.resume:
            raise CodexError(f"Codex has no session {wanted!r} to resume.")
    fresh = await begun(rpc, means.place.directory, "startup")
    if fresh is None:
        raise CodexError("Codex started no session that a person could sit in front of.")
    return fresh


async def _resumed(rpc: Rpc, name: str) -> threads.Thread | None:
    """The thread, loaded; None when it was never written. Raises CodexError."""
    try:
        asked = {"threadId": name, "excludeTurns": True}
        found = await rpc.call("thread/resume", asked, timeout=_RESUMED_WITHIN)
    except RpcRefusedError as refused:
        if _NEVER_WRITTEN in refused.message:
            return None
        # Such as one that another server has open: a thread has one writer.
        raise CodexError(
            f"Codex does not resume its session: {refused.message}. Close the Codex that has it "
            "open, then try again."
        ) from refused
    thread = threads.of(found.get("thread"))
    if thread is None:
        raise CodexError(f"{name} is no session that a person could sit in front of.")
    thread.turn = await running_turn(rpc, thread.id)
    return thread


async def _newest(rpc: Rpc, means: Means) -> str:
    asked = {"limit": 1, "sortKey": "updated_at", "cwd": means.place.directory}
    found = await rpc.call("thread/list", asked)
    return str(first_of(found.get("data")).get("id") or "")
