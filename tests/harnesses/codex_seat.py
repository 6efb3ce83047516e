"""A Codex of a test's own: private home, scripted model, a seat's folder, and what it wrote."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from clankie.core.seat import Entry, SeatEvent, delivery_uuid
from clankie.host.clock import SystemClock, SystemIds
from clankie.seats.codex import ADAPTER
from clankie.seats.codex.adapter import CodexSeat
from clankie.seats.codex.rows import reader
from clankie.seats.launch import Means, Place
from clankie.seats.port import Question, Seen
from clankie.seats.process import alive
from fakes import sitting
from fakes.until import until
from harnesses.install import Harnesses
from harnesses.model import Model

CLOCK = SystemClock()
_OTHER = """
import socket, sys, threading
there = socket.socket(socket.AF_UNIX)
there.connect(sys.argv[1])
print("joined", flush=True)
threading.Event().wait()
"""
_CONFIG = """
model = "scripted-1"
model_provider = "scripted"
approval_policy = "{approval}"
sandbox_mode = "{sandbox}"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
[projects."{work}"]
trust_level = "trusted"
"""


def turn(name: str, words: str, *, attempt: int = 1) -> SeatEvent:
    """An owner's message; a real harness has a real clock."""
    return sitting.turn(name, words, at=CLOCK.now(), attempt=attempt)


class Notebook(sitting.Notebook):
    """A ledger that knows what was given."""

    def event(self, name: str, words: str) -> SeatEvent:
        self.ids[delivery_uuid(name, 1)] = (name, 1)
        return turn(name, words)


@dataclass
class Codex:
    """Where it lives. `place` may be changed before it is started."""

    place: Place
    model: Model
    notebook: Notebook = field(default_factory=Notebook)
    seen: list[Seen] = field(default_factory=list[Seen])
    others: list[subprocess.Popen[bytes]] = field(default_factory=list[subprocess.Popen[bytes]])

    @property
    def means(self) -> Means:
        return Means(place=self.place, clock=CLOCK, ids=SystemIds(), ledger=self.notebook)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[CodexSeat]:
        """The seat, with everything it reports in `seen`."""
        async with ADAPTER.drive(self.means) as seat:
            assert isinstance(seat, CodexSeat)
            async with asyncio.TaskGroup() as tasks:
                hearing = tasks.create_task(self._hear(seat))
                try:
                    yield seat
                finally:
                    hearing.cancel()

    def another_program(self) -> subprocess.Popen[bytes]:
        """Somebody else who is joined to the server, as a terminal is: it outlives the driver."""
        path = json.loads((self.place.folder / "codex.json").read_text())["socket"]
        other = subprocess.Popen([sys.executable, "-c", _OTHER, path], stdout=subprocess.PIPE)
        assert other.stdout is not None
        with other.stdout as said:
            assert said.readline()
        self.others.append(other)
        return other

    def end(self) -> None:
        """Leave nothing behind: a test that failed may have left its server running."""
        for other in self.others:
            other.kill()
            other.wait()
        try:
            record = json.loads((self.place.folder / "codex.json").read_text())
        except FileNotFoundError:
            return
        if alive(record["pid"], record["began"]):
            os.kill(record["pid"], signal.SIGKILL)

    async def _hear(self, seat: CodexSeat) -> None:
        async for one in seat.seen():
            self.seen.append(one)

    async def gives(self, seat: CodexSeat, name: str, words: str) -> str:
        """Hand words over and name what became of them, with its proof."""
        handed = await seat.hand_over(self.notebook.event(name, words))
        return " ".join([type(handed).__name__, *(str(v) for v in _fields(handed))])

    async def asks(self) -> Question:
        """The first question that is asked."""
        await until(lambda: any(one.question for one in self.seen))
        return next(one.question for one in self.seen if one.question is not None)

    def sessions(self) -> list[str]:
        """How sessions began that were not there from the start."""
        found = [one.observation for one in self.seen if one.observation is not None]
        return [one.source for one in found if one.source is not None]

    def rows(self, path: Path | None) -> list[Entry]:
        """What the transcript says, and of which deliveries."""
        if path is None or not path.exists():
            return []
        rows = reader(self.notebook.known())
        return [entry for line in path.read_bytes().splitlines() for entry in rows.read(line)]

    def proven(self, path: Path | None) -> list[str]:
        """The deliveries that rows of the transcript prove, in order."""
        return [row.evidence.event for row in self.rows(path) if row.evidence is not None]

    def said(self, path: Path | None) -> list[str]:
        """What the model answered."""
        return [row.text for row in self.rows(path) if row.kind.value == "assistant"]


def _fields(handed: object) -> list[object]:
    return [getattr(handed, name) for name in getattr(handed, "__slots__", ())]


def codex(
    tmp: Path,
    harnesses: Harnesses,
    model: Model,
    *,
    approval: str = "never",
    sandbox: str = "danger-full-access",
) -> Codex:
    """A fresh one below this folder."""
    home, work, folder = tmp / "home", tmp / "work", tmp / "state" / "seats" / "s-1"
    for one in (home / ".codex", work):
        one.mkdir(parents=True)
    folder.mkdir(parents=True, mode=0o700)
    text = _CONFIG.format(url=model.url, work=work, approval=approval, sandbox=sandbox)
    (home / ".codex" / "config.toml").write_text(text)
    environment = {
        "PATH": f"{harnesses.codex.parent}:{os.environ['PATH']}",
        "TERM": "xterm-256color",
        "HOME": str(home),
        "CODEX_HOME": str(home / ".codex"),
        "SCRIPTED_KEY": "any",
        "CLANKIE_HOME": str(tmp / "state"),
        "CLANKIE_SEAT_GRANT": str(folder / "grant.json"),
    }
    place = Place(
        folder=folder,
        harness="codex",
        conversation="c-1",
        directory=str(work),
        environment=environment,
        # A program that ends at once: its server of tools never comes, which must not matter.
        program=("true",),
        headless=True,
    )
    return Codex(place, model)
