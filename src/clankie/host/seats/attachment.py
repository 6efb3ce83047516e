"""Which seat drives which conversation: handed over under the fence, with one winner."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clankie.core.conversation import Principal
from clankie.core.errors import NotAllowedError, ShuttingDownError, UncertainError
from clankie.core.seat_errors import SeatNotFoundError
from clankie.host.seats.desk import fenced
from clankie.host.seats.keeping import refresh
from clankie.host.seats.news import driver_changed
from clankie.host.seats.poll import bound
from clankie.host.waiting import to_the_end

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

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
    async with handover(house, seat, conversation, left):
        after, running = await house.store.seats.attach(seat, conversation, expected, by)
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
    async with handover(house, chair.seat.id, chair.seat.conversation):
        after, _ = await house.store.seats.detach(chair.seat.id, reason, by)
    return after


@asynccontextmanager
async def handover(house: House, seat: str, *conversations: str | None) -> AsyncGenerator[None]:
    """Around a change of who is attached at these conversations.

    Nobody chooses a driver there meanwhile. Afterwards the seats are read again, also when nobody
    can tell whether it was done, and the conversations choose afresh.
    """
    async with fenced(house.desk, *conversations):
        there = [house.desk.at(one) for one in conversations if one is not None]
        # Those that leave first: a conversation is never seen with two.
        others = [one.seat.id for one in there if one is not None and one.seat.id != seat]
        try:
            yield
        except UncertainError:
            await refresh(house, *others, seat)
            raise
        else:
            await refresh(house, *others, seat)
        finally:
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
