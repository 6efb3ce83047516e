"""What an adapter is asked for, and what it gives: how its harness is started, joined or driven.

Two ways lead to a running seat:

- *joined*: the person's harness runs in a pane, starts `clankie bridge` as its server of tools, and
  the pump runs in there (`Adapter.join`).
- *driven*: `clankie seat drive` owns the harness or its server, and the pump runs beside it
  (`Adapter.drive`). A screen for the person, if there is one, is started afterwards.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from clankie.core.seat import SeatEvent
from clankie.host.panes import PaneHost
from clankie.host.ports import Clock, Ids
from clankie.seats.port import Declaration, Harness
from clankie.seats.rows import Known

NEWEST = ""
"""The session to resume, where nobody named one: the newest of this directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a seat is on the person's side.

    `folder` is the seat's own, mode 0700; an adapter may keep sockets and files there. `program` is
    the argv of `clankie` itself. `environment` is the person's with CLANKIE_HOME and
    CLANKIE_SEAT_GRANT in it. `resume` is a native session id, NEWEST, or None for a fresh one.
    `trust`: the person said that the harness may run our hooks.
    """

    folder: Path
    harness: str
    conversation: str
    directory: str
    environment: Mapping[str, str]
    program: tuple[str, ...]
    resume: str | None = None
    headless: bool = False
    trust: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to start a program. `files` (name in the folder: content) are written before, 0600.

    `env` is added to the environment of the place. `notes` are sentences for the person, such as
    what must be trusted first.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()


class Ledger(Protocol):
    """What this seat was given and typed, kept in a file; it outlives the pump."""

    def typed(self, event: SeatEvent, text: str) -> None:
        """Note, before it is done, that these words are typed for this event."""
        ...

    def known(self) -> Known:
        """What a row of the transcript may be joined to."""
        ...


Notify = Callable[[str, Mapping[str, object]], Awaitable[None]]
"""Send the harness a notification of this method and parameters, as its server of tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What an adapter works with while its harness runs.

    `session_id` and `pid` are of the registered session, for `join`. `pane` is the pane that the
    harness runs in. `notify` works only inside a bridge.
    """

    place: Place
    clock: Clock
    ids: Ids
    ledger: Ledger
    session_id: str = ""
    pid: int = 0
    panes: PaneHost | None = None
    pane: str | None = None
    notify: Notify | None = None


class Driven(Harness, Protocol):
    """A harness that a driver owns."""

    @property
    def transcript(self) -> Path | None:
        """Where its session is written; it may not be there yet."""
        ...

    @property
    def greets(self) -> bool:
        """Whether the log must be given to a new session by `greet`: it has no hook for it."""
        ...

    async def greet(self, text: str) -> bool:
        """Give the session the log as context, never as a turn; whether it has it for certain."""
        ...

    async def renew(self) -> str | None:
        """Leave its session for a fresh one in the same process; the id of that.

        None where it cannot: a person looks at the old one, or the harness does not do it.
        """
        ...

    def screen(self) -> Launch | None:
        """What a person runs to watch and type; None where there is no such thing."""
        ...


class Adapter(Protocol):
    """A harness that can be a seat. Each package under `seats` has one, called `ADAPTER`."""

    @property
    def name(self) -> str:
        """As in `clankie seat open NAME`."""
        ...

    @property
    def program(self) -> str:
        """What must be found on the PATH."""
        ...

    @property
    def install(self) -> str:
        """The command that installs it, for a person."""
        ...

    def declaration(self, *, headless: bool) -> Declaration:
        """What it can do in this manner."""
        ...

    def driven(self, *, headless: bool) -> bool:
        """Whether `drive` is used rather than `launch` and `join`."""
        ...

    def launch(self, place: Place) -> Launch:
        """How it is started in a pane. Reads nothing but the place and the disk."""
        ...

    def join(self, means: Means) -> AbstractAsyncContextManager[Harness]:
        """The running session, from inside the bridge that it started."""
        ...

    def drive(self, means: Means) -> AbstractAsyncContextManager[Driven]:
        """Start it, or its server, and own it until the end."""
        ...
