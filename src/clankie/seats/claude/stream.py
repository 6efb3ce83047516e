"""A session of Claude Code without a terminal: we own the process and speak JSON lines with it.

Rule 1: a message goes in once, under the id of its delivery; the client says when it is queued, and
        its transcript keeps the id.
Rule 2: what was written to its input and is not confirmed is unknown.
Rule 3: its questions wait for an answer; nobody here answers for the owner.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from clankie.core.seat import EventKind, Native, delivery_uuid
from clankie.seats.claude import launch, registry
from clankie.seats.claude.frame import framed
from clankie.seats.claude.lines import Child, EndedError
from clankie.seats.claude.watch import Watch
from clankie.seats.claude.words import object_of
from clankie.seats.port import DeafError, Question, Refused, Seen, Taken, Unknown

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterable

    from clankie.core.seat import SeatEvent
    from clankie.seats.claude.receipts import Expected
    from clankie.seats.launch import Launch, Means
    from clankie.seats.port import Declaration, Handed

Json = dict[str, Any]

PROVEN: Final = 15.0
"""Seconds for the client to say that it has a message; less than the pump waits."""
START: Final = 30.0
"""Seconds for the client to start."""
STOP: Final = 5.0
"""Seconds for the client to confirm that a turn was stopped."""
POLL: Final = 0.05
SHOWN: Final = 4_000
"""Characters of what a question wants to do."""
_CLEAR: Final = "/clear"
_DENIED: Final = "Your user said no to this, through Clankie."


class NotStartedError(Exception):
    """The client ended, or never said which session it runs."""


class Stream:
    """Implements `launch.Driven`."""

    def __init__(self, child: Child, watch: Watch, means: Means, declaration: Declaration) -> None:
        self._child, self._watch, self._means = child, watch, means
        self.declaration = declaration
        self._open: dict[str, Expected] = {}
        self._questions: dict[str, Json] = {}
        self._helpers: set[str] = set()  # of the questions, those that a helper asks
        self._stops: dict[str, bool] = {}

    @classmethod
    @asynccontextmanager
    async def started(cls, means: Means, declaration: Declaration) -> AsyncGenerator[Stream]:
        """Start the client, and end it at the end.

        Raises:
            NotStartedError: it did not come up.
            OSError: there is no such program.
        """
        place, clock = means.place, means.clock
        how = launch.stream(place)
        environment = {**place.environment, **how.env}
        child = await Child.started(
            how.argv,
            cwd=place.directory,
            env=environment,
            errors=place.folder / "claude.log",
            clock=clock,
        )
        try:
            config = registry.config(environment)
            session = await _session(means, child, config)
            watch = Watch(clock=clock, config=config, pid=child.pid, session_id=session)
            watch.look()
            stream = cls(child, watch, means, declaration)
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(watch.run()), tasks.create_task(stream._listen())]
                try:
                    yield stream
                finally:
                    for task in running:
                        task.cancel()
        finally:
            await child.end()

    @property
    def native(self) -> Native:
        """The session it runs now."""
        return self._watch.native

    @property
    def transcript(self) -> Path | None:
        """Where its rows stand."""
        return self._watch.transcript

    @property
    def greets(self) -> bool:
        """Its plugin brings the log into a new session."""
        return False

    async def greet(self, text: str) -> bool:
        """Not needed, so not done."""
        del text
        return False

    async def renew(self) -> str | None:
        """Clear it, which begins another session; the plugin brings the log into that."""
        before = self._watch.native.session_id
        if any(one.shown for one in self._open.values()):
            await self._stopped()  # else the order waits behind the turn
        uuid = delivery_uuid(f"{_CLEAR}{before}", 1)
        row = {"type": "user", "uuid": uuid, "message": {"role": "user", "content": _CLEAR}}
        try:
            await self._child.send(row)
        except (EndedError, OSError):
            return None
        clock = self._means.clock
        until = clock.monotonic() + PROVEN
        while clock.monotonic() < until and not self._child.ended:
            self._watch.look()
            if self._watch.native.session_id != before:
                self._close(list(self._questions))
                return self._watch.native.session_id
            await clock.sleep(POLL)
        return None

    def screen(self) -> Launch | None:
        """There is none."""
        return None

    def seen(self) -> AsyncIterator[Seen]:
        """What it does and asks, until it ends."""
        return self._watch.seen()

    async def hand_over(self, event: SeatEvent) -> Handed:
        """Give it the words of one event, once."""
        self._watch.look()
        if self._watch.ended or self._child.ended:
            return Refused("session_ended")
        if self._watch.limited:
            return Refused("usage_limited")
        text = event.content if event.kind is EventKind.TURN else framed(event)
        uuid = delivery_uuid(event.id, event.attempt)
        expected = self._watch.receipts.expect(text, uuid)
        row = {"type": "user", "uuid": uuid, "message": {"role": "user", "content": text}}
        try:
            await self._child.send(row)
        except EndedError:
            self._watch.receipts.forget(expected)
            return Refused("session_ended")
        except OSError as error:
            return Unknown(f"its input broke: {error}")
        self._open[event.id] = expected
        if await self._watch.receipts.proof(expected, PROVEN):
            return Taken(expected.proof)
        return Unknown("it was sent, and the client does not say that it has it")

    async def interrupt(self, event: str) -> bool:
        """Stop the turn that holds this event; False where its turn has not begun, or is over."""
        expected = self._open.get(event)
        self._watch.look()
        if expected is None or not expected.shown:
            return False
        return await self._stopped()

    async def _stopped(self) -> bool:
        request = self._means.ids.new("stop")
        self._stops[request] = False
        try:
            return await self._stop(request)
        finally:
            del self._stops[request]

    async def _stop(self, request: str) -> bool:
        row = {"type": "control_request", "request_id": request}
        try:
            await self._child.send({**row, "request": {"subtype": "interrupt"}})
        except (EndedError, OSError):
            return False
        clock = self._means.clock
        until = clock.monotonic() + STOP
        while not self._stops[request] and clock.monotonic() < until:
            await clock.sleep(POLL)
        return self._stops[request]

    async def answer(self, question: str, *, approve: bool) -> bool:
        """Answer what it asked for leave to do; False where it no longer asks."""
        asked = self._questions.pop(question, None)
        self._helpers.discard(question)
        if asked is None:
            return False
        said: Json = {"behavior": "deny", "message": _DENIED}
        if approve:
            said = {"behavior": "allow", "updatedInput": asked}
        return await self._control({"subtype": "success", "request_id": question, "response": said})

    # ── what it says ─────────────────────────────────────────────────────────────────────────────

    async def _listen(self) -> None:
        """Hear it until it ends. What fails, `seen` raises."""
        try:
            await self._hear()
        except Exception as error:  # noqa: BLE001 - see above
            self._watch.tell(DeafError.of(error))

    async def _hear(self) -> None:
        async for row in self._child.rows():
            match row.get("type"):
                case "command_lifecycle" if row.get("state") == "queued":
                    self._watch.receipts.queued(row.get("command_uuid"))
                case "command_lifecycle" if row.get("state") == "started":
                    self._watch.receipts.begun(row.get("command_uuid"))
                case "control_request":
                    await self._asked(row)
                case "control_cancel_request":
                    self._close([str(row.get("request_id"))])
                case "control_response":
                    self._answered(object_of(row.get("response")))
                case "result":
                    self._ended_turn()
                case _:
                    continue

    async def _asked(self, row: Json) -> None:
        request, name = object_of(row.get("request")), str(row.get("request_id"))
        if request.get("subtype") != "can_use_tool":
            no = {"subtype": "error", "request_id": name, "error": "not supported here"}
            await self._control(no)
            return
        self._watch.look()
        given = object_of(request.get("input"))
        self._questions[name] = given
        if request.get("agent_id"):
            self._helpers.add(name)
        tool = str(request.get("display_name") or request.get("tool_name") or "a tool")
        about = request.get("description")
        question = Question(
            id=name,
            summary=f"{tool}: {about}" if isinstance(about, str) and about else tool,
            detail=json.dumps(given, ensure_ascii=False, indent=1)[:SHOWN],
            event=next((event for event, one in self._open.items() if one.shown), None),
        )
        self._watch.tell(Seen(question=question))

    async def _control(self, response: Json) -> bool:
        try:
            await self._child.send({"type": "control_response", "response": response})
        except (EndedError, OSError):
            return False
        return True

    def _close(self, questions: Iterable[str]) -> None:
        """It asks these no more."""
        closed = tuple(name for name in questions if self._questions.pop(name, None) is not None)
        self._helpers.difference_update(closed)
        if closed:
            self._watch.tell(Seen(answered=closed))

    def _answered(self, response: Json) -> None:
        request = str(response.get("request_id"))
        if response.get("subtype") == "success" and request in self._stops:
            self._stops[request] = True

    def _ended_turn(self) -> None:
        self._watch.rest()
        # A helper goes on beside the turn, and so does what it asks.
        self._close([name for name in self._questions if name not in self._helpers])
        self._open = {event: one for event, one in self._open.items() if not one.shown}


async def _session(means: Means, child: Child, config: str) -> str:
    """The id of the session, from the client's register."""
    clock, wanted = means.clock, launch.resumed(means.place)
    until = clock.monotonic() + START
    while clock.monotonic() < until and not child.ended:
        found = registry.session(config, child.pid)
        # At first it registers under a fresh id, also when it goes on with an older session.
        if found is not None and found.session_id == (wanted or found.session_id):
            return found.session_id
        await clock.sleep(POLL)
    raise NotStartedError(f"Claude Code did not start; see {means.place.folder / 'claude.log'}.")
