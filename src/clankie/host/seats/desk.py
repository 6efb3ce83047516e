"""All seats in memory: who is there, which polls wait, and when somebody has to look again.

Rule 1: what a seat may have seen is the store's to know. Here is only what a restart may forget.
Rule 2: who chooses a destination and who hands a conversation over do so one after the other.
Rule 3: holds, graces and deadlines run on the monotonic clock. Stored times of the wall count once,
        at the start of the service.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakValueDictionary

from clankie.core import binding
from clankie.core.binding import Phase
from clankie.core.delivery import SeatState
from clankie.core.driver import Presence
from clankie.core.mailbox import Policy, deadline, policy_of
from clankie.core.seat import Activity
from clankie.core.seat_errors import SeatNotFoundError
from clankie.host.seats.alarms import Alarms
from clankie.host.seats.chair import Chair, Now

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator

    from clankie.core.conversation import Conversation
    from clankie.core.driver import Standing
    from clankie.core.settings import SeatLimits
    from clankie.host.ports import Clock
    from clankie.host.seats.approvals import Approval
    from clankie.host.seatstore import Seat

HAS_IT: Final = frozenset({SeatState.TAKEN, SeatState.ACCEPTED})

LOOK_AGAIN: Final = 60.0
"""Seconds after which a parked seat is looked at in any case: the wall clock may have been set."""


@dataclass(frozen=True, slots=True)
class AtChair:
    """The alarm of a seat: something about it changes by time alone.

    No tuple, as the next one is none: two of them with the same seat would be the same name.
    """

    seat: str


@dataclass(frozen=True, slots=True)
class PollEnds:
    """The alarm of a poll that has waited as long as it was asked to."""

    seat: str


class Overdue(NamedTuple):
    """The alarm of an event that a seat may have seen: its acknowledgement, or its answer."""

    seat: str
    event: str
    attempt: int


class Given(NamedTuple):
    """What a seat may have seen: how far it came, and since when, on the monotonic clock."""

    state: SeatState
    since: float


@dataclass(frozen=True, slots=True)
class Sweep:
    """The alarm at which seats that ended long ago are retired."""


@dataclass(frozen=True, slots=True)
class Uncounted:
    """The alarm of a seat that may have been given something that nobody was told of."""

    seat: str


Alarm = AtChair | PollEnds | Overdue | Sweep | Uncounted
"""Everything that is looked at again by the passing of time."""


class Desk:
    """Implements the port Seats. Everything here happens on the event loop, between two awaits."""

    def __init__(self, clock: Clock, limits: Callable[[], SeatLimits]) -> None:
        self._clock, self._limits = clock, limits
        self._chairs: dict[str, Chair] = {}
        self._places: dict[str, str] = {}
        self.alarms = Alarms[Alarm]()
        self.given: dict[Overdue, Given] = {}
        self.questions: dict[str, Approval] = {}
        self.watched = asyncio.Event()
        self.fences: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def now(self) -> Now:
        """This moment."""
        return Now(self._clock.now(), self._clock.monotonic())

    @property
    def limits(self) -> SeatLimits:
        """The settings as they stand."""
        return self._limits()

    def standing(self, conversation: str) -> Standing | None:
        """The seat attached there as it stands now; None when there is none."""
        chair = self.at(conversation)
        return None if chair is None else chair.standing(self.limits, self.now())

    def at(self, conversation: str) -> Chair | None:
        """The seat attached there."""
        name = self._places.get(conversation)
        return None if name is None else self._chairs[name]

    def chair(self, seat: str) -> Chair:
        """A seat. Raises SeatNotFoundError."""
        found = self._chairs.get(seat)
        if found is None:
            raise SeatNotFoundError(seat)
        return found

    def all(self) -> Iterator[Chair]:
        """Every seat, in order of registration."""
        return iter(self._chairs.values())

    def put(self, seat: Seat, place: Conversation | None) -> Chair:
        """Know a seat as the store has it now; `place` is the conversation it is attached to."""
        chair = self._chairs.setdefault(seat.id, Chair(seat))
        before = chair.seat
        if before.conversation not in {None, seat.conversation}:
            self._leave(chair)
            # What a session was shown of the log that it left says nothing of another one.
            chair.projections.clear()
        if before.conversation is not None and seat.conversation is None:
            self._let_go(chair)
        chair.seat = seat
        chair.policy = Policy.LEAD if place is None else policy_of(place.id, place.kind)
        self._mark_parking(chair)
        if seat.activity is not Activity.RESPONDING:
            chair.alive = None
        elif chair.alive is None or seat.activity_at != before.activity_at:
            chair.alive = self.now().mono
        if seat.conversation is not None:
            self._places[seat.conversation] = seat.id
        self.reschedule(chair)
        chair.look()
        return chair

    def drop(self, seat: str) -> None:
        """It was retired."""
        chair = self._chairs.pop(seat, None)
        if chair is None:
            return
        self._leave(chair)
        self._let_go(chair)
        self.alarms.put(AtChair(seat), None)
        self.questions = {name: one for name, one in self.questions.items() if one.seat != seat}

    def ask(self, chair: Chair, ask: str, bridge: str, wait: float) -> bool:
        """A poll begins; whether it binds a seat that was not bound before."""
        now = self.now()
        chair.asking = binding.at(chair.asking, self.limits, now.mono)
        fresh = chair.asking.phase in {Phase.NEVER, Phase.UNBOUND}
        chair.asking = binding.asked(chair.asking, ask=ask, binding=bridge, wait=wait)
        if wait <= 0:
            return False
        chair.settled, chair.queue = False, True
        chair.look()
        self.alarms.put(PollEnds(chair.seat.id), now.mono + wait)
        self.reschedule(chair)
        return fresh

    def ended(self, chair: Chair, ask: str, *, completed: bool) -> None:
        """A poll returns its page, or whoever waited for it is gone."""
        after = binding.completed if completed else binding.aborted
        chair.asking = after(chair.asking, ask=ask, now=self.now().mono)
        self.reschedule(chair)

    def reschedule(self, chair: Chair) -> None:
        """Set its alarm to the next moment at which time alone changes something."""
        now, seat = self.now(), chair.seat
        moments = [chair.next_change(self.limits, now)]
        if self._due(chair, now):
            moments.append(now.mono)
        if seat.parked_until is not None:
            left = (seat.parked_until - now.wall).total_seconds()
            moments.append(now.mono + min(max(left, 0.0), LOOK_AGAIN))
        soonest = min((one for one in moments if one is not None), default=None)
        self.alarms.put(AtChair(seat.id), soonest)

    def _due(self, chair: Chair, now: Now) -> bool:
        """Whether its silence has something to do that was not done yet."""
        ends = binding.queue_ends(chair.asking, self.limits, parked_at=chair.parked_at)
        if chair.queue and ends is not None and ends <= now.mono:
            return True
        if chair.settled or chair.seat.conversation is None:
            return False
        return chair.presence(self.limits, now) is Presence.ABSENT

    def _leave(self, chair: Chair) -> None:
        place = chair.seat.conversation
        if place is not None and self._places.get(place) == chair.seat.id:
            del self._places[place]

    def _let_go(self, chair: Chair) -> None:
        chair.asking = binding.detached(chair.asking)
        chair.look()

    def _mark_parking(self, chair: Chair) -> None:
        now = self.now()
        if not chair.parked(now.wall):
            chair.parked_at = chair.limited_at = None
        elif chair.parked_at is None:
            chair.parked_at, chair.settled, chair.queue = now.mono, False, True
            chair.limited_at = chair.limited_at or now.wall


@asynccontextmanager
async def fenced(desk: Desk, *conversations: str | None) -> AsyncGenerator[None]:
    """While this holds, nobody else chooses a driver there or attaches one."""
    async with AsyncExitStack() as stack:
        for name in sorted({one for one in conversations if one is not None}):
            lock = desk.fences.setdefault(name, asyncio.Lock())
            await stack.enter_async_context(lock)
        yield


def came_to(desk: Desk, key: Overdue, state: SeatState, since: float) -> None:
    """An event that a seat may have seen is in this state since then: its deadline runs or ends."""
    known = desk.given.get(key)
    if known is not None and state in HAS_IT and known.state in HAS_IT:
        # Said again, or shown as well: the answer is waited for from the first time.
        return
    if lapses_at(desk, key, Given(state, since)) is None:
        desk.given.pop(key, None)
    else:
        desk.given[key] = Given(state, since)
    desk.alarms.put(key, lapses_at(desk, key, Given(state, since)))


def lapses_at(desk: Desk, key: Overdue, it: Given) -> float | None:
    """When it lapses, as things stand; a native turn that shows signs of life is not cut short."""
    try:
        alive = desk.chair(key.seat).alive
    except SeatNotFoundError:
        alive = None
    due = deadline(
        it.state,
        desk.limits,
        attempted_at=it.since,
        acknowledged_at=it.since,
        alive_at=alive,
    )
    return None if due is None else due.at


def queued(desk: Desk, occupant: str) -> None:
    """The owner queued something behind the turn of this occupant."""
    for chair in desk.all():
        if chair.seat.occupant.id == occupant:
            chair.queue = True
            desk.reschedule(chair)


def stored_at(desk: Desk, seat: str, *, room: bool) -> None:
    """Something was stored at this seat for its next poll."""
    with suppress(SeatNotFoundError):
        chair = desk.chair(seat)
        chair.rooms = chair.rooms or room
        chair.look()


def look_everywhere(desk: Desk) -> None:
    """Let every poll look once more, and whoever tends the alarms: the service goes down."""
    for chair in desk.all():
        chair.look()
    desk.alarms.changed.set()
    desk.watched.set()


def look_at(desk: Desk, conversation: str) -> None:
    """Something changed in this conversation: let its seat's poll look."""
    chair = desk.at(conversation)
    if chair is not None:
        chair.look()


def asks_at(desk: Desk, conversation: str) -> bool:
    """Whether a poll waits there that looks at once at what came; not where rooms are checked."""
    chair = desk.at(conversation)
    if chair is None or chair.asking.ask is None or chair.policy is Policy.ROOM or chair.rooms:
        return False
    chair.look()
    return True
