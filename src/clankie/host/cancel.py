"""Cancelling: what still waits ends at once; what runs is asked to end, and its outcome is true."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from clankie.core.delivery import OPEN_SEAT, InputState
from clankie.core.errors import DeliveryNotFoundError
from clankie.core.seat_errors import SeatNotFoundError
from clankie.host.outcome import Cut

if TYPE_CHECKING:
    from clankie.core.receipt import Delivery
    from clankie.host.dispatch import Running
    from clankie.host.house import House


class CancelOutcome(StrEnum):
    """What came of asking."""

    CANCELLED = "cancelled"
    REQUESTED = "requested"
    NOTHING = "nothing_to_cancel"


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The answer, with the receipt of the delivery it concerns."""

    outcome: CancelOutcome
    delivery: Delivery | None = None


async def cancel(house: House, conversation: str, delivery: str | None = None) -> Cancelled:
    """Cancel a delivery of this conversation, or whatever runs there when none is named.

    Raises:
        ConversationNotFoundError: there is no such conversation.
        DeliveryNotFoundError: the delivery is not one of this conversation.
    """
    await house.store.conversations.get(conversation)
    if delivery is None:
        return await _cancel_running(house, conversation, None)
    found = await house.store.deliveries.get(delivery)
    if found.conversation != conversation:
        raise DeliveryNotFoundError(delivery)
    if found.state is InputState.QUEUED and await house.store.deliveries.cancel_waiting(delivery):
        house.captain.wakes_changed()
        return Cancelled(CancelOutcome.CANCELLED, await house.store.deliveries.get(delivery))
    return await _cancel_running(house, conversation, delivery)


def _answering(running: Running) -> set[str]:
    return {running.turn.delivery.id, *running.turn.members}


async def _cancel_running(house: House, conversation: str, delivery: str | None) -> Cancelled:
    found = None if delivery is None else await house.store.deliveries.get(delivery)
    running = house.captain.running(conversation)
    if running is not None and (found is None or found.id in _answering(running)):
        running.cancel(Cut.OWNER)
        asked = await house.store.deliveries.get(delivery or running.turn.delivery.id)
        return Cancelled(CancelOutcome.REQUESTED, asked)
    at_seat = await _interrupted(house, conversation, found)
    if at_seat is not None:
        return at_seat
    if found is not None and found.state is InputState.QUEUED and running is None:
        # Its attempt was reserved a moment ago and its turn is about to be taken up.
        house.captain.cut_when_taken_up(found.id)
        return Cancelled(CancelOutcome.REQUESTED, found)
    return Cancelled(CancelOutcome.NOTHING, found)


async def _interrupted(house: House, conversation: str, found: Delivery | None) -> Cancelled | None:
    """Ask the seat that may have it to stop; None when no seat does, or none can.

    What comes of it the harness reports: nothing is claimed here.
    """
    if found is None:
        found = await _newest_at_seat(house, conversation)
    last = found.attempts[-1] if found is not None and found.attempts else None
    if found is None or last is None or last.seat is None or last.state not in OPEN_SEAT:
        return None
    try:
        chair = house.desk.chair(last.seat)
    except SeatNotFoundError:
        return None
    if not chair.seat.capabilities.interrupt:
        return None
    asked = await house.store.deliveries.stop(found.id)
    if asked is None:
        return None  # it ended meanwhile
    if asked not in chair.interrupts:
        chair.interrupts.append(asked)
    chair.look()
    return Cancelled(CancelOutcome.REQUESTED, found)


async def _newest_at_seat(house: House, conversation: str) -> Delivery | None:
    """What the seat attached there was given last and has not ended."""
    chair = house.desk.at(conversation)
    if chair is None:
        return None
    events = [
        one.event.id
        for one in await house.store.mail.in_flight(chair.seat.id)
        if one.event.pieces and one.event.conversation == conversation
    ]
    return await house.store.deliveries.get(events[-1]) if events else None
