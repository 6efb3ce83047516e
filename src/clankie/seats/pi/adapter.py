"""A session of pi as a seat.

Rule 1: one process, one pipe, one writer: what pi accepts is in its queue.
Rule 2: words go in through our own extension, so that they keep our id and are nobody's orders.
Rule 3: pi has no tools of ours: what wants a reply goes another way.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from clankie.core.seat import (
    Activity,
    Capabilities,
    EventKind,
    Native,
    SeatEvent,
    delivery_uuid,
)
from clankie.host.ports import Clock
from clankie.seats import process
from clankie.seats.launch import Launch
from clankie.seats.pi.link import Link, PiError, PiLostError, PiRefusedError
from clankie.seats.pi.rows import OURS
from clankie.seats.pi.run import Run
from clankie.seats.port import (
    DeafError,
    Declaration,
    Handed,
    Observation,
    Question,
    Refused,
    Seen,
    Taken,
    Unknown,
    Way,
)

Json = dict[str, Any]

TESTED: Final = ("0.74.2",)
_ROW: Final = 10.0
"""Seconds until accepted words stand in the session; the pump waits for 25 altogether."""
_WAY: Final = Way(
    delivers="a message of our extension; during a turn it joins before the next request",
    proof="our id beside the words in the session",
    refusal="an answer without success, or an error of the extension",
)
_KINDS: Final = (EventKind.TURN, EventKind.WAKE, EventKind.WATCH, EventKind.MESSAGE)
DECLARATION: Final = Declaration(
    harness="pi",
    ways=dict.fromkeys(_KINDS, _WAY),
    capabilities=Capabilities(kinds=frozenset(_KINDS), interrupt=True),
    tested=TESTED,
    screen=False,
)


@dataclass(frozen=True, slots=True)
class Session:
    """The session that pi runs, and its file, which is there from its first answer on."""

    id: str
    file: Path | None


Current = Callable[[], Awaitable[Session]]
"""Asks pi which session it runs, and keeps that for the next driver. Raises PiError."""


class PiSeat:
    """What the pump works with. `listen` runs beside it, until pi ends."""

    def __init__(
        self,
        link: Link,
        session: Session,
        current: Current,
        clock: Clock,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.declaration = DECLARATION
        self._link, self._session, self._current = link, session, current
        self._reserved = asyncio.Lock()
        self._out: asyncio.Queue[Seen | DeafError | None] = asyncio.Queue()
        self._waiting: dict[str, asyncio.Future[bool]] = {}
        self._run = Run(clock.now)
        self._given: dict[str, str] = {}  # the events whose words do not stand there yet, by id
        self._questions: dict[str, tuple[str, bool]] = {}
        if notes:
            self._out.put_nowait(Seen(notes=notes))
        pid = link.child.pid
        self._process = pid, process.started_at(pid)

    @property
    def native(self) -> Native:
        """The session, and the process that runs it."""
        return Native(self._session.id, *self._process)

    @property
    def transcript(self) -> Path | None:
        """The session's file; it may not be there yet."""
        return self._session.file

    @property
    def greets(self) -> bool:
        """Always: pi reads nothing by itself."""
        return True

    def screen(self) -> Launch | None:
        """There is none: rpc mode has no screen."""
        return None

    async def greet(self, text: str) -> bool:
        """Give the session the log, as a message that starts nothing; whether it has it."""
        return isinstance(await self._say("", text, turn=False), Taken)

    async def renew(self) -> str | None:
        """Begin another session in the same process; an extension may say no to that."""
        asked = tuple(self._questions)
        for question in asked:
            await self.answer(question, approve=False)
        if asked:
            self._out.put_nowait(Seen(answered=asked))
        try:
            if self._run.runs:
                # Else its end would never be heard: pi drops what it runs without a word.
                await self._link.ask("abort")
            if (await self._link.ask("new_session")).get("cancelled") is True:
                return None
            self._session = await self._current()
        except PiError:
            return None
        self._run.over()
        self._given.clear()
        return self._session.id

    async def hand_over(self, event: SeatEvent) -> Handed:
        """Give it the words of one event, once."""
        if event.reply:
            return Refused("pi_cannot_reply")
        client = delivery_uuid(event.id, event.attempt)
        async with self._reserved:
            joins = self._run.runs
            self._given[client] = event.id
            handed = await self._say(client, event.content, turn=True)
            if isinstance(handed, Refused):
                self._given.pop(client, None)
            elif joins and self._run.runs:
                self._run.members.add(event.id)
        return handed

    async def interrupt(self, event: str) -> bool:
        """Stop the turn that this event started or joined, if it runs."""
        if not self._run.runs or event not in self._run.members:
            return False
        try:
            await self._link.ask("abort")
        except PiError:
            return False
        return True

    async def answer(self, question: str, *, approve: bool) -> bool:
        """Answer a dialog of an extension; leave is an answer to a confirmation alone."""
        name, plain = self._questions.get(question, ("", False))
        if not name or (approve and not plain):
            return False
        del self._questions[question]
        said: Json = {"confirmed": approve} if plain else {"cancelled": True}
        try:
            await self._link.send({"type": "extension_ui_response", "id": name, **said})
        except PiLostError:
            return False
        return True

    async def seen(self) -> AsyncIterator[Seen]:
        """Dialogs, activity, and its end. What it writes stands in the session's file.

        Raises DeafError.
        """
        while (seen := await self._out.get()) is not None:
            if isinstance(seen, DeafError):
                raise seen
            yield seen

    async def listen(self) -> None:
        """Hear pi until it ends. Runs beside the pump."""
        try:
            async for event in self._link.events():
                self._heard(event)
                if event.get("type") == "agent_end" and self._run.undecided:
                    await self._link.mark(self._run.mark)
        except Exception as error:  # noqa: BLE001 - `seen` raises it: pi goes on
            self._out.put_nowait(DeafError.of(error))
        finally:
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(PiLostError("pi ended before it had the words"))
            if self._questions:
                self._out.put_nowait(Seen(answered=tuple(self._questions)))
            self._tell(Observation(session_id=self._session.id, ended=True))
            self._out.put_nowait(None)

    def _heard(self, event: Json) -> None:
        ends = self._run.hears(event)
        if ends is not None:
            waits = Activity.WAITING
            self._tell(Observation(session_id=self._session.id, entries=ends, activity=waits))
        match event.get("type"):
            case "agent_start" | "auto_retry_start":
                # While it waits to try again it works, too.
                works = Activity.RESPONDING
                self._tell(Observation(session_id=self._session.id, activity=works))
            case "message_end":
                details = _dict(_dict(event.get("message")).get("details"))
                self._stands(str(details.get("id")))
            case "extension_error" if event.get("extensionPath") == "command:clankie":
                for client in list(self._waiting):
                    self._settle(client, there=False)
            case "extension_ui_request":
                self._asked(event)
            case _:
                pass

    def _asked(self, event: Json) -> None:
        name, method = str(event.get("id")), event.get("method")
        if method not in {"confirm", "select", "input", "editor"}:
            return
        self._questions[f"pi-{name}"] = (name, method == "confirm")
        words = [str(event[key]) for key in ("title", "message", "options") if event.get(key)]
        summary, detail = "An extension of pi asks something.", "\n".join(words)
        question = Question(id=f"pi-{name}", summary=summary, detail=detail)
        self._out.put_nowait(Seen(question=question))

    async def _say(self, client: str, text: str, *, turn: bool) -> Handed:
        """Hand words to our extension: they stand in the session then, or wait in its queue."""
        waiting = self._waiting[client] = asyncio.get_running_loop().create_future()
        given = json.dumps({"id": client, "text": text, "turn": turn})
        joins = self._run.runs
        try:
            await self._link.ask("prompt", message=f"/clankie {given}")
            if joins and not waiting.done():
                # It stands in the session only when the next request to the model goes out.
                return Taken("socket")
            async with asyncio.timeout(_ROW):
                there = await waiting
        except PiRefusedError as refused:
            return Refused(str(refused))
        except PiLostError as lost:
            there = await asyncio.to_thread(self._written, client)
            return Taken("client_id") if there else Unknown(str(lost))
        except TimeoutError:
            return Taken("socket")
        finally:
            del self._waiting[client]
        return Taken("client_id") if there else Refused("the extension failed")

    def _written(self, client: str) -> bool:
        """Whether the session's file has a row with this id: what is left when pi is gone."""
        file = self._session.file
        try:
            data = file.read_bytes() if file is not None and file.is_file() else b""
        except OSError:
            return False
        return any(_ours(line, client) for line in data.splitlines() if client.encode() in line)

    def _stands(self, client: str) -> None:
        """These words stand in the session: the run that shows them is theirs."""
        event = self._given.pop(client, None)
        if event is not None:
            self._run.members.add(event)
        self._settle(client, there=True)

    def _settle(self, client: str, *, there: bool) -> None:
        waiting = self._waiting.get(client)
        if waiting is not None and not waiting.done():
            waiting.set_result(there)

    def _tell(self, seen: Observation) -> None:
        self._out.put_nowait(Seen(observation=seen))


def _ours(line: bytes, client: str) -> bool:
    try:
        row = _dict(json.loads(line))
    except ValueError:
        return False
    return row.get("customType") == OURS and _dict(row.get("details")).get("id") == client


def _dict(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}
