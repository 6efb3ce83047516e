"""What a new start finds after a crash at each point of an event's way to a seat and back."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from clankie.core.admission import Origin
from clankie.core.conversation import OPERATOR
from clankie.core.delivery import InputState, SeatState
from clankie.core.ids import HEAD
from clankie.host.seats import roster
from fakes.bridge import Bridge, opened
from fakes.clock import FakeClock
from fakes.crash import Crash, CrashAt
from fakes.hall import Hall, Machine
from fakes.loop import virtual

S, A = InputState, SeatState
NEVER = 1_000_000


class Armed(CrashAt):
    """Dies at a point once it was told to."""

    def __init__(self, name: str) -> None:
        super().__init__(name, NEVER)

    def arm(self) -> None:
        self.left = 1


@contextmanager
def killed(crash: Armed) -> Iterator[None]:
    """The house dies in the body: every task of it that still runs finds that out."""
    try:
        yield
    except* Crash:
        pass
    assert crash.left <= 0, "it did not die"


async def _life(hall: Hall, clock: FakeClock, seat: Bridge, crash: Armed) -> None:
    """An escalation is given to a seat that waits, acknowledged and answered."""
    waiting = seat.parks(poll_id="p-1")
    await clock.sleep(1)
    crash.arm()
    await hall.send("is it done?", "e-1", origin=Origin.ESCALATION)
    await clock.sleep(1)
    assert waiting.done()
    event = seat.heard[-1]
    await seat.ack(event)
    await clock.sleep(1)
    await seat.reply(event, "yes")
    await clock.sleep(1)


@pytest.mark.parametrize(
    ("point", "state", "attempts"),
    [
        ("admit.after-commit", S.QUEUED, [A.OFFERED]),
        ("take.before-commit", S.QUEUED, [A.OFFERED]),
        ("take.after-commit", S.UNCERTAIN, [A.UNCERTAIN]),
        ("ack.before-commit", S.UNCERTAIN, [A.UNCERTAIN]),
        ("ack.after-commit", S.RUNNING, [A.TAKEN]),
        ("reply.before-commit", S.RUNNING, [A.TAKEN]),
        ("reply.after-commit", S.SETTLED, [A.REPLIED]),
    ],
)
def test_each_crash_has_its_truth(
    tmp_path: Path, point: str, state: InputState, attempts: list[SeatState]
) -> None:
    # proves: FENCE-4, FENCE-7, FENCE-8, FENCE-9
    @virtual
    async def scenario(clock: FakeClock) -> None:
        machine = Machine(tmp_path, clock)
        async with machine.on() as hall:
            seat = await opened(hall)
        crash = Armed(point)
        with killed(crash):
            async with machine.on(crash=crash) as hall:
                await _life(hall, clock, Bridge(hall, seat.seat, seat.native), crash)
        async with machine.on() as hall:
            await clock.sleep(1)
            found = await hall.receipt("e-1")
            assert found.state is state
            assert [one.state for one in found.attempts] == attempts
            # Whatever it was, the service lane never runs what a seat may have seen.
            await clock.sleep(3_600)
            asked = attempts == [A.OFFERED]
            assert hall.lane.asked == (["e-1"] if asked else [])
            assert len(await hall.said()) == (1 if asked or state is S.SETTLED else 0)

    scenario()


@pytest.mark.parametrize("side", ["before", "after"])
def test_what_is_stored_at_a_seat_within_its_hold_is_stored_over_a_crash(
    tmp_path: Path, side: str
) -> None:
    # proves: SEAT-5, FENCE-8
    @virtual
    async def scenario(clock: FakeClock) -> None:
        machine = Machine(tmp_path, clock)
        crash = Armed(f"reserve.{side}-commit")
        with killed(crash):
            async with machine.on(crash=crash) as hall:
                seat = await opened(hall)
                await seat.poll(1)
                await clock.sleep(1)
                crash.arm()
                await hall.send("hello", "m-1")
                await clock.sleep(1)
        async with machine.on() as hall:
            again = Bridge(hall, seat.seat, seat.native, polls=50)
            await clock.sleep(1)
            found = await hall.receipt("m-1")
            assert [one.state for one in found.attempts] == [A.OFFERED]
            assert (await again.takes()).id == "m-1"
            assert hall.lane.asked == []

    scenario()


@pytest.mark.parametrize("late", [True, False])
def test_what_was_given_out_before_a_crash_is_given_to_nobody_again(
    tmp_path: Path, late: bool
) -> None:
    # proves: FENCE-4, FENCE-7, SEAT-4
    @virtual
    async def scenario(clock: FakeClock) -> None:
        machine = Machine(tmp_path, clock)
        seats: list[Bridge] = []
        crash = Armed("ack.before-commit")
        with killed(crash):
            async with machine.on(crash=crash) as hall:
                seats.append(await opened(hall))
                await _life(hall, clock, seats[0], crash)
        seat = seats[0]
        event = seat.heard[-1]
        async with machine.on() as hall:
            again = Bridge(hall, seat.seat, seat.native, polls=50)
            if late:
                assert await again.ack(event) is A.TAKEN
                assert await again.reply(event, "yes") is A.REPLIED
            assert (await again.poll(poll_id="p-1", wait=1)).events == ()
            assert (await again.poll(1)).events == ()
            found = await hall.receipt("e-1")
            assert found.state is (S.SETTLED if late else S.UNCERTAIN)
            assert hall.lane.asked == []
            assert await hall.said() == (["yes"] if late else [])

    scenario()


@pytest.mark.parametrize(
    ("point", "phases"),
    [
        ("take.before-commit", ["open"]),
        ("take.after-commit", ["open", "attempting", "unresolved"]),
        ("ack.before-commit", ["open", "attempting", "unresolved"]),
        ("ack.after-commit", ["open", "attempting", "delivered"]),
    ],
)
def test_a_handoff_is_sealed_or_not_and_never_told_twice(
    tmp_path: Path, point: str, phases: list[str]
) -> None:
    # proves: HAND-6, FENCE-9
    @virtual
    async def scenario(clock: FakeClock) -> None:
        machine = Machine(tmp_path, clock)
        async with machine.on() as hall:
            seat = await opened(hall)
            await seat.says("I was here")
            await hall.send("wake", "w-1", origin=Origin.WAKE)
            assert (await hall.ended("w-1")).state is S.SETTLED
        crash = Armed(point)
        with killed(crash):
            async with machine.on(crash=crash) as hall:
                crash.arm()
                await Bridge(hall, seat.seat, seat.native).takes()
                await clock.sleep(1)
        async with machine.on() as hall:
            log = [one for one in await hall.log() if one["kind"] == "handoff"]
            assert [one["phase"] for one in log] == phases
            again = Bridge(hall, seat.seat, seat.native, polls=50)
            page = await again.poll(1)
            assert [one.source for one in page.events] == (
                ["service-handoff"] if phases == ["open"] else []
            )
            said = [one for one in await hall.log() if "may not have" in one.get("text", "")]
            assert len(said) == (1 if phases[-1] == "unresolved" else 0)
            assert hall.lane.asked == []

    scenario()


async def _change(what: str, seat: Bridge, other: Bridge, clock: FakeClock) -> None:
    """Let a seat go, one way or another."""
    match what:
        case "take_over":
            await clock.sleep(60)
        case "detach":
            await seat.detach()
        case "retire":
            await roster.retire(seat.hall.house, seat.seat, OPERATOR)
        case "limit":
            await seat.limited()
        case _:
            await other.attach(HEAD, expected=seat.seat)


@pytest.mark.parametrize("what", ["take_over", "detach", "retire", "limit", "attach"])
@pytest.mark.parametrize("side", ["before", "after"])
def test_what_changes_a_seats_hands_is_done_whole_or_not_at_all(
    tmp_path: Path, what: str, side: str
) -> None:
    # proves: FENCE-5, FENCE-6, FENCE-8
    points = {"take_over": "take_over"}

    @virtual
    async def scenario(clock: FakeClock) -> None:
        machine = Machine(tmp_path, clock)
        crash = Armed(f"{points.get(what, 'seat')}.{side}-commit")
        with killed(crash):
            async with machine.on(crash=crash) as hall:
                seat = await opened(hall)
                other = await opened(
                    hall, "native-2", conversation=await hall.make("side"), pid=200
                )
                await seat.poll(1)
                await hall.send("hello", "m-1")
                await clock.sleep(1)
                crash.arm()
                with suppress(Crash):
                    await _change(what, seat, other, clock)
                await clock.sleep(1)
        async with machine.on() as hall:
            standing = hall.house.seats.standing(HEAD)
            if what in {"detach", "retire"}:
                assert (standing is None) is (side == "after")
            if what == "attach":
                assert standing is not None
                assert standing.seat == (other.seat if side == "after" else seat.seat)
            # Nobody took it, so it is run once, by whoever is there.
            await clock.sleep(300)
            assert (await hall.receipt("m-1")).state is S.SETTLED
            assert hall.lane.asked == ["m-1"]

    scenario()
