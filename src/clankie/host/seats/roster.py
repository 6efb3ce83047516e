"""Who sits where, for people: the roster of seats, and who drives a conversation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from clankie.core import binding
from clankie.core.conversation import DriverView, Principal
from clankie.core.driver import Presence
from clankie.core.errors import NotAllowedError
from clankie.host.seats.attachment import handover
from clankie.host.seats.keeping import gone
from clankie.host.waiting import to_the_end

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from clankie.core.conversation import Author
    from clankie.host.house import House
    from clankie.host.seats.chair import Chair, Now
    from clankie.host.seatstore import Seat

UNATTACHED: Final = "unattached"
ENDED: Final = "ended"
PARKED: Final = "parked"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatView:
    """A row of the roster. `state`: live, holding, absent, parked, unattached or ended.

    `since`: when it was attached. `waiting` and `in_flight` count events.
    """

    seat: Seat
    state: str
    since: datetime | None
    last_ask: datetime | None
    hold_until: datetime | None
    grace_until: datetime | None
    waiting: int
    in_flight: int

    @property
    def proven(self) -> bool:
        """Whether this machine vouches for its process."""
        return bool(self.seat.occupant.native.process_started_at)


@dataclass(frozen=True, slots=True)
class _Times:
    last_ask: datetime | None
    hold_until: datetime | None
    grace_until: datetime | None


async def listed(house: House) -> Sequence[SeatView]:
    """All seats that were not retired, in order of registration."""
    views: list[SeatView] = []
    for chair in list(house.desk.all()):
        counts = await house.store.mail.counts(chair.seat.id)
        now = house.desk.now()
        times = _times(house, chair, now)
        views.append(
            SeatView(
                seat=chair.seat,
                state=state_of(house, chair, now),
                since=chair.seat.attached_at,
                last_ask=times.last_ask,
                hold_until=times.hold_until,
                grace_until=times.grace_until,
                waiting=counts.waiting,
                in_flight=counts.in_flight,
            )
        )
    return views


def driver(house: House, conversation: str) -> DriverView | None:
    """The seat that drives there now; None while the service lane does."""
    chair = house.desk.at(conversation)
    if chair is None or chair.seat.attached_at is None:
        return None
    now = house.desk.now()
    view = DriverView(
        seat=chair.seat.id,
        harness=chair.seat.harness,
        state=state_of(house, chair, now),
        since=chair.seat.attached_at,
        **_shown(_times(house, chair, now)),
    )
    return view if view.listens else None


def counted(house: House) -> dict[str, int]:
    """How many there are, how many are waited for, how many take nothing now."""
    now = house.desk.now()
    states = [state_of(house, chair, now) for chair in house.desk.all()]
    listening = {Presence.LIVE.value, Presence.HOLDING.value}
    return {
        "open": len(states),
        "live": sum(one in listening for one in states),
        "parked": states.count(PARKED),
    }


async def retire(house: House, seat: str, by: Author) -> None:
    """Detach it and revoke its token: it opens nothing any more.

    Raises:
        NotAllowedError: only the owner may.
        SeatNotFoundError.
    """
    if by.principal is not Principal.OPERATOR:
        raise NotAllowedError("Only the owner retires a seat.")
    chair = house.desk.chair(seat)
    await to_the_end(_retire(house, chair, by))


async def _retire(house: House, chair: Chair, by: Author) -> None:
    seat = chair.seat
    async with handover(house, seat.id, seat.conversation):
        await house.store.seats.retire(seat.id, "retired", by)
        house.tokens.drop(seat.token)


def state_of(house: House, chair: Chair, now: Now) -> str:
    """How it stands, in one word."""
    if chair.seat.conversation is None:
        return ENDED if gone(house, chair) else UNATTACHED
    if chair.parked(now.wall):
        return PARKED
    return chair.presence(house.desk.limits, now).value


def _times(house: House, chair: Chair, now: Now) -> _Times:
    """The moments on the wall at which its clocks run out; those that do not run are None."""
    asking, limits = chair.asking, house.desk.limits
    last = now.mono if asking.ask is not None else asking.last_ask
    ends = (
        binding.hold_ends(asking, chair.policy, limits) if chair.policy.holds else None,
        binding.grace_ends(asking, limits),
    )
    running = chair.presence(limits, now) is not Presence.ABSENT
    hold, grace = (one if running and one is not None and one > now.mono else None for one in ends)
    return _Times(_wall(now, last), _wall(now, hold), _wall(now, grace))


def _wall(now: Now, at: float | None) -> datetime | None:
    if at is None:
        return None
    moment = now.wall + timedelta(seconds=at - now.mono)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def _shown(times: _Times) -> dict[str, datetime | None]:
    return {
        "last_ask": times.last_ask,
        "hold_until": times.hold_until,
        "grace_until": times.grace_until,
    }
