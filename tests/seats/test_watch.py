"""A transcript is watched lightly: nothing is asked of the service while nothing was written."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from clankie.core.seat import Native
from clankie.seats import registration
from clankie.seats import sync as syncing
from clankie.seats.folder import Folder
from clankie.seats.registration import Arrival
from clankie.seats.watch import PERIOD, Watch
from fakes.clock import FakeClock
from fakes.harness import FakeHarness
from fakes.patience import until
from fakes.transcript import FakeTranscripts
from fakes.unix_service import UnixService

pytestmark = pytest.mark.anyio


class Watched(FakeHarness):
    """A harness that names its transcript."""

    transcript: Path | None = None


@dataclass
class Bench:
    watch: Watch
    harness: Watched
    path: Path
    log: list[str]
    clock: FakeClock

    def write(self, *names: str) -> None:
        with self.path.open("a") as file:
            file.writelines(f'{{"id": "{name}"}}\n' for name in names)


@pytest.fixture
def bench(
    granted: Folder, state: Path, unix: UnixService, monkeypatch: pytest.MonkeyPatch
) -> Bench:
    (state / "projects").mkdir()
    monkeypatch.setattr(syncing, "reading", lambda _: FakeTranscripts(state / "projects"))
    registration.register(granted, Arrival(session_id="native-1"))
    unix.asked.clear()
    harness, log, clock = Watched(), list[str](), FakeClock()
    harness.native = Native("native-9", 1)
    harness.transcript = state / "projects" / "t.jsonl"
    watch = Watch(folder=granted, harness=harness, environment={}, clock=clock, say=log.append)
    return Bench(watch, harness, harness.transcript, log, clock)


async def test_what_is_new_is_sent_as_the_sessions_own(bench: Bench, unix: UnixService) -> None:
    bench.write("r1", "r2")
    await bench.watch.look()
    [asked] = unix.to("/transcript")
    assert [row["id"] for row in asked.body["entries"]] == ["r1", "r2"]
    assert asked.body["session_id"] == "native-9"
    await bench.watch.look()
    assert len(unix.asked) == 1


async def test_it_looks_again_and_again(bench: Bench, unix: UnixService) -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(bench.watch.run())
        await bench.clock.asleep()
        bench.write("r1")
        await bench.clock.advance(PERIOD)
        await until(lambda: bool(unix.to("/transcript")))
        task.cancel()
    assert len(unix.to("/transcript")) == 1


async def test_a_failure_is_said_once_and_tried_again(bench: Bench, unix: UnixService) -> None:
    away = (503, {"code": "service_shutting_down", "detail": "It stops."})
    unix.answers["transcript"] = [away, away]
    bench.write("r1")
    assert [await bench.watch.look() for _ in range(3)] == [False, False, True]
    assert len(bench.log) == 1
    assert "service_shutting_down" in bench.log[0]
    assert len(unix.to("/transcript")) == 3


async def test_what_the_service_will_never_take_keeps_nothing_waiting(
    bench: Bench, unix: UnixService
) -> None:
    unix.answers["transcript"] = [(409, {"code": "session_conflict", "detail": "Elsewhere."})]
    bench.write("r1")
    assert await bench.watch.look()
    assert "session_conflict" in bench.log[0]


@pytest.mark.parametrize("known", [True, False])
async def test_without_a_transcript_there_is_nothing_to_do(
    bench: Bench, unix: UnixService, *, known: bool
) -> None:
    if not known:
        bench.harness.transcript = None
    await bench.watch.look()
    assert unix.asked == []
    assert bench.log == []
