"""What a seat says of what it was given: it has it, it will not have it, here is the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.core.delivery import SeatState
from clankie.core.errors import (
    DeliveryNotFoundError,
    FaultError,
    ReceiptExpiredError,
    TransitionRefusedError,
    UncertainError,
)
from clankie.core.seat_errors import EventNotFoundError
from clankie.host import journal
from clankie.host.seats.desk import HAS_IT, Overdue, Uncounted, came_to
from clankie.host.seats.keeping import FAULT_PAUSE, ask_to_stop
from clankie.host.waiting import to_the_end

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from clankie.host.house import House
    from clankie.host.seats.chair import Chair

HANDOFF: Final = "h-"
"""What the id of a handoff begins with."""


async def ack(house: House, seat: str, event: str, *, attempt: int, binding: str) -> SeatState:
    """The harness has it in its own queue; the same again changes nothing.

    Raises:
        SeatNotFoundError, EventNotFoundError, SeatSupersededError.
        TransitionRefusedError: it had ended otherwise.
    """
    house.desk.chair(seat)
    return await _said(
        house, Overdue(seat, event, attempt), house.store.mail.ack(seat, event, attempt, binding)
    )


async def refuse(
    house: House, seat: str, event: str, *, attempt: int, binding: str, reason: str
) -> SeatState:
    """Nothing was handed over, for certain: its input goes where it may go next.

    Raises:
        as `ack`, and TransitionRefusedError: it is not `attempting`.
    """
    house.desk.chair(seat)
    return await _said(
        house,
        Overdue(seat, event, attempt),
        house.store.mail.refuse(seat, event, attempt, binding, reason),
    )


async def reply(
    house: House, seat: str, event: str, *, attempt: int, binding: str, text: str
) -> SeatState:
    """Publish the answer, once; it says that the event was taken, too.

    Raises:
        as `ack`, and DeliveryConflictError: it was answered with another text.
        TransitionRefusedError: no answer is wanted.
    """
    house.desk.chair(seat)
    return await _said(
        house,
        Overdue(seat, event, attempt),
        house.store.mail.reply(seat, event, attempt, binding, text),
    )


async def spoken(house: House, seat: str, event: str, text: str) -> SeatState:
    """An answer that comes through the seat's own tools, to the newest attempt that it was given.

    Raises:
        as `reply`. TransitionRefusedError: nothing proves that the harness had the event.
    """
    occupant = house.desk.chair(seat).seat.occupant.id
    if event.startswith(HANDOFF):
        raise EventNotFoundError(event)
    try:
        found = await house.store.deliveries.get(event)
    except (DeliveryNotFoundError, ReceiptExpiredError) as error:
        # What others were sent, and whether they were, is not for this seat to find out.
        raise EventNotFoundError(event) from error
    given = [one for one in found.attempts if (one.seat, one.occupant) == (seat, occupant)]
    if not given or given[-1].state is SeatState.OFFERED:
        raise EventNotFoundError(event)
    last = given[-1]
    if last.state is SeatState.UNCERTAIN:
        raise TransitionRefusedError(f"The event {event!r}", last.state, "replied")
    return await _said(
        house,
        Overdue(seat, event, last.n),
        house.store.mail.reply(seat, event, last.n, None, text),
    )


async def _said(
    house: House, key: Overdue, work: Coroutine[object, object, SeatState]
) -> SeatState:
    return await to_the_end(_kept(house, key, work))


async def _kept(
    house: House, key: Overdue, work: Coroutine[object, object, SeatState]
) -> SeatState:
    desk = house.desk
    try:
        state = await work
    except UncertainError:
        # It may be so all the same: then somebody has to look, and its answer is waited for.
        desk.alarms.put(Uncounted(key.seat), house.clock.monotonic())
        _look(house, key.seat)
        raise
    late = state in HAS_IT and key not in desk.given
    came_to(desk, key, state, house.clock.monotonic())
    chair = desk.chair(key.seat)
    if late:
        await _late(house, chair, key.event)
    chair.unresolved = [one for one in chair.unresolved if one != (key.event, key.attempt)]
    conversation = chair.seat.conversation
    if conversation is not None and not key.event.startswith(HANDOFF):
        house.lane.evict(conversation)
    if state is SeatState.REFUSED:
        await _given_back(house, chair, key.event)
    _look(house, key.seat)
    return state


async def _late(house: House, chair: Chair, event: str) -> None:
    """It has something of which nobody knew that: perhaps the owner wants it stopped."""
    try:
        found = await house.store.mail.in_flight(chair.seat.id)
    except FaultError as error:
        # What was said is on disk, and so is the wish: it is only looked for a little later.
        journal.warn("a wish to stop is looked for later", event=event, why=error.detail)
        later = house.clock.monotonic() + FAULT_PAUSE
        house.desk.alarms.put(Uncounted(chair.seat.id), later)
        return
    for one in found:
        if one.event.id == event:
            ask_to_stop(chair, one)


async def _given_back(house: House, chair: Chair, event: str) -> None:
    """A refused input waits for a driver again, wherever its seat is now."""
    if event.startswith(HANDOFF):
        return
    chair.queue = True
    house.desk.reschedule(chair)
    house.captain.nudge((await house.store.deliveries.get(event)).conversation)


def _look(house: House, seat: str) -> None:
    """A refusal gives an input back, an acknowledged handoff makes room for what waits behind."""
    chair = house.desk.chair(seat)
    chair.look()
    if chair.seat.conversation is not None:
        house.captain.nudge(chair.seat.conversation)
