"""The poll of a seat: it waits until there is something for it, and counts as asking meanwhile.

Rule 1: a page is on disk as `attempting` before anybody sees it.
Rule 2: a newer poll takes the place of an older one, which returns at once and empty.
Rule 3: a poll that is broken off ends its binding. What it had taken is asked for again by its id.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from clankie.core import binding as law
from clankie.core.admission import Origin
from clankie.core.delivery import SeatState
from clankie.core.errors import ClankieError, RefusedError, ShuttingDownError, UncertainError
from clankie.core.handoff import SOURCE
from clankie.core.seat import EventKind
from clankie.core.wake import SEAT_BINDS, STALLED
from clankie.core.watchdog import Phase
from clankie.host import journal
from clankie.host.seats import content
from clankie.host.seats.chair import Told
from clankie.host.seats.desk import Overdue, Uncounted, came_to
from clankie.host.seats.keeping import ask_to_stop
from clankie.host.seats.news import driver_changed
from clankie.host.seatstore import Ask
from clankie.host.waiting import caught, finished_within, to_the_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.core.driver import Standing
    from clankie.core.receipt import Delivery
    from clankie.core.seat import SeatEvent
    from clankie.host.house import House
    from clankie.host.seats.chair import Chair
    from clankie.host.seatstore import Taken

NOTED: Final = 6
"""An ask is stored at most this often in the time within which a seat is presumed live."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a poll returns.

    `interrupts` name an event and its attempt, `decisions` a question and the owner's answer to it:
    approve or deny. `renew`: the harness's session can write nowhere here; begin another one.
    """

    events: tuple[SeatEvent, ...] = ()
    superseded: bool = False
    interrupts: tuple[tuple[str, int], ...] = ()
    decisions: tuple[tuple[str, str], ...] = ()
    renew: bool = False

    @property
    def empty(self) -> bool:
        """Whether there is nothing in it."""
        return not (self.events or self.interrupts or self.decisions or self.renew)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Poll:
    """One request. `ask` is None for one that does not wait: it binds nobody."""

    ask: str | None
    binding: str
    poll_id: str
    until: float


async def poll(house: House, seat: str, *, binding: str, poll_id: str, wait: float) -> Page:
    """Events for this seat: at once, or within `wait` seconds; the same page for the same poll id.

    Cancelling it says that nobody is there to read the page.

    Raises:
        SeatNotFoundError: it was retired, or never was.
        ShuttingDownError: the service goes down; ask again when it is back.
        FaultError, CommitUnknownError: repeat it with the same poll id.
    """
    if house.stopping:
        raise ShuttingDownError
    desk = house.desk
    chair = desk.chair(seat)
    wait = min(max(wait, 0.0), desk.limits.poll)
    until = house.clock.monotonic() + wait
    if wait <= 0:
        one = _Poll(ask=None, binding=binding, poll_id=poll_id, until=until)
        return await _waited(house, chair, one)
    ask = house.ids.new("ask")
    one = _Poll(ask=ask, binding=binding, poll_id=poll_id, until=until)
    fresh = desk.ask(chair, ask, binding, wait)
    _heard(house, chair, fresh=fresh)
    try:
        await _takes_over(house, chair, binding)
        page = await _waited(house, chair, one)
    except ClankieError:
        # Our fault, not the bridge's: it is there, and asks again.
        _ended(house, chair, ask, completed=True)
        raise
    except BaseException:
        _ended(house, chair, ask, completed=False)
        raise
    _ended(house, chair, ask, completed=True)
    return page


async def _takes_over(house: House, chair: Chair, bridge: str) -> None:
    """Another bridge listens: the one before may have died with a stop that it had just heard."""
    if chair.bridge == bridge:
        return
    if chair.bridge is not None:
        for one in await house.store.mail.in_flight(chair.seat.id):
            ask_to_stop(chair, one)
    chair.bridge = bridge


def _ended(house: House, chair: Chair, ask: str, *, completed: bool) -> None:
    house.desk.ended(chair, ask, completed=completed)
    # Whatever came since its last look found it asking, and relied on it.
    _look_around(house, chair)


def _heard(house: House, chair: Chair, *, fresh: bool) -> None:
    """The seat is there: what waited for a receiver may go to it now."""
    seat, now = chair.seat, house.clock.monotonic()
    if chair.noted is None or now - chair.noted > house.desk.limits.presumed / NOTED:
        chair.noted = now
        _ = house.captain.spawn(house.store.seats.asked(seat.id))
    if seat.conversation is None:
        return
    if fresh:
        driver_changed(house, seat.conversation)
        _ = house.captain.spawn(bound(house, seat.conversation))


def _look_around(house: House, chair: Chair) -> None:
    if chair.seat.conversation is not None:
        house.captain.nudge(chair.seat.conversation)


async def bound(house: House, conversation: str) -> None:
    """A seat binds: wakes that were held may go to it, but for what only the owner repeats."""
    try:
        for reason in SEAT_BINDS:
            await house.store.deliveries.release_held(conversation, reason)
    except ClankieError as error:
        journal.warn("held wakes stay", conversation=conversation, why=error.detail)
    house.captain.nudge(conversation)
    house.captain.wakes_changed()


async def _waited(house: House, chair: Chair, one: _Poll) -> Page:
    while True:
        news = chair.news
        if one.ask is not None and law.superseded(chair.asking, ask=one.ask):
            # Let go, it waits for nothing; another poll took its place, and that one waits.
            return Page(superseded=chair.asking.ask is not None)
        page = await _looked(house, chair, one)
        if not page.empty or house.stopping:
            return page
        # What this seat cannot have is for others.
        _look_around(house, chair)
        if house.clock.monotonic() >= one.until:
            return page
        await news.wait()


async def _looked(house: House, chair: Chair, one: _Poll) -> Page:
    """Whatever there is for it now."""
    events: tuple[SeatEvent, ...] = ()
    now = house.desk.now()
    if _may_take(house, chair, one) and not chair.parked(now.wall):
        cleared = await _cleared(house, chair)
        events = await to_the_end(_taken(house, chair, one, cleared))
    told = _told(house, chair, one)
    page = Page(
        events=events, interrupts=told.interrupts, decisions=told.decisions, renew=told.renew
    )
    if not page.empty:
        chair.told = told
        if told.renew:
            chair.renewed = one.binding, chair.seat.occupant.native.session_id
        chair.interrupts = [each for each in chair.interrupts if each not in told.interrupts]
        chair.decisions = [each for each in chair.decisions if each not in told.decisions]
    return page


def _told(house: House, chair: Chair, one: _Poll) -> Told:
    """What rides beside the events: asked again, a poll has all of it again, and what is new.

    Whoever is not, or no longer, the bridge that listens takes nothing of it away.
    """
    if not _listens(house, chair, one):
        return Told(one.poll_id, (), (), renew=False)
    had = chair.told
    if had is None or had.poll_id != one.poll_id:
        had = Told(one.poll_id, (), (), renew=False)
    return Told(
        one.poll_id,
        (*had.interrupts, *chair.interrupts),
        (*had.decisions, *chair.decisions),
        renew=had.renew or _renews(house, chair, one),
    )


def _renews(house: House, chair: Chair, one: _Poll) -> bool:
    """Whether this bridge is told, once for each session, to let its harness begin another one.

    Not while a turn runs: what it still writes goes where its session belongs.
    """
    seat = chair.seat
    if one.ask is None or not seat.stale or seat.conversation is None:
        return False
    if chair.responding(house.desk.limits, house.clock.monotonic()):
        return False
    return chair.renewed != (one.binding, seat.occupant.native.session_id)


def _may_take(house: House, chair: Chair, one: _Poll) -> bool:
    return chair.seat.conversation is not None and _listens(house, chair, one)


def _listens(house: House, chair: Chair, one: _Poll) -> bool:
    """Whether no other poll took its place; for one that does not wait, whether it is bound."""
    if one.ask is not None:
        return chair.asking.ask in {None, one.ask}
    now = house.clock.monotonic()
    return law.bound(chair.asking, house.desk.limits, now) == one.binding


async def _taken(
    house: House, chair: Chair, one: _Poll, cleared: frozenset[str]
) -> tuple[SeatEvent, ...]:
    """The next page, on disk and with its deadlines running."""
    desk = house.desk
    ask = Ask(
        binding=one.binding,
        poll_id=one.poll_id,
        responding=chair.responding(desk.limits, house.clock.monotonic()),
        cleared=cleared,
        standing=_standing(house, chair, one),
    )
    try:
        taken = await _next(house, chair, ask)
    except UncertainError:
        # It may be on disk all the same, and then its deadlines run.
        desk.alarms.put(Uncounted(chair.seat.id), house.clock.monotonic())
        raise
    if not taken.again:
        await _left(house, chair, taken.events)
    return tuple([_shown(house, chair, each) for each in taken.events])


def _standing(house: House, chair: Chair, one: _Poll) -> Standing | None:
    """How the seat stands, as long as this poll is the one that waits there."""
    if one.ask is None or law.superseded(chair.asking, ask=one.ask):
        return None
    return chair.standing(house.desk.limits, house.desk.now())


async def _next(house: House, chair: Chair, ask: Ask) -> Taken:
    """What the store gives this poll."""
    desk, mail, seat = house.desk, house.store.mail, chair.seat.id
    budget = content.HANDOFF_BUDGET
    taken = await mail.take(seat, ask, limits=desk.limits, budget=budget)
    if taken.events or not chair.unresolved:
        return taken
    # Sealed before a restart, and this poll is not the one that was given it.
    for event, attempt in chair.unresolved:
        state = await mail.lapse(seat, event, attempt)
        came_to(desk, Overdue(seat, event, attempt), state, house.clock.monotonic())
    chair.unresolved.clear()
    return await mail.take(seat, ask, limits=desk.limits, budget=budget)


def _shown(house: House, chair: Chair, event: SeatEvent) -> SeatEvent:
    """With its content; the same event shown again has the same."""
    key = (event.id, event.attempt)
    known = chair.contents.get(key)
    if known is not None:
        return replace(event, content=known)
    shown = content.readable(event, house.ids)
    chair.contents[key] = shown.content
    return shown


async def _left(house: House, chair: Chair, events: Sequence[SeatEvent]) -> None:
    """These may have been seen from now on."""
    desk, now = house.desk, house.clock.monotonic()
    open_ones = {(one.event, one.attempt) for one in desk.given if one.seat == chair.seat.id}
    chair.contents = {key: one for key, one in chair.contents.items() if key in open_ones}
    for event in events:
        # All of them before anything that may fail: without a deadline one would stay so for ever.
        key = Overdue(chair.seat.id, event.id, event.attempt)
        came_to(desk, key, SeatState.ATTEMPTING, now)
    for event in events:
        if event.source != SOURCE and chair.seat.conversation is not None:
            # The harness drives now: what the lane remembers of the log is not all of it.
            house.lane.evict(chair.seat.conversation)
        if event.kind is EventKind.TURN:
            chair.depth = 0
        elif event.kind in {EventKind.WAKE, EventKind.WATCH}:
            chair.depth = (await house.store.deliveries.get(event.id)).depth


async def _cleared(house: House, chair: Chair) -> frozenset[str]:
    """Messages of rooms that wait here and whose authority holds now; the others fail."""
    if not chair.rooms:
        return frozenset()
    # What comes from here on says so itself.
    chair.rooms = False
    try:
        waiting = await house.store.mail.offered(chair.seat.id)
    except BaseException:
        chair.rooms = True
        raise
    cleared: set[str] = set()
    for delivery in waiting:
        if delivery.origin is not Origin.ROOM:
            continue
        chair.rooms = True
        if await _allowed(house, chair, delivery):
            cleared.add(delivery.id)
    return frozenset(cleared)


async def _allowed(house: House, chair: Chair, delivery: Delivery) -> bool:
    check = house.captain.spawn(house.rooms.check(delivery))
    limit, never = house.settings.watchdog.check, asyncio.Event()
    try:
        if not await finished_within(house.clock, check, limit, never):
            detail = f"A check gave no answer for {limit / 60:g} minutes (phase {Phase.CHECKS})."
            await _withdrawn(house, chair, delivery, STALLED, detail)
            return False
    finally:
        check.cancel()
    result = check.result()
    if isinstance(result, RefusedError):
        await _withdrawn(house, chair, delivery, result.code, result.detail)
        return False
    if isinstance(result, Exception):
        journal.defect("check failed", result, delivery=delivery.id)
        detail = f"The check of the room failed ({type(result).__name__})."
        await _withdrawn(house, chair, delivery, "internal_error", detail)
        return False
    return True


async def _withdrawn(
    house: House, chair: Chair, delivery: Delivery, code: str, detail: str
) -> None:
    done = await caught(house.store.mail.withdraw(chair.seat.id, delivery.id, code, detail))
    journal.note("withdrawn from a seat", delivery=delivery.id, code=code, done=str(done))
