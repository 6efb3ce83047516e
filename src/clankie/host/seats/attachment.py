"""Which seat drives which conversation: handed over under the fence, with one winner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clankie.core.conversation import Principal
from clankie.core.errors import NotAllowedError, ShuttingDownError, UncertainError
from clankie.core.seat_errors import SeatNotFoundError
from clankie.host.seats.keeping import refresh
from clankie.host.seats.news import driver_changed
from clankie.host.seats.poll import bound
from clankie.host.waiting import to_the_end

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from clankie.core.conversation import Author
    from clankie.host.house import House
    from clankie.host.seats.chair import Chair
    from clankie.host.seatstore import Seat


@dataclass(frozen=True, slots=True)
class Attached:
    """The seat where it is now. `running`: a run of the service lane is waited for first."""

    seat: Seat
    running: bool


async def attach(
    house: House, seat: str, conversation: str, expected: str | None, by: Author
) -> Attached:
    """Attach it in place of `expected`, the seat that the caller saw there (None: none).

    Raises:
        NotAllowedError: only the owner may, or the seat itself where its grant said.
        SeatNotFoundError, ConversationNotFoundError, ConversationClosedError.
        AttachmentConflictError: another seat is attached than expected.
    """
    _awake(house)
    chair = house.desk.chair(seat)
    _may(chair, conversation, by)
    return await to_the_end(_attach(house, chair, conversation, expected, by))


async def _attach(
    house: House, chair: Chair, conversation: str, expected: str | None, by: Author
) -> Attached:
    seat, left = chair.seat.id, chair.seat.conversation
    before = house.desk.at(conversation)
    replaced = None if before is None else before.seat.id
    try:
        after, running = await house.store.seats.attach(seat, conversation, expected, by)
    except UncertainError:
        await changed(house, (replaced, seat), (conversation, left))
        raise
    # The one that leaves first: a conversation is never seen with two.
    await changed(house, (replaced, seat), (conversation, left))
    if chair.asking.ask is not None:
        await bound(house, conversation)
    return Attached(after, running)


async def detach(house: House, seat: str, by: Author, reason: str) -> Seat:
    """Let it go: what it was not given follows the conversation's next driver.

    Raises:
        NotAllowedError: only the owner may, or the seat itself.
        SeatNotFoundError.
    """
    _awake(house)
    chair = house.desk.chair(seat)
    if by.principal is Principal.SEAT and by.id != seat:
        raise SeatNotFoundError(seat)
    if by.principal not in {Principal.OPERATOR, Principal.SEAT}:
        raise NotAllowedError("Only the owner, or the seat itself, detaches a seat.")
    return await to_the_end(let_go(house, chair, reason, by))


async def let_go(house: House, chair: Chair, reason: str, by: Author | None) -> Seat:
    """Detach it, whoever asked for that."""
    left = chair.seat.conversation
    work = house.store.seats.detach(chair.seat.id, reason, by)
    after, _ = await _then(house, work, chair.seat.id, left)
    return after


async def _then(
    house: House,
    work: Coroutine[object, object, tuple[Seat, str | None]],
    seat: str,
    left: str | None,
) -> tuple[Seat, str | None]:
    try:
        done = await work
    except UncertainError:
        await changed(house, (seat,), (left,))
        raise
    await changed(house, (seat,), (left,))
    return done


async def changed(
    house: House, seats: tuple[str | None, ...], conversations: tuple[str | None, ...]
) -> None:
    """Read these seats again, and let these conversations choose their driver afresh."""
    await refresh(house, *seats)
    for conversation in conversations:
        if conversation is not None:
            driver_changed(house, conversation)
            house.captain.nudge(conversation)


def _may(chair: Chair, conversation: str, by: Author) -> None:
    if by.principal is Principal.OPERATOR:
        return
    if by.principal is not Principal.SEAT:
        raise NotAllowedError("Only the owner attaches a seat.")
    if by.id != chair.seat.id:
        raise SeatNotFoundError(chair.seat.id)
    if conversation != chair.seat.granted:
        raise NotAllowedError(
            "A seat attaches itself only to the conversation that its grant named. "
            "The owner may attach it elsewhere."
        )


def _awake(house: House) -> None:
    if house.stopping:
        raise ShuttingDownError
