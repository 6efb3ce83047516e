"""A driver registers what it started, gives it the log, and ends with it or with its screen."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from clankie.core.seat import Native
from clankie.host.panes import OpenPane
from clankie.seats import harnesses, registration
from clankie.seats import place as places
from clankie.seats.driving import SCREEN, drive
from clankie.seats.ending import Ending
from clankie.seats.folder import Folder, NotASeatError
from clankie.seats.launch import Launch, Means, Place
from clankie.seats.port import Observation, Seen
from clankie.seats.registration import Seated
from clankie.seats.running import Tools, reason
from fakes.clock import FakeClock, FakeIds
from fakes.harness import FakeHarness
from fakes.panes import FakePanes
from fakes.unix_service import UnixService

pytestmark = pytest.mark.anyio


class FakeDriven(FakeHarness):
    """A harness that a driver owns."""

    def __init__(self) -> None:
        super().__init__()
        self.greets = True
        self.greeted: list[str] = []
        self.has_it = True
        self.transcript: Path | None = None
        self.fresh: str | None = None
        self.shown = True
        self.native = Native("native-1", os.getpid())

    async def greet(self, text: str) -> bool:
        self.greeted.append(text)
        return self.has_it

    async def renew(self) -> str | None:
        return self.fresh

    def screen(self) -> Launch | None:
        return Launch(argv=("watch", "it")) if self.shown else None


class Bench:
    """A driver between a service and a harness of a test."""

    def __init__(self, folder: Folder) -> None:
        self.folder, self.harness, self.clock = folder, FakeDriven(), FakeClock()
        self.panes = FakePanes()
        self.log: list[str] = []
        self.ready: list[tuple[Seated, Launch | None]] = []
        self.means: list[Means] = []
        self.owned = False

    @asynccontextmanager
    async def drive(self, means: Means) -> AsyncIterator[FakeDriven]:
        self.means.append(means)
        self.owned = True
        yield self.harness
        self.owned = False

    async def run(self) -> Ending | None:
        tools = Tools(
            clock=self.clock,
            ids=FakeIds(),
            jitter=lambda: 0.5,
            say=self.log.append,
            environment={"A": "b"},
        )
        return await drive(
            self.folder,
            tools,
            lambda: self.panes,
            lambda seated, launch: self.ready.append((seated, launch)),
        )

    async def to_the_end(self) -> Ending | None:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.run())
            while not task.done():
                await asyncio.sleep(0)
                await self.clock.advance(0.5)
        return task.result()


@pytest.fixture
def bench(granted: Folder, monkeypatch: pytest.MonkeyPatch) -> Bench:
    place = Place(
        folder=Path(granted.path),
        harness="pi",
        conversation="global-default",
        directory="/project",
        environment={},
        program=("clankie",),
    )
    places.keep(granted, place, driven=True)
    found = Bench(granted)
    monkeypatch.setattr(harnesses, "adapter", lambda _: found)
    return found


def ended() -> Seen:
    return Seen(observation=Observation(session_id="native-1", ended=True))


# proves: HAND-2
async def test_the_harness_has_read_the_log_before_it_is_ready(
    bench: Bench, unix: UnixService
) -> None:
    bench.harness.show(ended())
    assert await bench.to_the_end() is Ending.ENDED
    assert bench.harness.greeted == ["What was said before.\n"]
    first, second = unix.to("/session-start")
    assert (first.body["session_id"], first.body["source"]) == ("native-1", "startup")
    assert second.body == {"projection_id": "p-1"}
    [(seated, launch)] = bench.ready
    assert seated.pid == os.getpid()
    assert launch == Launch(argv=("watch", "it"))
    assert not bench.owned, "the harness ends with its driver"


async def test_a_log_that_did_not_arrive_for_certain_is_not_confirmed(
    bench: Bench, unix: UnixService
) -> None:
    bench.harness.has_it = False
    bench.harness.show(ended())
    await bench.to_the_end()
    assert len(unix.to("/session-start")) == 1


async def test_a_harness_with_a_hook_reads_the_log_by_itself(
    bench: Bench, unix: UnixService
) -> None:
    bench.harness.greets = False
    bench.harness.show(ended())
    await bench.to_the_end()
    assert unix.to("/session-start") == []
    assert bench.ready


async def test_a_new_session_is_given_the_log_again(bench: Bench, unix: UnixService) -> None:
    moved = Observation(session_id="native-2", source="clear")
    bench.harness.show(Seen(observation=moved))
    bench.harness.show(ended())
    await bench.to_the_end()
    assert len(bench.harness.greeted) == 2
    assert unix.to("/session-start")[2].body["session_id"] == "native-2"
    seated = registration.seated(bench.folder)
    assert seated is not None
    assert seated.session_id == "native-2"


@pytest.mark.parametrize("hooks", [True, False])
async def test_a_harness_whose_session_was_retired_begins_another_one(
    bench: Bench, unix: UnixService, hooks: bool
) -> None:
    # proves: SEAT-14
    bench.harness.fresh, bench.harness.greets = "native-2", not hooks
    bench.harness.transcript = Path("/sessions/native-2.jsonl")
    unix.answers["events"] = [(200, {"events": [], "renew": True}), (200, {"superseded": True})]
    assert await bench.to_the_end() is Ending.SUPERSEDED
    starts = [one.body for one in unix.to("/session-start") if "source" in one.body]
    assert (starts[-1]["session_id"], starts[-1]["source"]) == ("native-2", "clear")
    # Where a hook gives it the log, that one says so.
    assert len(bench.harness.greeted) == (0 if hooks else 2)
    assert len(unix.to("/session-start")) == (1 if hooks else 4)
    seated = registration.seated(bench.folder)
    assert seated is not None
    assert seated.session_id == "native-2"
    # It is the seat's from its first row on, whatever the seat was opened with.
    marks = bench.folder.read("offsets.json") or {}
    assert marks["/sessions/native-2.jsonl"]["offset"] == 0


@pytest.mark.parametrize("shown", [True, False])
async def test_a_harness_that_begins_no_session_by_itself_says_who_does(
    bench: Bench, unix: UnixService, shown: bool
) -> None:
    bench.harness.shown = shown
    unix.answers["events"] = [(200, {"events": [], "renew": True}), (200, {"superseded": True})]
    assert await bench.to_the_end() is Ending.SUPERSEDED
    assert len(unix.to("/session-start")) == 2
    # Without a screen there is nobody to begin one.
    assert any("Begin a new one in its terminal" in line for line in bench.log) is shown
    assert any("it is asked again" in line for line in bench.log) is not shown


async def test_a_log_that_is_refused_is_said_and_the_seat_goes_on(
    bench: Bench, unix: UnixService
) -> None:
    unix.answers["session-start"] = [
        (409, {"code": "session_conflict", "detail": "It was retired."})
    ]
    bench.harness.show(ended())
    assert await bench.to_the_end() is Ending.ENDED
    assert any("session_conflict" in line for line in bench.log)
    assert bench.ready


async def test_events_are_polled_and_handed_over(bench: Bench, unix: UnixService) -> None:
    event: dict[str, Any] = {
        "id": "m-1",
        "kind": "turn",
        "source": "owner",
        "content": "hello",
        "created_at": "2026-11-30T12:00:00Z",
        "deadline": "2026-11-30T13:00:00Z",
        "conversation": "global-default",
        "attempt": 1,
        "generation": 1,
    }
    unix.answers["events"] = [(200, {"events": [event]}), (200, {"superseded": True})]
    assert await bench.to_the_end() is Ending.SUPERSEDED
    assert bench.harness.given == [("m-1", 1)]
    [acknowledged] = unix.to("/ack")
    assert acknowledged.path == "/v1/seats/s-1/events/m-1/ack"
    assert len(acknowledged.body["binding"]) == 36


async def test_a_closed_screen_ends_the_seat(bench: Bench, unix: UnixService) -> None:
    ask = OpenPane(argv=("x",), directory="/", session="s", title="t")
    pane = await bench.panes.open(ask)
    bench.folder.write(SCREEN, {"pane": pane.id, "socket": None})
    async with asyncio.TaskGroup() as group:
        task = group.create_task(bench.run())
        while not bench.ready:
            await asyncio.sleep(0)
            await bench.clock.advance(0.5)
        await bench.panes.kill(pane.id)
        while not task.done():
            await asyncio.sleep(0)
            await bench.clock.advance(0.5)
    assert task.result() is None
    assert not bench.owned
    assert unix.asked


async def test_a_folder_that_was_removed_ends_the_seat(bench: Bench, unix: UnixService) -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(bench.run())
        while not bench.ready:
            await asyncio.sleep(0)
            await bench.clock.advance(0.5)
        shutil.rmtree(bench.folder.path)
        while not task.done():
            await asyncio.sleep(0)
            await bench.clock.advance(0.5)
    assert task.result() is None
    assert unix.asked


async def test_a_folder_whose_process_is_gone_is_no_seat(bench: Bench, unix: UnixService) -> None:
    gone = Seated(
        seat="s-0",
        token="old",
        conversation="c",
        harness="pi",
        session_id="native-0",
        pid=1,
    )
    registration.sit(bench.folder, gone)
    with pytest.raises(NotASeatError, match="gone"):
        await bench.run()
    assert unix.asked == []


async def test_the_place_is_what_was_opened(bench: Bench, unix: UnixService) -> None:
    bench.harness.show(ended())
    await bench.to_the_end()
    [means] = bench.means
    assert means.place.environment == {"A": "b"}
    assert (means.place.harness, means.place.resume) == ("pi", None)
    assert places.driven(bench.folder)
    assert unix.asked


def test_of_several_failures_the_first_is_said() -> None:
    inner = ExceptionGroup("inner", [OSError("the cause"), ValueError("another")])
    assert reason(ExceptionGroup("outer", [inner])) == "the cause"
    assert reason(KeyError()) == "KeyError"
