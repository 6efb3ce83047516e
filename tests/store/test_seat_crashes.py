"""The process dies before or after each commit of a seat's life: nothing is given out twice."""

from pathlib import Path

import pytest

from clankie.core.admission import Origin
from clankie.core.delivery import FINAL, InputState, SeatState
from clankie.core.driver import Standing
from clankie.core.ids import HEAD
from clankie.core.seat import Activity, Entry, EntryKind, Report
from clankie.host.seatstore import Watch
from clankie.host.storage import Store
from contracts.seat_kit import (
    BRIDGE,
    BY,
    ESCALATION,
    LIMITS,
    given,
    occupant,
    offered,
    poll,
    reserve,
    seated,
    stored,
    taken,
)
from contracts.store_handoff import one_handoff, ran
from contracts.store_kit import World, admitted
from fakes.crash import Crash, CrashAt
from store.invariants import violations

# How often each passes in `everything`, where more than once matters.
TIMES = {"seat": 3, "take": 6, "ack": 3, "lapse": 2, "take_over": 2, "reserve": 3}
UNITS = (
    "grant",
    "register",
    "seat",
    "asked",
    "reserve",
    "take",
    "ack",
    "refused",
    "reply",
    "sync",
    "lapse",
    "take_over",
    "watch",
)
PLACES = [(unit, nth) for unit in UNITS for nth in range(1, TIMES.get(unit, 1) + 1)]
SAFE = FINAL | {InputState.QUEUED, InputState.UNCERTAIN, InputState.RUNNING}
OPEN_AFTER = frozenset({SeatState.OFFERED, SeatState.TAKEN, SeatState.ACCEPTED})


async def everything(store: Store, world: World) -> None:
    """Each kind of unit of a seat, in a life that one might have."""
    await store.boot()
    standing = await seated(store, world)
    await store.seats.asked("s-1")
    await store.seats.projected("s-1", "n-s-1", 0)
    await taken(store, standing, "e-1", **ESCALATION)
    await store.mail.reply("s-1", "e-1", 1, BRIDGE, "Here")
    event = await given(store, standing, "m-1")
    await store.mail.refuse("s-1", event.id, 1, BRIDGE, "busy")
    await store.deliveries.cancel_waiting("m-1")
    await taken(store, standing, "m-2")
    row = Entry(id="r-1", kind=EntryKind.ASSISTANT, at=world.clock.now(), text="Done")
    await store.mail.sync("s-1", "n-s-1", [row], Report(Activity.WAITING), LIMITS)
    await given(store, standing, "m-3")
    await store.mail.lapse("s-1", "m-3", 1)
    await offered(store, standing, "w-1", origin=Origin.WAKE)
    await store.mail.take_over("s-1", "silent", "Silent.")
    await store.deliveries.cancel_waiting("w-1")
    await ran(store, "w-2", "Wake")
    handoff = await one_handoff(store)
    await store.mail.ack("s-1", handoff.id, 1, BRIDGE)
    await ran(store, "w-3", "Wake")
    await store.mail.lapse("s-1", (await one_handoff(store, "p-9")).id, 1)
    await offered(store, standing, "m-4")
    await store.seats.occupied("s-1", occupant("n-2"))
    await store.mail.end_queue("s-1", "gone")
    watch = Watch(
        id="w", conversation=HEAD, target="m-4", text="Look", created_at=world.clock.now()
    )
    await store.watches.add(watch)
    await store.seats.retire("s-1", "retired", BY)


@pytest.mark.parametrize("when", ["before-commit", "after-commit"])
@pytest.mark.parametrize(("unit", "nth"), PLACES)
async def test_whenever_it_dies_nothing_is_half_given_and_nothing_is_given_again(
    world: World, path: Path, unit: str, nth: int, when: str
) -> None:
    # proves: FENCE-4, FENCE-8, FENCE-9
    async with world.open(CrashAt(f"{unit}.{when}", nth)) as store:
        with pytest.raises(Crash):
            await everything(store, world)
    async with world.open() as store:
        before = {one.id: one for one in await store.deliveries.list()}
        await store.boot()
        assert violations(path) == []
        for one in await store.deliveries.list():
            assert one.state in SAFE
            seen = [a for a in before[one.id].attempts if a.seat and a.asked_at is not None]
            lost = any(a.state is SeatState.ATTEMPTING for a in seen)
            assert not lost or one.state is InputState.UNCERTAIN
            assert all(
                a.state in OPEN_AFTER or a.ended_at is not None for a in one.attempts if a.seat
            )
        standing = await again(store, world)
        await stored(store, standing)
        shown = {one.id for one in await poll(store, "s-9", "p-0")}
        for name in shown & before.keys():
            assert all(
                a.state in {SeatState.REFUSED, SeatState.RELEASED, SeatState.OFFERED}
                or a.seat is None
                for a in before[name].attempts
            )


async def again(store: Store, world: World) -> Standing:
    """Another seat takes the place of whichever sits there."""
    there = [one.id for one in await store.seats.all() if one.conversation == HEAD]
    return await seated(store, world, "s-9", expected=there[0] if there else None)


async def test_a_page_whose_answer_was_lost_is_uncertain_and_a_page_before_it_is_stored(
    world: World,
) -> None:
    # proves: FENCE-9
    for when, state in (
        ("before-commit", SeatState.OFFERED),
        ("after-commit", SeatState.UNCERTAIN),
    ):
        async with world.open(CrashAt(f"take.{when}")) as store:
            await store.boot()
            standing = await _standing(store, world)
            await admitted(store, f"m-{when}")
            await reserve(store, standing)
            with pytest.raises(Crash):
                await poll(store, standing.seat)
        async with world.open() as store:
            recovered = await store.boot()
            one = await store.deliveries.get(f"m-{when}")
            assert one.attempts[-1].state is state
            assert (one.id in recovered.uncertain) == (state is SeatState.UNCERTAIN)
            await store.deliveries.cancel_waiting(f"m-{when}")


async def _standing(store: Store, world: World) -> Standing:
    sits = [one.id for one in await store.seats.all()]
    name = f"s-{len(sits) + 1}"
    return await seated(store, world, name, expected=sits[-1] if sits else None)


async def test_what_was_taken_stays_taken_over_a_restart(world: World) -> None:
    # proves: FENCE-8
    async with world.open() as store:
        await store.boot()
        standing = await seated(store, world)
        await taken(store, standing, "m-1")
        await given(store, standing, "m-2")
        await offered(store, standing, "m-3")
    async with world.open() as store:
        recovered = await store.boot()
        assert list(recovered.uncertain) == ["m-2"]
        states = {
            one.id: (one.state, one.attempts[-1].state) for one in await store.deliveries.list()
        }
        assert states == {
            "m-1": (InputState.RUNNING, SeatState.TAKEN),
            "m-2": (InputState.UNCERTAIN, SeatState.UNCERTAIN),
            "m-3": (InputState.QUEUED, SeatState.OFFERED),
        }
        (event,) = await poll(store, poll_id="p-9")
        assert (event.id, event.generation) == ("m-3", 2)
        assert await poll(store, poll_id="p-m-2") == []
        assert await store.mail.ack("s-1", "m-2", 1, BRIDGE) is SeatState.TAKEN
