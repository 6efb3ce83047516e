"""What the tools of a seat may do: in its own conversation, and where that one may look.

Who calls is the seat of the token, whatever the call says. It carries nobody else's tools or
grants: a seat attached to a room sees the room and can do there what any seat can.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from clankie.core.conversation import may_read
from clankie.core.errors import (
    ConversationNotFoundError,
    DeliveryNotFoundError,
    InvalidFieldError,
)
from clankie.core.seat_errors import SeatNotFoundError
from clankie.core.wake import Wake, WakeLimitError
from clankie.host import selfstate
from clankie.host.seats import answers, roster
from clankie.host.seatstore import Watch
from clankie.host.waiting import to_the_end

if TYPE_CHECKING:
    from datetime import datetime

    from clankie.core.conversation import Conversation
    from clankie.core.delivery import SeatState
    from clankie.host.house import House
    from clankie.host.storage import EventPage

_DIGITS: Final = 26


async def self_state(house: House, seat: str) -> dict[str, object]:
    """What `get_self_state` shows: the conversation's own state, and the seat's.

    Raises:
        SeatNotFoundError: it is attached nowhere.
    """
    place, chair = _place(house, seat), house.desk.chair(seat)
    state = await selfstate.describe(house, place)
    return {
        **state,
        "seat": {
            "id": seat,
            "harness": chair.seat.harness,
            "state": roster.state_of(house, chair, house.desk.now()),
            "proven": chair.proven,
        },
    }


async def reply(house: House, seat: str, event: str, text: str) -> SeatState:
    """Answer an event. Raises as `answers.spoken`."""
    return await answers.spoken(house, seat, event, text)


async def schedule_wake(house: House, seat: str, due_at: datetime, text: str, call_id: str) -> Wake:
    """Set a wake for the seat's conversation; the same call sets it once.

    Raises:
        InvalidFieldError, WakeLimitError, SeatNotFoundError.
    """
    wake = Wake(
        id=_named("wake", seat, call_id),
        conversation=_place(house, seat),
        due_at=due_at,
        text=text,
        depth=house.desk.chair(seat).depth + 1,
        created_at=house.clock.now(),
    )
    await to_the_end(house.store.wakes.add(wake, house.settings.wakes))
    house.captain.wakes_changed()
    # A call that is repeated is told when its wake is due, not when another one would have been.
    kept = [one for one in await house.store.wakes.list(wake.conversation) if one.id == wake.id]
    return kept[0] if kept else wake


async def watch(
    house: House,
    seat: str,
    *,
    conversation: str | None = None,
    delivery: str | None = None,
    call_id: str,
) -> Watch:
    """Be told once: of the next answer in a conversation, or how a delivery ended.

    Raises:
        InvalidFieldError: not exactly one of the two.
        ConversationNotFoundError, DeliveryNotFoundError: there is none, or it is not to be seen.
        WakeLimitError: too much is watched already.
    """
    place = _place(house, seat)
    since = 0
    if conversation is not None and delivery is None:
        target, since = conversation, (await _seen(house, place, conversation)).cursor
        text = f"There is an answer in the conversation {target}, after cursor {since}."
    elif delivery is not None and conversation is None:
        target = delivery
        try:
            await _seen(house, place, (await house.store.deliveries.get(delivery)).conversation)
        except ConversationNotFoundError as error:
            raise DeliveryNotFoundError(delivery) from error
        text = f"The delivery {target} has ended."
    else:
        raise InvalidFieldError("conversation", "exactly one of conversation and delivery")
    made = Watch(
        id=_named("watch", seat, call_id),
        conversation=place,
        target=target,
        text=text,
        created_at=house.clock.now(),
        since=since,
        depth=house.desk.chair(seat).depth + 1,
    )
    await _bounded(house, made)
    await to_the_end(house.store.watches.add(made))
    house.desk.watched.set()
    return made


async def observe_room(house: House, seat: str, room: str, *, limit: int) -> EventPage:
    """The newest events of a room that this conversation may see. Raises as `read_conversation`."""
    return await read_conversation(house, seat, room, None, limit)


async def read_conversation(
    house: House, seat: str, conversation: str | None, before: int | None, limit: int
) -> EventPage:
    """The newest events below `before`, of its own conversation (None) or of one it may see.

    Raises:
        SeatNotFoundError: it is attached nowhere.
        ConversationNotFoundError: there is none, or it is not for this seat to see.
    """
    place = _place(house, seat)
    other = await _seen(house, place, conversation or place)
    return await house.store.conversations.events_before(
        other.id, before or other.cursor + 1, limit
    )


def _place(house: House, seat: str) -> str:
    place = house.desk.chair(seat).seat.conversation
    if place is None:
        raise SeatNotFoundError(seat)
    return place


async def _seen(house: House, place: str, wanted: str) -> Conversation:
    log = house.store.conversations
    other = await log.get(wanted)
    if not may_read(await log.get(place), other):
        raise ConversationNotFoundError(wanted)
    return other


async def _bounded(house: House, made: Watch) -> None:
    limits = house.settings.wakes
    mine = [one for one in await house.store.watches.all() if one.conversation == made.conversation]
    if made.id not in {one.id for one in mine} and len(mine) >= limits.waiting:
        raise WakeLimitError(f"{len(mine)} watches are kept in this conversation already.")
    if made.depth > limits.depth:
        raise WakeLimitError(
            f"{limits.depth} wakes and watches have led to one another without a message from the "
            "owner; wait for one before setting another."
        )


def _named(kind: str, seat: str, call_id: str) -> str:
    """The same for the same call of the same seat; short and plain: it becomes a delivery's id."""
    digest = hashlib.sha256(f"{seat}\0{call_id}".encode()).hexdigest()
    return f"{kind}-{digest[:_DIGITS]}"
