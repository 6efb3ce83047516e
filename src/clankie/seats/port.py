"""What a harness adapter is to the pump. The pump knows these values and nothing of a vendor.

Rule 1: `hand_over` says `Taken` only when the words are in the harness's own queue, and `Refused`
        only when nothing can have arrived. Everything else is `Unknown`; it is never tried again.
Rule 2: an adapter that cannot do a thing says so in its declaration; nothing is pretended.
Rule 3: what an adapter cannot hear any more ends its seat in words: `seen` raises DeafError. That
        is not the end of the harness, and is never told as one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from clankie.core.seat import Activity, Capabilities, Entry, EventKind, Native, SeatEvent


class DeafError(Exception):
    """What the harness says cannot be heard any more, though it may go on; `from` says why."""

    @classmethod
    def of(cls, error: Exception) -> DeafError:
        """With the words of what went wrong."""
        if isinstance(error, cls):
            return error
        made = cls(f"it cannot be heard any more ({type(error).__name__}: {error})")
        made.__cause__ = error
        return made


@dataclass(frozen=True, slots=True)
class Taken:
    """The harness has the words in its own queue. `proof` says how that is known."""

    proof: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was handed over, for certain."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """It may have arrived: it is neither acknowledged nor refused, and never tried again."""

    why: str


Handed = Taken | Refused | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How one kind of event reaches the harness, in words for people."""

    delivers: str
    proof: str
    refusal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What an adapter can do. `tested` are the versions it was tried with.

    `rejoins`: a driver that begins in the folder of one that was killed finds its harness again.
    `screen`: unless it is headless, a person sees it in a terminal.
    """

    harness: str
    ways: dict[EventKind, Way]
    capabilities: Capabilities
    tested: tuple[str, ...] = ()
    rejoins: bool = False
    screen: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What the adapter saw the harness write or do. `ended`: it is gone; nothing follows.

    `source` says how a session began: startup, resume, clear, compact, fork; else None. `at`: up to
    which moment of the harness its `activity` counts, for rows reach the service on other ways;
    None: until it was heard.
    """

    session_id: str
    source: str | None = None
    entries: Sequence[Entry] = ()
    activity: Activity | None = None
    at: datetime | None = None
    ended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The harness asks for leave. `detail` is what it wants to do, untrusted."""

    id: str
    summary: str
    detail: str = ""
    event: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One thing that an adapter reports: an observation, or a question.

    `answered`: questions that no longer stand, because the harness was answered elsewhere.
    `standing`: all that stand in it, where it can tell; those of an earlier driver are over.
    """

    observation: Observation | None = None
    question: Question | None = None
    answered: tuple[str, ...] = ()
    standing: tuple[str, ...] | None = None
    notes: tuple[str, ...] = field(default=())


class Harness(Protocol):
    """A harness that runs, as the pump works with it."""

    @property
    def declaration(self) -> Declaration:
        """What it can do."""
        ...

    @property
    def native(self) -> Native:
        """The session it runs now."""
        ...

    async def hand_over(self, event: SeatEvent) -> Handed:
        """Give it the words of one event, once."""
        ...

    async def interrupt(self, event: str) -> bool:
        """Stop the turn that this event started or joined; whether it could be asked to."""
        ...

    async def answer(self, question: str, *, approve: bool) -> bool:
        """Answer a question; whether it still stood."""
        ...

    def seen(self) -> AsyncIterator[Seen]:
        """What it writes and does, in order, until it ends."""
        ...
