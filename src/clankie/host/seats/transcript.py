"""What a harness wrote, taken into the log: each row once, believed only as far as it proves."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from clankie.core.errors import ClankieError, UncertainError
from clankie.core.seat import Activity, EntryKind, Report
from clankie.core.session import parked_until
from clankie.host import journal
from clankie.host.seats.desk import Overdue, Uncounted, came_to
from clankie.host.seats.keeping import ask_to_stop, refresh, unpark
from clankie.host.seats.session import adopt
from clankie.host.waiting import to_the_end

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from clankie.core.seat import Entry, Limited
    from clankie.host.house import House
    from clankie.host.seats.chair import Chair
    from clankie.host.seatstore import Synced

LONGEST: Final = timedelta(days=31)
"""A usage limit is believed for so long at most, whenever the harness says that it ends."""


async def sync(
    house: House,
    seat: str,
    *,
    session_id: str,
    entries: Sequence[Entry],
    activity: Activity | None,
    activity_at: datetime | None = None,
) -> Synced:
    """Take rows of a transcript, and what its session does now; see `core.seat.Report`.

    Raises:
        SessionConflictError: the session belongs to another conversation, or was retired.
        SeatNotFoundError: it was retired, or is attached nowhere.
    """
    chair = house.desk.chair(seat)
    report = None if activity is None else Report(activity, activity_at)
    return await to_the_end(_sync(house, chair, session_id, entries, report))


async def _sync(
    house: House,
    chair: Chair,
    session_id: str,
    entries: Sequence[Entry],
    report: Report | None,
) -> Synced:
    seat, limits = chair.seat, house.desk.limits
    try:
        synced = await house.store.mail.sync(seat.id, session_id, entries, report, limits)
    except UncertainError:
        _forget_session(house, seat.conversation)
        # What its rows proved may be on disk all the same, and then its answer is waited for.
        house.desk.alarms.put(Uncounted(seat.id), house.clock.monotonic())
        raise
    # A seat that was let go may still write where it was given something.
    conversation = synced.conversation or seat.conversation
    if synced.accepted:
        _forget_session(house, conversation)
    try:
        await refresh(house, seat.id)
        if seat.stale and session_id != seat.occupant.native.session_id:
            # The old one was retired by a reset, and the harness went on with this one.
            await adopt(house, chair, session_id)
        _alive(house, chair, session_id, heard=bool(synced.accepted) or report is not None)
        await _deadlines(house, chair, synced)
    except ClankieError:
        # Sent again these rows prove nothing more, but what they proved needs its deadline.
        if synced.proven:
            house.desk.alarms.put(Uncounted(seat.id), house.clock.monotonic())
        raise
    await _limits(house, chair, entries, synced.limited)
    chair.look()
    if conversation is not None:
        house.captain.nudge(conversation)
    return synced


def _forget_session(house: House, conversation: str | None) -> None:
    """A harness drove: the next turn of the service lane starts from the log."""
    if conversation is not None:
        house.lane.evict(conversation)


def _alive(house: House, chair: Chair, session_id: str, *, heard: bool) -> None:
    """Whatever the session that holds the turn writes is a sign of its life."""
    seat = chair.seat
    if heard and seat.activity is Activity.RESPONDING and seat.activity_session == session_id:
        chair.alive = house.clock.monotonic()
    house.desk.reschedule(chair)


async def _deadlines(house: House, chair: Chair, synced: Synced) -> None:
    """What a row proved was taken: from here on its answer is waited for."""
    if not synced.proven and not synced.failed:
        return
    desk, now = house.desk, house.clock.monotonic()
    for one in await house.store.mail.in_flight(chair.seat.id):
        key = Overdue(chair.seat.id, one.event.id, one.event.attempt)
        if one.event.id in synced.proven:
            if key not in desk.given:
                # Nobody knew until now that it has this one.
                ask_to_stop(chair, one)
            came_to(desk, key, one.state, now)


async def _limits(
    house: House, chair: Chair, entries: Sequence[Entry], limited: Limited | None
) -> None:
    """A usage limit parks the seat; a real answer that came after it takes it back at once."""
    seat, now = chair.seat, house.clock.now()
    if limited is not None and not _answered(entries, limited.occurred_at):
        limited = replace(limited, occurred_at=min(limited.occurred_at, now))
        until = min(parked_until(limited, house.desk.limits), now + LONGEST)
        before = seat.parked_until
        if until > now and (before is None or until > before):
            chair.limited_at = limited.occurred_at
            await house.store.seats.park(seat.id, until, limited.window)
            journal.note("seat parked", seat=seat.id, window=limited.window)
            await refresh(house, seat.id)
        return
    if seat.parked_until is None or chair.limited_at is None:
        return
    if _answered(entries, chair.limited_at):
        await unpark(house, chair)


def _answered(entries: Sequence[Entry], after: datetime) -> bool:
    """Whether one of these rows is a real answer that came later."""
    return any(one.kind is EntryKind.ASSISTANT and one.at > after for one in entries)
