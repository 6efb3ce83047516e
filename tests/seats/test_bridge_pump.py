"""The pump inside the bridge: it registers, joins, and leaves the tools alone when it ends."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from mcp.shared.message import SessionMessage

from clankie.seats import harnesses, process, registration
from clankie.seats import place as places
from clankie.seats.bridge import SESSION, Around, serve
from clankie.seats.folder import Folder
from clankie.seats.launch import Means, Place
from clankie.seats.port import Observation, Seen
from clankie.seats.registration import Arrival
from clankie.seats.relay import Relay, RelayError
from clankie.seats.running import Tools
from fakes.clock import FakeClock, FakeIds
from fakes.harness import FakeHarness
from fakes.panes import FakePanes
from fakes.unix_service import UnixService

pytestmark = pytest.mark.anyio
ENDED = Seen(observation=Observation(session_id="native-1", ended=True))


class Bench:
    """A bridge between a service and a harness of a test."""

    def __init__(self, folder: Folder) -> None:
        self.folder, self.harness, self.clock = folder, FakeHarness(), FakeClock()
        self.log: list[str] = []
        self.means: list[Means] = []
        self.fails: Exception | None = None
        self.environment = {SESSION: "native-1"}
        self.told: list[SessionMessage] = []

    @asynccontextmanager
    async def join(self, means: Means) -> AsyncIterator[FakeHarness]:
        self.means.append(means)
        if self.fails is not None:
            raise self.fails
        if means.notify is not None:
            await means.notify("notifications/claude/channel", {"content": "hello"})
        yield self.harness

    async def until(self, holds: Callable[[], bool]) -> None:
        """Serve until it holds, then close the harness's end."""
        tools = Tools(
            clock=self.clock,
            ids=FakeIds(),
            jitter=lambda: 0.5,
            say=self.log.append,
            environment=self.environment,
        )
        around = Around(folder=self.folder, tools=tools, panes=FakePanes(), pane="%7")
        inward, reading = anyio.create_memory_object_stream[SessionMessage | Exception](8)
        writing, outward = anyio.create_memory_object_stream[SessionMessage](8)
        async with inward, reading, writing, outward, asyncio.TaskGroup() as group:
            task = group.create_task(serve(around, reading, writing))
            while not holds():
                await asyncio.sleep(0)
                await self.clock.advance(0.5)
                while outward.statistics().current_buffer_used:
                    self.told.append(outward.receive_nowait())
            await inward.aclose()
            await task


@pytest.fixture
def bench(granted: Folder, monkeypatch: pytest.MonkeyPatch) -> Bench:
    place = Place(
        folder=Path(granted.path),
        harness="claude",
        conversation="global-default",
        directory="/project",
        environment={},
        program=("clankie",),
    )
    places.keep(granted, place, driven=False)
    found = Bench(granted)
    monkeypatch.setattr(harnesses, "adapter", lambda _: found)
    return found


def registered(folder: Folder) -> bool:
    return registration.seated(folder) is not None


async def test_it_registers_its_session_and_joins_it(bench: Bench, unix: UnixService) -> None:
    bench.harness.show(ENDED)
    await bench.until(lambda: bool(bench.log))
    assert bench.log == ["The harness has ended."]
    [asked] = unix.to("/v1/seats")
    assert asked.body["native"]["session_id"] == "native-1"
    assert asked.body["pane"] == "%7"
    [means] = bench.means
    assert (means.session_id, means.pid, means.pane) == ("native-1", os.getppid(), "%7")
    assert bench.told[0].message.model_dump()["params"] == {"content": "hello"}


async def test_without_a_session_of_its_own_it_waits_for_the_hook(
    bench: Bench, unix: UnixService
) -> None:
    bench.environment = {}
    bench.harness.show(ENDED)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(bench.until(lambda: bool(bench.log)))
        await bench.clock.asleep()
        assert unix.asked == []
        registration.register(bench.folder, Arrival(session_id="native-2"))
        await task
    assert bench.means[0].session_id == "native-2"


async def test_a_service_that_is_away_is_said_once_and_waited_for(
    bench: Bench, state: Path
) -> None:
    bench.harness.show(ENDED)
    service: list[UnixService] = []

    def holds() -> bool:
        if bench.log and not service:
            service.append(UnixService(state))
        return len(bench.log) > 1

    await bench.until(holds)
    assert "clankie up" in bench.log[0]
    assert bench.log[1] == "The harness has ended."
    service[0].stop()


async def test_a_refused_registration_is_said_and_the_tools_go_on(
    bench: Bench, unix: UnixService
) -> None:
    unix.answers["seats"] = [
        (409, {"code": "attachment_conflict", "detail": "Another seat is there."})
    ]
    await bench.until(lambda: bool(bench.log))
    assert "attachment_conflict" in bench.log[0]
    assert not registered(bench.folder)


async def test_an_adapter_that_cannot_join_is_said_and_the_tools_go_on(
    bench: Bench, unix: UnixService
) -> None:
    bench.fails = ExceptionGroup("several", [OSError("no such session")])
    await bench.until(lambda: bool(bench.log))
    assert bench.log == ["The seat gets no events: no such session"]
    assert unix.asked


async def test_a_session_that_only_inherited_the_seat_is_not_joined(
    bench: Bench, unix: UnixService, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.folder.put("pid", b"4242")
    monkeypatch.setattr(process, "nested", lambda harness, _: harness == 4242)
    rounds = iter(range(20))
    await bench.until(lambda: next(rounds) == 10)
    assert bench.means == []
    assert unix.asked == []


@pytest.mark.parametrize(
    ("status", "said"),
    [(401, "token opens nothing"), (404, "no such seat"), (403, "HTTP 403")],
)
async def test_tools_that_are_refused_say_what_to_do(
    bench: Bench, unix: UnixService, status: int, said: str
) -> None:
    registration.register(bench.folder, Arrival(session_id="native-1"))
    unix.answers["mcp"] = [(status, {"code": "x", "detail": "No."})] * 8
    with pytest.raises(RelayError, match=said):
        await Relay(bench.folder).call("reply", {})


async def test_tools_of_a_service_that_is_away_say_how_to_start_it(
    bench: Bench, unix: UnixService
) -> None:
    registration.register(bench.folder, Arrival(session_id="native-1"))
    unix.stop()
    with pytest.raises(RelayError, match="clankie up"):
        await Relay(bench.folder).tools()
