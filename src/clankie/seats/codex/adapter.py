"""A thread of a Codex app-server as a seat. We are its second client; a terminal is the first.

Rule: of several programs at one server nobody knows which one the person looks at: the seat then
stays with its thread and says so.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from clankie.core.seat import Activity, Native, SeatEvent
from clankie.seats import versions
from clankie.seats.codex import launch, proof
from clankie.seats.codex import thread as threads
from clankie.seats.codex.handing import Hands, begun, put, running_turn
from clankie.seats.codex.questions import Pending, pending
from clankie.seats.codex.rollout import ended
from clankie.seats.codex.rpc import Rpc, RpcError, Said
from clankie.seats.folder import Folder
from clankie.seats.launch import Launch, Means
from clankie.seats.port import DeafError, Handed, Observation, Seen

if TYPE_CHECKING:
    from clankie.seats.codex.server import Server

_STARTED: Final = frozenset({"ready", "failed", "cancelled"})
_LOOKS, _LOOK = 40, 0.05
"""How often, and how many seconds apart, we look whether the end of a turn was written."""
_GONE: Final = frozenset({"thread/closed", "thread/deleted", "thread/archived"})


@dataclass(frozen=True, slots=True)
class _TurnEnded:
    thread: threads.Thread
    turn: str
    at: datetime


class CodexSeat:
    """What the pump works with. `listen` runs beside it, until the server is gone."""

    def __init__(self, rpc: Rpc, server: Server, means: Means, thread: threads.Thread) -> None:
        self.declaration = launch.DECLARATION
        self._rpc, self._server, self._means = rpc, server, means
        self._thread = thread
        self._hands = Hands(rpc, server, means)
        if server.child is None:
            self._hands.tools.set()  # a server that was joined has started them long ago
        self._questions: dict[str, Pending] = {}
        self._out: asyncio.Queue[Seen | _TurnEnded | DeafError | None] = asyncio.Queue()
        self._notes = (*server.notes, *versions.untried("Codex", rpc.version, launch.TESTED))
        if self._notes:
            self._out.put_nowait(Seen(notes=self._notes))
        same = server.child is None and server.record.thread == thread.id
        self._keep(greeted=same and server.record.greeted)
        if thread.turn is not None:
            self._responds()
        rpc.mark(threads.JOINED)

    # ── what it is ───────────────────────────────────────────────────────────────────────────

    @property
    def native(self) -> Native:
        """The thread, and the server that runs it."""
        return self._server.record.native

    @property
    def transcript(self) -> Path | None:
        """The rollout of the thread; it may not be there yet."""
        return None if self._thread.path is None else Path(self._thread.path)

    @property
    def greets(self) -> bool:
        """Whether this session wants the log from outside: no hook of ours gave or gives it."""
        return not (self._server.record.hooks or self._server.record.greeted)

    def screen(self) -> Launch | None:
        """The person's terminal."""
        if self._means.place.headless:
            return None
        return launch.screen(self._server.record.link, self._thread.id, self._notes)

    # ── what goes in ─────────────────────────────────────────────────────────────────────────

    async def greet(self, text: str) -> bool:
        """Give the thread the log, as context of the developer's; whether it has it."""
        thread = self._thread
        if not await put(self._rpc, thread.id, text):
            return False
        if thread is self._thread:
            self._keep(greeted=True)
        if not thread.joined:
            await self._join()
        return True

    async def renew(self) -> str | None:
        """Begin another thread in the same server; not where a terminal shows the one of now."""
        if not self._means.place.headless or proof.joined(self._server.record, os.getpid()):
            return None
        old, directory = self._thread, self._means.place.directory
        self._hands.tools.clear()  # each thread starts its own
        try:
            fresh = await begun(self._rpc, directory, "clear")
        except RpcError:
            fresh = None
        if fresh is None:
            self._hands.tools.set()
            return None
        fresh.account(old)
        self._shows(fresh)
        if old.turn is not None:
            await self._stopped(old.id, old.turn)
        return fresh.id

    async def hand_over(self, event: SeatEvent) -> Handed:
        """Give it the words of one event, once."""
        return await self._hands.give(self._thread, event)

    async def interrupt(self, event: str) -> bool:
        """Stop the turn that this event started or joined, if it runs."""
        turn = self._thread.turn
        if turn is None or not self._thread.runs(event):
            return False
        return await self._stopped(self._thread.id, turn)

    async def _stopped(self, thread: str, turn: str) -> bool:
        try:
            await self._rpc.call("turn/interrupt", {"threadId": thread, "turnId": turn})
        except RpcError:
            return False
        return True

    async def answer(self, question: str, *, approve: bool) -> bool:
        """Answer a question, unless the person did so in the terminal, or leave is no answer."""
        asked = self._questions.get(question)
        if asked is None:
            return False
        said = asked.yes if approve else asked.no
        if said is None:
            return False
        del self._questions[question]
        try:
            await self._rpc.answer(asked.number, said)
        except RpcError:
            return False
        return True

    # ── what comes out ───────────────────────────────────────────────────────────────────────

    async def seen(self) -> AsyncIterator[Seen]:
        """Questions, what the session does, and its end. What it writes stands in the rollout.

        Raises DeafError.
        """
        while (seen := await self._out.get()) is not None:
            if isinstance(seen, DeafError):
                raise seen
            if isinstance(seen, _TurnEnded):
                await self._written(seen)
                waits = Activity.WAITING
                over = Observation(session_id=seen.thread.id, activity=waits, at=seen.at)
                yield Seen(observation=over)
            else:
                yield seen

    async def _written(self, end: _TurnEnded) -> None:
        """Wait a moment until the turn's end stands in the rollout, and so all before it."""
        environment, path = self._means.place.environment, end.thread.path
        for _ in range(_LOOKS):
            if path is None or await asyncio.to_thread(ended, path, end.turn, environment):
                return
            await self._means.clock.sleep(_LOOK)

    async def listen(self) -> None:
        """Hear the server until it is gone. Runs beside the pump."""
        try:
            async for said in self._rpc.said():
                if said.method in _GONE and said.params.get("threadId") == self._thread.id:
                    break
                await self._heard(said)
        except Exception as error:  # noqa: BLE001 - `seen` raises it: the server goes on
            self._out.put_nowait(DeafError.of(error))
        finally:
            self._thread.gone()
            self._close(self._questions)
            self._hands.tools.set()
            end = Observation(session_id=self._thread.id, ended=True)
            self._out.put_nowait(Seen(observation=end))
            self._out.put_nowait(None)

    async def _heard(self, said: Said) -> None:
        params = said.params
        match said.method:
            case "account/rateLimits/updated":
                self._thread.limits(threads.as_json(params.get("rateLimits")))
            case "mcpServer/startupStatus/updated":
                if params.get("name") == launch.SERVER and params.get("status") in _STARTED:
                    self._hands.tools.set()
            case "thread/started":
                found = threads.of(params.get("thread"))
                forked = threads.as_json(params.get("thread")).get("forkedFromId")
                await self._moved(found, "fork" if forked else "clear")
            case "thread/status/changed":
                await self._changed(params)
            case threads.JOINED if self._questions or not self._thread.waits:
                # Who joins a thread is asked at once whatever is open there.
                self._out.put_nowait(Seen(standing=tuple(self._questions)))
            case _ if params.get("threadId") == self._thread.id:
                self._mine(said)
            case _:
                pass

    def _mine(self, said: Said) -> None:
        thread, params = self._thread, said.params
        match said.method:
            case "turn/started":
                thread.begins(str(threads.as_json(params.get("turn")).get("id")))
                self._responds()
            case "turn/completed":
                turn = threads.as_json(params.get("turn"))
                thread.ends(turn)
                now = self._means.clock.now()
                self._out.put_nowait(_TurnEnded(thread, str(turn.get("id")), now))
            case "item/started" | "item/completed":
                thread.shows(str(params.get("turnId")), threads.as_json(params.get("item")))
            case "serverRequest/resolved":
                number = params.get("requestId")
                self._close(n for n, one in self._questions.items() if one.number == number)
            case _:
                self._asked(said)

    def _close(self, questions: Iterable[str]) -> None:
        """These no longer stand: they were answered in the terminal, or are over."""
        closed = tuple(questions)
        for name in closed:
            del self._questions[name]
        if closed:
            self._out.put_nowait(Seen(answered=closed))

    def _responds(self) -> None:
        works = Observation(session_id=self._thread.id, activity=Activity.RESPONDING)
        self._out.put_nowait(Seen(observation=works))

    def _asked(self, said: Said) -> None:
        event = self._thread.starters.get(str(said.params.get("turnId")))
        found = pending(said, event or None)
        if found is not None:
            self._questions[found.question.id] = found
            self._out.put_nowait(Seen(question=found.question))

    # ── which thread it is ───────────────────────────────────────────────────────────────────

    async def _changed(self, params: Mapping[str, Any]) -> None:
        thread = str(params.get("threadId"))
        if thread == self._thread.id:
            if not self._thread.joined:
                await self._join()
            return
        if threads.as_json(params.get("status")).get("type") != "active":
            return
        # Words were typed into a thread that we know nothing of: one that was resumed over there.
        try:
            found = await self._rpc.call("thread/read", {"threadId": thread})
        except RpcError:
            return
        await self._moved(threads.of(found.get("thread")), "resume")

    async def _moved(self, thread: threads.Thread | None, source: str) -> None:
        """The person's terminal shows another thread now, if it is the only one at this server."""
        if thread is None or thread.id == self._thread.id:
            return
        others = proof.joined(self._server.record, os.getpid())
        if others > 1:
            note = (
                f"{others} programs are joined to this Codex server, so nobody can tell whether "
                f"the thread {thread.id} is the seat's. It stays with {self._thread.id}."
            )
            self._out.put_nowait(Seen(notes=(note,)))
        if others != 1:
            return
        thread.joined = False
        self._shows(thread)
        await self._join()
        moved = Observation(session_id=thread.id, source=source)
        self._out.put_nowait(Seen(observation=moved))

    def _shows(self, thread: threads.Thread) -> None:
        """The seat's thread is this one from now on."""
        self._thread.gone()
        self._thread = thread
        self._close(self._questions)
        self._keep(greeted=False)

    async def _join(self) -> None:
        """Be told what happens in the thread; one without a rollout cannot be joined yet."""
        thread = self._thread
        try:
            await self._rpc.call("thread/resume", {"threadId": thread.id, "excludeTurns": True})
            turn = await running_turn(self._rpc, thread.id)
        except RpcError:
            return
        thread.joined = True
        thread.turn = turn or thread.turn
        if thread.turn is not None:
            self._responds()

    def _keep(self, *, greeted: bool) -> None:
        known = replace(self._server.record, thread=self._thread.id, greeted=greeted)
        self._server.record = known
        proof.keep(Folder(str(self._means.place.folder)), known)
