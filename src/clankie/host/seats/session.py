"""A native session begins in a seat: is it the same, and what it is told of the log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from clankie.core.seat_errors import EventNotFoundError, OccupantChangedError, SessionConflictError
from clankie.core.session import Continuity, continues
from clankie.host import journal, selfstate
from clankie.host.seats.attachment import handover, let_go
from clankie.host.seats.desk import fenced
from clankie.host.waiting import to_the_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.host.house import House
    from clankie.host.seats.chair import Chair


_OF_A_PLACE: Final = frozenset({"reach", "conversation"})
_NOWHERE: Final = (
    "This session drives no conversation now: what is said here reaches no log until its owner "
    "attaches the seat again."
)


@dataclass(frozen=True, slots=True)
class Projected:
    """What a session starts with. The harness has it once `projection_id` is confirmed."""

    text: str
    projection_id: str


async def start(
    house: House, seat: str, *, session_id: str, source: str, sections: Sequence[str]
) -> Projected:
    """The context of a session that begins; nothing moves before it is confirmed.

    Raises:
        InvalidFieldError: a section that does not exist.
        OccupantChangedError: it is not provably the seat's own; the seat was detached.
        SessionConflictError: this session was retired by a reset.
    """
    chair = house.desk.chair(seat)
    await to_the_end(_continued(house, chair, session_id, source))
    if chair.seat.stale:
        raise SessionConflictError(session_id)
    text, cursor = await _shown(house, chair, tuple(sections))
    name = house.ids.new("p")
    chair.keep_projection(name, session_id, cursor)
    return Projected(text, name)


async def _shown(house: House, chair: Chair, sections: tuple[str, ...]) -> tuple[str, int | None]:
    """What a session is told, and how far that shows the log of its conversation."""
    while True:
        place = chair.seat.conversation
        words, cursor = await _shown_of(house, chair, place, sections)
        if chair.seat.conversation == place:
            return words, cursor
        # It was moved meanwhile: that is the log of a conversation that it does not drive.


async def _shown_of(
    house: House, chair: Chair, place: str | None, sections: tuple[str, ...]
) -> tuple[str, int | None]:
    if place is None:
        # It reads no log that it does not drive, wherever it was opened for.
        of_itself = tuple(one for one in sections if one not in _OF_A_PLACE)
        words = await selfstate.prompt(house, chair.seat.granted, of_itself)
        return f"{words}\n{_NOWHERE}\n".lstrip(), None
    # Read before the words are: what comes between stands in both, and nothing is skipped.
    here = await house.store.conversations.get(place)
    words = await selfstate.prompt(house, place, sections)
    return words, here.cursor if "conversation" in sections else None


async def confirm(house: House, seat: str, projection_id: str) -> None:
    """The hook wrote it out: the harness has the log up to there.

    Raises:
        EventNotFoundError: nobody waits for this; the context will be told again.
    """
    chair = house.desk.chair(seat)
    # Nobody moves it meanwhile: what it was shown says nothing of any other log.
    async with fenced(house.desk, chair.seat.conversation):
        found = chair.projections.get(projection_id)
        if found is None:
            raise EventNotFoundError(projection_id)
        session, cursor = found
        if cursor is not None:
            await house.store.seats.projected(seat, session, cursor)
            chair.projections[projection_id] = (session, None)
            # A span that this covers is told already.
            chair.look()


async def _continued(house: House, chair: Chair, session_id: str, source: str) -> None:
    seat = chair.seat
    native = seat.occupant.native
    verdict = continues(
        source,
        same_process=_same_process(house, chair),
        same_session=session_id == native.session_id,
    )
    match verdict:
        case Continuity.KEEP:
            return
        case Continuity.ADOPT:
            await adopt(house, chair, session_id)
        case Continuity.UNBIND:
            journal.warn("session is not the seat's own", seat=seat.id, source=source)
            if seat.conversation is not None:
                await let_go(house, chair, "session_changed", None)
            raise OccupantChangedError(seat.id)


async def adopt(house: House, chair: Chair, session_id: str) -> None:
    """The same process goes on with another session of its own."""
    occupant = chair.seat.occupant
    after = replace(occupant, native=replace(occupant.native, session_id=session_id))
    async with handover(house, chair.seat.id, chair.seat.conversation):
        await house.store.seats.occupied(chair.seat.id, after)


def _same_process(house: House, chair: Chair) -> bool:
    """Whether the process that was registered still runs, as far as this machine can tell.

    Where nothing can be proven, the token of the seat is all there is.
    """
    native = chair.seat.occupant.native
    if not native.process_started_at:
        return True
    return house.processes.started_at(native.pid) == native.process_started_at
