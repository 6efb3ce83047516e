"""Keeping the desk in step with the store, and everything that time alone makes due at it."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final, assert_never

from clankie.core import binding
from clankie.core.conversation import timestamp
from clankie.core.delivery import SeatState
from clankie.core.driver import Presence
from clankie.core.errors import ClankieError, FaultError, UncertainError
from clankie.core.seat_errors import SeatNotFoundError
from clankie.host import journal
from clankie.host.seats.desk import (
    HAS_IT,
    AtChair,
    Overdue,
    PollEnds,
    Sweep,
    Uncounted,
    came_to,
    lapses_at,
)
from clankie.host.seats.news import driver_changed
from clankie.host.waiting import event_within, to_the_end

if TYPE_CHECKING:
    from datetime import datetime

    from clankie.host.captain import Captain
    from clankie.host.house import House
    from clankie.host.seats.chair import Chair
    from clankie.host.seats.desk import Alarm
    from clankie.host.seatstore import InFlight

FAULT_PAUSE: Final = 1.0
"""Seconds before something due is tried again when the store could not do it."""

SWEEP: Final = 3_600.0
"""Seconds between two looks for seats that ended long ago."""

HOLD: Final = "hold_lapsed"
GRACE: Final = "grace_lapsed"
PARKED: Final = "seat_parked"
LEFT: Final = "seat_left"
"""Why an input left a seat, as its receipt says it."""


async def load(house: House) -> None:
    """Know every seat and everything under way, as the store kept it over the restart."""
    desk = house.desk
    now = desk.now()
    for seat in await house.store.seats.all():
        chair = await _put(house, seat.id)
        age = None if seat.last_ask is None else (now.wall - seat.last_ask).total_seconds()
        chair.asking = binding.restarted(age, now.mono, desk.limits)
        if chair.alive is not None and seat.activity_at is not None:
            chair.alive = now.mono - max(0.0, (now.wall - seat.activity_at).total_seconds())
        desk.reschedule(chair)
    for one in await house.store.mail.in_flight():
        _remember(house, one)
    done = await house.store.mail.end_queue(None, LEFT)
    if done.ended:
        journal.note("queued for a seat that is gone", deliveries=list(done.ended))


def _remember(house: House, one: InFlight) -> None:
    """Its deadline goes on from the stored time, however the clock was set meanwhile."""
    desk = house.desk
    now = desk.now()
    age = max(0.0, (now.wall - one.since).total_seconds())
    # A handoff that nobody acknowledged is waited for as if it had just been given out.
    unresolved = one.state is SeatState.UNCERTAIN
    state = SeatState.ATTEMPTING if unresolved else one.state
    key = Overdue(one.seat, one.event.id, one.event.attempt)
    came_to(desk, key, state, now.mono - age)
    try:
        chair = desk.chair(one.seat)
    except SeatNotFoundError:
        journal.note("event of a retired seat", seat=one.seat, event=one.event.id)
        return
    if unresolved:
        chair.unresolved.append((one.event.id, one.event.attempt))
    ask_to_stop(chair, one)


def ask_to_stop(chair: Chair, one: InFlight) -> None:
    """Where the owner wanted that. It may have been told so before, which changes nothing."""
    asked = one.event.id, one.event.attempt
    if one.stop_asked and asked not in chair.interrupts:
        chair.interrupts.append(asked)


async def _count(house: House, seat: str) -> None:
    """Give everything that this seat may have seen its deadline, where it has none yet.

    And ask it again to stop what the owner wanted stopped: that may not have been looked for.
    """
    found = await house.store.mail.in_flight(seat)
    for one in found:
        if not house.desk.alarms.has(Overdue(one.seat, one.event.id, one.event.attempt)):
            _remember(house, one)
    with suppress(SeatNotFoundError):
        chair = house.desk.chair(seat)
        for one in found:
            ask_to_stop(chair, one)
        chair.look()


async def refresh(house: House, *seats: str | None) -> None:
    """Read these seats again; the ones that were retired are dropped."""
    for seat in seats:
        if seat is not None:
            try:
                await _put(house, seat)
            except SeatNotFoundError:
                house.desk.drop(seat)


async def _put(house: House, seat: str) -> Chair:
    found = await house.store.seats.get(seat)
    place = None
    if found.conversation is not None:
        place = await house.store.conversations.get(found.conversation)
        driver_changed(house, found.conversation)
    return house.desk.put(found, place)


async def tend(house: House, captain: Captain) -> None:
    """Ring every alarm when its moment comes, until the service stops."""
    alarms = house.desk.alarms
    alarms.put(Sweep(), house.clock.monotonic())
    while not captain.stopping:
        alarms.changed.clear()
        for name in alarms.due(house.clock.monotonic()):
            await _ring(house, name)
        soonest = alarms.next()
        if soonest is None:
            await alarms.changed.wait()
        else:
            await event_within(house.clock, alarms.changed, soonest - house.clock.monotonic())


async def _ring(house: House, name: Alarm) -> None:
    try:
        await _rung(house, name)
    except SeatNotFoundError:
        journal.note("alarm of a retired seat", name=str(name))
    except (FaultError, UncertainError) as error:
        journal.warn("seat is looked at later", name=str(name), why=error.detail)
        house.desk.alarms.put(name, house.clock.monotonic() + FAULT_PAUSE)
    except ClankieError as error:
        journal.warn("seat could not be looked at", name=str(name), why=error.detail)


async def _rung(house: House, name: Alarm) -> None:
    match name:
        case PollEnds(seat=seat):
            house.desk.chair(seat).look()
        case AtChair(seat=seat):
            await to_the_end(look(house, house.desk.chair(seat)))
        case Uncounted(seat=seat):
            await _count(house, seat)
        case Overdue():
            await to_the_end(_lapse(house, name))
        case Sweep():
            house.desk.alarms.put(Sweep(), house.clock.monotonic() + SWEEP)
            await to_the_end(_sweep(house))
        case _:
            assert_never(name)


async def look(house: House, chair: Chair) -> None:
    """Do whatever is due at a seat at this moment."""
    desk, seat = house.desk, chair.seat
    now = desk.now()
    chair.asking = binding.at(chair.asking, desk.limits, now.mono)
    if seat.parked_until is not None and now.wall >= seat.parked_until:
        await unpark(house, chair)
    ends = chair.turn_ends(desk.limits)
    if ends is not None and ends <= now.mono:
        # It was killed, or its transcript is not synced any more: what waits for it goes out.
        chair.alive = None
        chair.look()
    await settle(house, chair)
    again = await _end_queue(house, chair, now.mono)
    desk.reschedule(chair)
    if again:
        desk.alarms.put(AtChair(seat.id), now.mono + FAULT_PAUSE)
    if seat.conversation is not None:
        driver_changed(house, seat.conversation)


async def _end_queue(house: House, chair: Chair, mono: float) -> bool:
    """End the held Queues whose seat is not waited for any longer; whether some are left to end."""
    seat = chair.seat
    ends = binding.queue_ends(chair.asking, house.desk.limits, parked_at=chair.parked_at)
    if not chair.queue or ends is None or ends > mono:
        return False
    chair.queue = False
    try:
        done = await house.store.mail.end_queue(seat.id, PARKED if chair.parked_at else LEFT)
    except (FaultError, UncertainError):
        chair.queue = True
        raise
    # One that is about to be failed may be given back instead, as the seat left meanwhile.
    chair.queue = chair.queue or bool(done.left)
    return bool(done.left)


def gone(house: House, chair: Chair) -> bool:
    """Whether its process has provably ended: another one has its number, or none."""
    native = chair.seat.occupant.native
    if not chair.proven or chair.asking.ask is not None:
        return False
    return house.processes.started_at(native.pid) != native.process_started_at


async def _sweep(house: House) -> None:
    """Retire seats that drive nothing and whose process ended long ago."""
    before = house.clock.now() - timedelta(seconds=house.settings.retention.seats)
    for chair in list(house.desk.all()):
        seat = chair.seat
        seen = max(seat.registered_at, seat.last_ask or seat.registered_at)
        if seat.conversation is None and seen < before and gone(house, chair):
            await house.store.seats.retire(seat.id, "ended", None)
            house.tokens.drop(seat.token)
            await refresh(house, seat.id)
            journal.note("seat ended", seat=seat.id)


async def unpark(house: House, chair: Chair) -> None:
    """It takes input again: what comes to it from now on is the usual handoff, then the rest."""
    await house.store.seats.park(chair.seat.id, None, PARKED)
    await refresh(house, chair.seat.id)
    if chair.seat.conversation is not None:
        house.captain.nudge(chair.seat.conversation)


async def settle_at(house: House, conversation: str) -> None:
    """Before a destination is chosen there: what waits for a silent seat comes first."""
    chair = house.desk.at(conversation)
    if chair is not None:
        await settle(house, chair)


async def settle(house: House, chair: Chair) -> None:
    """Take over what waits for a seat that is not waited for any longer, once in each silence."""
    desk, seat = house.desk, chair.seat
    now = desk.now()
    if seat.conversation is None:
        return
    if chair.presence(desk.limits, now) is not Presence.ABSENT:
        # Its next silence is another one: a limit can pass while the same poll waits.
        chair.settled = False
        return
    if chair.settled:
        return
    chair.settled = True
    parked, since = chair.parked(now.wall), binding.silent_since(chair.asking)
    notice, reason = None, PARKED if parked else GRACE
    if chair.policy.holds and not parked:
        reason = HOLD
        notice = None if since is None else _silence(chair, now.mono - since, now.wall)
    try:
        taken = await house.store.mail.take_over(seat.id, reason, notice)
    except (FaultError, UncertainError):
        # The notice may be written twice where nobody can tell; nothing else can happen twice.
        chair.settled = False
        desk.reschedule(chair)
        raise
    if taken:
        journal.note("taken over", seat=seat.id, deliveries=list(taken), why=reason)
    house.captain.nudge(seat.conversation)


def _silence(chair: Chair, seconds: float, wall: datetime) -> str:
    last = timestamp(wall - timedelta(seconds=seconds))[11:19]
    return (
        f"The seat {chair.seat.id} ({chair.seat.harness}) last asked at {last} UTC and has been "
        f"silent for {seconds:.0f} seconds. The service lane takes over what waits for it."
    )


async def _lapse(house: House, key: Overdue) -> None:
    """An event's time is up, unless the native turn that may answer it still shows life."""
    desk = house.desk
    given = desk.given.get(key)
    if given is None:
        return
    at = lapses_at(desk, key, given)
    if at is not None and at > house.clock.monotonic():
        desk.alarms.put(key, at)
        return
    ended = False
    with suppress(SeatNotFoundError):
        ended = gone(house, desk.chair(key.seat))
    state = await house.store.mail.lapse(
        key.seat,
        key.event,
        key.attempt,
        gone=ended,
        unacknowledged=given.state is SeatState.ATTEMPTING,
    )
    if state in HAS_IT:
        # Acknowledged while this was on its way: from now on its answer is waited for.
        came_to(desk, key, state, house.clock.monotonic())
        return
    if desk.given.get(key) == given:
        del desk.given[key]
    journal.note("seat event lapsed", seat=key.seat, event=key.event, state=state)
    with suppress(SeatNotFoundError):
        # A handoff that lapsed makes room for what waits behind it.
        desk.chair(key.seat).look()
