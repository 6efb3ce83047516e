"""The service as a pump sees it: a port, what it answers, and what can go wrong.

SeatWireError             root
├── UnreachableError      nobody answered; the same request may be repeated
├── BusyError             not now (429, 503); the same request may be repeated
├── NotOursError          the token opens nothing any more (401)
├── MissingError          there is no such seat or event (404)
├── SupersededError       another bridge or session sits here (409): stop
└── RefusedError          anything else that stays as it is (403, 409, 410, 413, 422)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from clankie.core.seat import Entry, Report, SeatEvent
from clankie.seats.port import Question


class SeatWireError(Exception):
    """A request to the service did not succeed."""


class UnreachableError(SeatWireError):
    """Nobody answered, or the answer broke off."""


class BusyError(SeatWireError):
    """The service cannot do it now. `retry_after` is in seconds, where it said so."""

    def __init__(self, sentence: str, retry_after: float | None) -> None:
        super().__init__(sentence)
        self.retry_after = retry_after


class AnsweredError(SeatWireError):
    """The service said no, and will the next time: `status` is HTTP's, `code` its own."""

    def __init__(self, status: int, code: str, sentence: str) -> None:
        super().__init__(f"{sentence} ({code})")
        self.status, self.code = status, code


class NotOursError(AnsweredError):
    """The token opens nothing any more."""


class MissingError(AnsweredError):
    """There is no such seat, or no such event."""


class SupersededError(AnsweredError):
    """Another bridge has this seat, or another session sits there."""


class RefusedError(AnsweredError):
    """It will be refused the next time too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a poll brought. `malformed` are events that cannot be read: (id, attempt, why).

    `interrupts` are (event, attempt) of turns to stop; `decisions` are (question, approved).
    `renew`: the harness's session can write nowhere here; it has to begin another one.
    """

    events: Sequence[SeatEvent] = ()
    malformed: Sequence[tuple[str, int, str]] = ()
    superseded: bool = False
    interrupts: Sequence[tuple[str, int]] = ()
    decisions: Sequence[tuple[str, bool]] = ()
    renew: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """Which attempt a word is about, and who says it."""

    event: str
    attempt: int
    binding: str


class Service(Protocol):
    """One seat's part of the service. Every verb may raise a SeatWireError."""

    async def poll(self, binding: str, poll_id: str, wait: float) -> Page:
        """Ask for what waits, for at most `wait` seconds; the same id brings the same page."""
        ...

    async def ack(self, which: Answered) -> None:
        """The harness has it in its own queue."""
        ...

    async def refuse(self, which: Answered, reason: str) -> None:
        """Nothing was handed over, for certain."""
        ...

    async def transcript(
        self, session_id: str, entries: Sequence[Entry], report: Report | None
    ) -> None:
        """Rows that the harness wrote, at most `wire.ENTRIES` of them."""
        ...

    async def ask(self, question: Question) -> bool | None:
        """Put a question of the harness before the owner; the answer, if it was given before."""
        ...

    async def withdraw(self, question: str) -> None:
        """The harness no longer waits for an answer to it."""
        ...

    async def begin(self, session_id: str, source: str, sections: Sequence[str]) -> Begun:
        """What a session that begins should read."""
        ...

    async def confirm(self, projection_id: str) -> None:
        """The session has read it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The log as a new session reads it, and what confirms that it did."""

    text: str
    projection_id: str


Json = dict[str, Any]
