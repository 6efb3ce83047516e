"""A seat of Codex over a scripted app-server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from clankie.core.seat import Activity, Entry, delivery_uuid
from clankie.host.clock import SystemClock, SystemIds
from clankie.seats.codex import ADAPTER
from clankie.seats.codex.adapter import CodexSeat
from clankie.seats.codex.rows import reader
from clankie.seats.launch import Means, Place
from clankie.seats.port import Handed, Question, Seen
from clankie.seats.process import alive
from fakes.sitting import Notebook, scripted, turn

_OTHER = """
import socket, sys, threading
there = socket.socket(socket.AF_UNIX)
there.connect(sys.argv[1])
print("joined", flush=True)
threading.Event().wait()
"""


@dataclass
class Codex:
    """A scripted Codex, and what its seat said."""

    home: Path
    place: Place
    notebook: Notebook = field(default_factory=Notebook)
    seen: list[Seen] = field(default_factory=list[Seen])
    others: list[subprocess.Popen[bytes]] = field(default_factory=list[subprocess.Popen[bytes]])

    def trusts(self, state: str) -> None:
        (self.home / "trust").write_text(state)

    @property
    def means(self) -> Means:
        clock, ids = SystemClock(), SystemIds()
        return Means(place=self.place, clock=clock, ids=ids, ledger=self.notebook)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[CodexSeat]:
        async with ADAPTER.drive(self.means) as seat:
            assert isinstance(seat, CodexSeat)
            hearing = asyncio.get_running_loop().create_task(self._hear(seat))
            try:
                yield seat
            finally:
                hearing.cancel()
                await asyncio.gather(hearing, return_exceptions=True)

    async def _hear(self, seat: CodexSeat) -> None:
        async for one in seat.seen():
            self.seen.append(one)

    async def gives(self, seat: CodexSeat, name: str, words: str) -> Handed:
        self.notebook.ids[delivery_uuid(name, 1)] = (name, 1)
        return await seat.hand_over(turn(name, words))

    def requests(self, method: str) -> list[dict[str, object]]:
        lines = (self.home / "requests.jsonl").read_text().splitlines()
        found = [json.loads(line) for line in lines]
        return [one["params"] for one in found if one["method"] == method]

    def rows(self, seat: CodexSeat) -> list[Entry]:
        assert seat.transcript is not None
        rows = reader(self.notebook.known())
        lines = seat.transcript.read_bytes().splitlines()
        return [entry for line in lines for entry in rows.read(line)]

    def proven(self, seat: CodexSeat) -> list[str]:
        return [row.evidence.event for row in self.rows(seat) if row.evidence is not None]

    def activities(self) -> list[Activity]:
        found = [one.observation for one in self.seen if one.observation is not None]
        return [one.activity for one in found if one.activity is not None]

    def sessions(self) -> list[tuple[str, str]]:
        found = [one.observation for one in self.seen if one.observation is not None]
        return [(one.session_id, one.source) for one in found if one.source is not None]

    def questions(self) -> list[Question]:
        return [one.question for one in self.seen if one.question is not None]

    def answered(self) -> list[str]:
        return [name for one in self.seen for name in one.answered]

    def record(self) -> dict[str, object]:
        found: dict[str, object] = json.loads((self.place.folder / "codex.json").read_text())
        return found

    def another_program(self) -> subprocess.Popen[bytes]:
        """Somebody else at the server, as a terminal is: it outlives the driver."""
        argv = [sys.executable, "-c", _OTHER, str(self.record()["socket"])]
        other = subprocess.Popen(argv, stdout=subprocess.PIPE)
        assert other.stdout is not None
        with other.stdout as said:
            assert said.readline()
        self.others.append(other)
        return other

    def end(self) -> None:
        for other in self.others:
            other.kill()
            other.wait()
        if not (self.place.folder / "codex.json").exists():
            return
        pid, began = self.record()["pid"], self.record()["began"]
        assert isinstance(pid, int)
        if alive(pid, str(began)):
            os.kill(pid, 9)


def ended(pid: int, began: str) -> bool:
    """Whether a process is gone; what is left of a child of ours is removed."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    return not alive(pid, began)


@pytest.fixture
def codex(tmp_path: Path) -> Iterator[Codex]:
    made = Codex(tmp_path / "home", scripted(tmp_path, "codex", "CODEX_HOME"))
    made.trusts("trusted")
    yield made
    made.end()


@pytest.fixture
def means(codex: Codex) -> Means:
    return codex.means


def again(codex: Codex, folder: str, resume: str | None) -> Codex:
    """Another seat of the same Codex."""
    where = codex.place.folder.with_name(folder)
    where.mkdir(mode=0o700)
    return Codex(codex.home, replace(codex.place, folder=where, resume=resume), codex.notebook)
