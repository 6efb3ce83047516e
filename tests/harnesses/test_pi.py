"""The real pi as a seat: what goes in, what comes out, and what is left after a crash."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from clankie.core.seat import Activity, Entry, EventKind, Mishap, SeatEvent, delivery_uuid
from clankie.host.clock import SystemIds
from clankie.seats.launch import Means, Place
from clankie.seats.pi import ADAPTER
from clankie.seats.pi.adapter import PiSeat
from clankie.seats.pi.rows import reader
from clankie.seats.port import Seen
from fakes.until import until
from harnesses.codex_seat import CLOCK, Notebook, turn
from harnesses.install import Harnesses
from harnesses.model import Model


@dataclass
class Pi:
    """A pi of a test's own."""

    place: Place
    model: Model
    notebook: Notebook = field(default_factory=Notebook)
    seen: list[Seen] = field(default_factory=list[Seen])

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[PiSeat]:
        means = Means(place=self.place, clock=CLOCK, ids=SystemIds(), ledger=self.notebook)
        async with ADAPTER.drive(means) as seat:
            assert isinstance(seat, PiSeat)
            async with asyncio.TaskGroup() as tasks:
                hearing = tasks.create_task(self._hear(seat))
                try:
                    yield seat
                finally:
                    hearing.cancel()

    async def _hear(self, seat: PiSeat) -> None:
        async for one in seat.seen():
            self.seen.append(one)

    async def gives(self, seat: PiSeat, name: str, words: str) -> str:
        handed = await seat.hand_over(self.notebook.event(name, words))
        values = (getattr(handed, slot) for slot in handed.__slots__)
        return " ".join([type(handed).__name__, *map(str, values)])

    def rows(self, seat: PiSeat) -> list[Entry]:
        if seat.transcript is None or not seat.transcript.exists():
            return []
        rows = reader(self.notebook.known())
        return [e for line in seat.transcript.read_bytes().splitlines() for e in rows.read(line)]

    def proven(self, seat: PiSeat) -> list[str]:
        return [row.evidence.event for row in self.rows(seat) if row.evidence is not None]

    def said(self, seat: PiSeat) -> list[str]:
        return [row.text for row in self.rows(seat) if row.kind.value == "assistant"]

    def waits(self) -> bool:
        found = [one.observation.activity for one in self.seen if one.observation is not None]
        return bool(found) and found[-1] is Activity.WAITING


@pytest.fixture
def one(tmp_path: Path, harnesses: Harnesses, model: Model) -> Pi:
    home, work, folder = tmp_path / "home", tmp_path / "work", tmp_path / "state" / "seats" / "s-1"
    agent = home / ".pi" / "agent"
    agent.mkdir(parents=True)
    work.mkdir()
    folder.mkdir(parents=True, mode=0o700)
    scripted = {
        "baseUrl": f"{model.url}/v1",
        "api": "openai-completions",
        "apiKey": "any",
        "models": [{"id": "scripted-1", "contextWindow": 128000, "maxTokens": 4000}],
    }
    (agent / "models.json").write_text(json.dumps({"providers": {"scripted": scripted}}))
    choice = {"defaultProvider": "scripted", "defaultModel": "scripted-1"}
    (agent / "settings.json").write_text(json.dumps(choice))
    environment = {
        "PATH": f"{harnesses.pi.parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "PI_CODING_AGENT_DIR": str(agent),
        "PI_OFFLINE": "1",
        "PI_TELEMETRY": "0",
        "PI_SKIP_VERSION_CHECK": "1",
    }
    place = Place(
        folder=folder,
        harness="pi",
        conversation="c-1",
        directory=str(work),
        environment=environment,
        program=("true",),
        headless=True,
    )
    return Pi(place, model)


def told(story: Callable[[PiSeat], object], one: Pi) -> None:
    async def run() -> None:
        async with one.running() as seat:
            made = story(seat)
            assert asyncio.iscoroutine(made)
            await made

    asyncio.run(run())


def test_words_are_taken_verbatim_with_our_id(one: Pi, model: Model) -> None:
    async def story(seat: PiSeat) -> None:
        assert await seat.greet("the log so far")
        assert await one.gives(seat, "d-1", "~say hello\n/quit\n!ls") == "Taken client_id"
        await until(lambda: one.said(seat) == ["hello"])
        await until(one.waits)
        assert one.proven(seat) == ["d-1"]
        (request,) = model.seen("the log so far")
        assert "~say hello\n/quit\n!ls" in request.text
        # A leading slash is no order either.
        assert await one.gives(seat, "d-2", "/compact ~say no") == "Taken client_id"
        await until(lambda: len(one.said(seat)) == 2)
        assert one.proven(seat) == ["d-1", "d-2"]

    told(story, one)


def test_words_join_the_run_and_a_stop_is_for_its_starter(one: Pi, model: Model) -> None:
    async def story(seat: PiSeat) -> None:
        await one.gives(seat, "d-1", "~hold a")
        await asyncio.to_thread(model.wait, "~hold a")
        assert await one.gives(seat, "d-2", "~say joined") == "Taken socket"
        model.release("a")
        await until(lambda: "joined" in one.said(seat))
        await until(one.waits)
        assert one.proven(seat) == ["d-1", "d-2"]
        await one.gives(seat, "d-3", "~hold b")
        await asyncio.to_thread(model.wait, "~hold b")
        assert not await seat.interrupt("d-2")
        assert await seat.interrupt("d-3")
        await until(one.waits)
        assert one.rows(seat)[-1].error is Mishap.INTERRUPTED
        model.release("b")
        assert await one.gives(seat, "d-4", "~say on") == "Taken client_id"
        await until(lambda: "on" in one.said(seat))

    told(story, one)


def test_what_wants_a_reply_is_refused(one: Pi) -> None:
    async def story(seat: PiSeat) -> None:
        made = turn("d-1", "~say no")
        event = SeatEvent(
            id=made.id,
            kind=EventKind.MESSAGE,
            source="room",
            content=made.content,
            created_at=made.created_at,
            deadline=made.deadline,
            conversation=made.conversation,
            attempt=1,
            generation=1,
            reply=True,
        )
        handed = await seat.hand_over(event)
        assert type(handed).__name__ == "Refused"
        assert EventKind.ESCALATION not in seat.declaration.ways
        assert one.model.count() == 0

    told(story, one)


def test_after_a_kill_nothing_is_said_to_be_taken_that_has_no_row(one: Pi) -> None:
    async def story() -> None:
        async with one.running() as seat:
            await one.gives(seat, "d-1", "~say before")
            await until(lambda: one.said(seat) == ["before"])
            await until(one.waits)
            session = seat.native.session_id
            os.kill(seat.native.pid, signal.SIGSTOP)
            words = asyncio.get_running_loop().create_task(one.gives(seat, "d-2", "~say lost"))
            await until(lambda: delivery_uuid("d-2", 1) in seat._waiting)
            os.kill(seat.native.pid, signal.SIGKILL)
            assert (await words).startswith("Unknown")
            await until(lambda: any(s.observation and s.observation.ended for s in one.seen))
            assert (await one.gives(seat, "d-3", "~say x")).startswith("Refused")
        async with one.running() as again:
            assert again.native.session_id == session
            assert await one.gives(again, "d-4", "~say after") == "Taken client_id"
            await until(lambda: one.said(again) == ["before", "after"])
            assert one.proven(again) == ["d-1", "d-4"]

    asyncio.run(story())
