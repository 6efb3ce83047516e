"""A client's state on disk as a test writes it; the process is the test's own."""

import json
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from clankie.core.seat import EventKind, SeatEvent
from clankie.host.clock import SystemIds
from clankie.seats.claude.registry import transcript
from clankie.seats.claude.watch import Watch
from clankie.seats.launch import Means, Place
from clankie.seats.port import DeafError, Observation
from clankie.seats.process import started_at
from clankie.seats.rows import Known
from fakes.clock import START, FakeClock
from seats.claude import said

SESSION = "11111111-1111-4111-8111-111111111111"


def millis(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def event(kind: EventKind, content: str, **more: Any) -> SeatEvent:
    given: dict[str, Any] = {
        "id": "d-1",
        "kind": kind,
        "source": "test",
        "content": content,
        "created_at": START,
        "deadline": START + timedelta(minutes=1),
        "conversation": "c-1",
        "attempt": 1,
        "generation": 1,
        "attribution": {"principal": "operator"},
    }
    return SeatEvent(**{**given, **more})


@dataclass
class Ledger:
    """The port Ledger in memory."""

    typed_words: list[str] = field(default_factory=list)

    def typed(self, event: SeatEvent, text: str) -> None:
        del event
        self.typed_words.append(text)

    def known(self) -> Known:
        return Known()


@dataclass
class Client:
    """The register and the transcripts of one session of the client."""

    root: Path
    session: str = SESSION
    clock: FakeClock = field(default_factory=FakeClock)
    ledger: Ledger = field(default_factory=Ledger)

    @property
    def config(self) -> Path:
        return self.root / ".claude"

    @property
    def transcript(self) -> Path:
        return Path(transcript(str(self.config), str(self.root), self.session))

    def register(self, status: str | None = "idle", **more: Any) -> None:
        """What the client says of itself."""
        row = {
            "pid": os.getpid(),
            "sessionId": self.session,
            "procStart": started_at(os.getpid()).rpartition(":")[2],
            "cwd": str(self.root),
            "version": "2.1.332",
            "startedAt": millis(START),
            "status": status,
            "statusUpdatedAt": millis(self.clock.now()),
            "messagingSocketPath": str(self.root / "m.sock"),
            **more,
        }
        (self.config / "sessions").mkdir(parents=True, exist_ok=True)
        file = self.config / "sessions" / f"{os.getpid()}.json"
        file.write_text(json.dumps({key: value for key, value in row.items() if value is not None}))

    def gone(self) -> None:
        (self.config / "sessions" / f"{os.getpid()}.json").unlink()

    def write(self, *rows: dict[str, Any]) -> None:
        """Rows of its transcript."""
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        with self.transcript.open("ab") as file:
            for row in rows:
                file.write(said.line(row) + b"\n")

    def watch(self, session: str = SESSION) -> Watch:
        return Watch(clock=self.clock, config=str(self.config), pid=os.getpid(), session_id=session)

    def place(self, **more: Any) -> Place:
        given: dict[str, Any] = {
            "folder": self.root,
            "harness": "claude",
            "conversation": "c-1",
            "directory": str(self.root),
            "environment": {"HOME": str(self.root), "PATH": os.defpath},
            "program": ("clankie",),
        }
        return Place(**{**given, **more})

    def means(self, **more: Any) -> Means:
        given: dict[str, Any] = {
            "place": self.place(),
            "clock": self.clock,
            "ids": SystemIds(),
            "ledger": self.ledger,
            "session_id": SESSION,
            "pid": os.getpid(),
        }
        return Means(**{**given, **more})

    def at(self, seconds: float = 0) -> str:
        """A moment as rows have it."""
        at = (self.clock.now() + timedelta(seconds=seconds)).astimezone(UTC)
        return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def told(watch: Watch) -> list[Observation]:
    """What was observed since the last time."""
    found: list[Observation] = []
    while not watch._seen.empty():
        one = await watch._seen.get()
        if isinstance(one, DeafError):
            raise one
        if one.observation is not None:
            found.append(one.observation)
    return found
