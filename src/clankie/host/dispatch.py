"""From a waiting input to its stored outcome.

reserve (selects the driver) ─ checks ─ start (committed) ─ lane ─ settle (committed, shielded)

Before `start` is on disk no model has been asked, so whatever goes wrong gives the input back or
fails it as never sent. After it, only a stored outcome or `uncertain` is left.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, assert_never

from clankie.core import driver
from clankie.core.admission import Origin
from clankie.core.delivery import SeatState, ServiceState
from clankie.core.driver import Addressed, Refuse, ToSeat, ToService, Wait
from clankie.core.errors import (
    CommitUnknownError,
    RefusedError,
    StorageUnavailableError,
)
from clankie.core.wake import EXHAUSTED, STALLED
from clankie.core.watchdog import Phase, deadline, stalled
from clankie.host import journal, models, spending
from clankie.host.outcome import Cut, ended, given_back, persisted, refused
from clankie.host.persist import stored
from clankie.host.ports import LaneResult, TurnRequest
from clankie.host.storage import FencedError, Outcome
from clankie.host.waiting import Value, event_within, finished_within, to_the_end

if TYPE_CHECKING:
    from clankie.core.receipt import Delivery
    from clankie.core.settings import Settings
    from clankie.host.house import House
    from clankie.host.turn import Turn

CANCEL_GRACE: Final = 10.0
"""Seconds a cancelled lane has to end before its outcome is written without it."""


class Step(Enum):
    """What became of one reservation."""

    DONE = auto()
    ELSEWHERE = auto()  # its driver is not the service lane; it waits
    FENCED = auto()  # another node has the conversation now


@dataclass(slots=True)
class Running:
    """A turn, and the task that runs its lane once it was started."""

    turn: Turn
    lane: asyncio.Task[Value[LaneResult] | Exception] | None = None
    cut: Cut | None = None
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    def cancel(self, cut: Cut) -> None:
        """Ask it to end; the outcome will say truthfully what came of that."""
        self.cut = self.cut or cut
        self.cancelled.set()
        if self.lane is not None:
            self.lane.cancel()


async def run(house: House, running: Running) -> Step:
    """Take one reservation to its end."""
    turn = running.turn
    try:
        return await _taken(house, running)
    except FencedError:
        delivery = turn.delivery
        journal.warn("turn fenced", conversation=delivery.conversation, delivery=delivery.id)
        return Step.FENCED
    finally:
        # Only now, so that the answer's event stands on screens before its draft goes.
        turn.close()
        house.feed.draft_end(turn.delivery.conversation, turn.reservation.attempt)


async def _taken(house: House, running: Running) -> Step:
    try:
        destination = await _destination(house, running)
        return await _sent(house, running, destination)
    except FencedError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the input must not be left lying
        await _broken(house, running.turn, error)
        return Step.DONE


async def _sent(house: House, running: Running, destination: driver.Destination) -> Step:
    turn = running.turn
    if running.cut is not None:
        await _never_started(house, running.cut, turn)
        return Step.DONE
    match destination:
        case ToService():
            await _on_service(house, running)
            return Step.DONE
        case Wait(reason=reason):
            await given_back(house, turn.reservation, reason)
            return Step.ELSEWHERE
        case ToSeat():
            await given_back(house, turn.reservation, "for_the_seat")
            return Step.ELSEWHERE
        case Refuse(code=code):
            await refused(house, turn, code, _why_refused(house, code))
            return Step.DONE
        case _:
            assert_never(destination)


async def _broken(house: House, turn: Turn, error: Exception) -> None:
    """A defect on the way. Of the two writes the one that fits what is on disk takes effect."""
    journal.defect("turn broken", error, delivery=turn.delivery.id)
    turn.close()
    house.lane.evict(turn.delivery.conversation)
    outcome = ended(house, turn, error, None)
    await refused(house, turn, outcome.code or "", outcome.detail or "")
    await persisted(house, turn.reservation, outcome)


def _why_refused(house: House, code: str) -> str:
    if code == STALLED:
        minutes = house.settings.watchdog.check / 60
        return (
            f"A check gave no answer for {minutes:g} minutes (phase {Phase.CHECKS}). "
            "Nothing was sent to a model."
        )
    return "No driver may run this as things stand."


async def _destination(house: House, running: Running) -> driver.Destination:
    """Check what must still hold, then whether the service lane may have it at this moment.

    What it has reserved stays with it, though a seat came meanwhile: that one waits.
    """
    delivery = running.turn.delivery
    if delivery.origin is Origin.ROOM:
        verdict = await _checked(house, running)
        if verdict is not None:
            return verdict
    seat = house.seats.standing(delivery.conversation)
    addressed = Addressed(
        origin=delivery.origin,
        reach=delivery.reach,
        occupant=delivery.occupant,
        refused=seat is not None and _refused_by(delivery, seat.occupant),
    )
    chosen = driver.select(addressed, seat)
    theirs = driver.never_on_service(addressed) or (seat is not None and seat.remote)
    return ToService() if isinstance(chosen, ToSeat) and not theirs else chosen


def _refused_by(delivery: Delivery, occupant: str) -> bool:
    return any(
        one.state is SeatState.REFUSED and one.occupant == occupant for one in delivery.attempts
    )


async def _checked(house: House, running: Running) -> Refuse | None:
    delivery, limit = running.turn.delivery, house.settings.watchdog.check
    # Beside everything else: a check that does not even heed its cancelling holds nobody up.
    check = house.captain.spawn(house.rooms.check(delivery))
    try:
        if not await finished_within(house.clock, check, limit, running.cancelled):
            journal.warn("check ended", delivery=delivery.id, cut=running.cut, phase=Phase.CHECKS)
            return Refuse(STALLED)
    finally:
        check.cancel()
    result = check.result()
    if isinstance(result, RefusedError):
        return Refuse(result.code)
    if isinstance(result, Exception):
        raise result
    return None


async def _on_service(house: House, running: Running) -> None:
    turn = running.turn
    turn.enter(Phase.PREPARATION)
    if not await spending.may_run(house, turn.delivery.conversation, turn.delivery.origin):
        await refused(house, turn, EXHAUSTED, "The daily budget of tokens is spent.")
        return
    settings = models.answering(house, turn.reservation.model)
    try:
        await models.announce(house, settings)
        await _started(house, turn)
    except StorageUnavailableError as error:
        # It is not on disk, so the model must not be asked.
        await refused(house, turn, error.code, error.detail)
        return
    turn.enter(Phase.EXECUTION)
    here = {"conversation": turn.delivery.conversation, "delivery": turn.delivery.id}
    journal.note("turn started", **here)
    outcome = await _executed(house, running, settings)
    turn.close()
    spending.count(house, outcome.usage)
    if outcome.state is not ServiceState.COMPLETED:
        house.lane.evict(turn.delivery.conversation)
    await persisted(house, turn.reservation, outcome)
    journal.note("turn ended", state=outcome.state, code=outcome.code, **here)


async def _started(house: House, turn: Turn) -> None:
    """Commit the start. Raises StorageUnavailableError: it is not on disk."""
    deliveries = house.store.deliveries
    try:
        await to_the_end(deliveries.start(turn.reservation))
    except CommitUnknownError:
        # Only the same start again can tell whether it is on disk.
        await stored(house.clock, turn.delivery.id, lambda: deliveries.start(turn.reservation))


async def _never_started(house: House, cut: Cut, turn: Turn) -> None:
    await given_back(house, turn.reservation, cut)
    if cut is Cut.OWNER:
        waiting = house.store.deliveries.cancel_waiting
        await stored(house.clock, turn.delivery.id, lambda: waiting(turn.delivery.id))


async def _executed(house: House, running: Running, settings: Settings) -> Outcome:
    """Run the lane under the watchdog; every way it can end becomes an outcome."""
    turn = running.turn
    request = TurnRequest(
        conversation=turn.delivery.conversation,
        delivery=turn.delivery,
        attempt=turn.reservation.attempt,
        settings=settings,
    )
    lane = running.lane = house.captain.spawn(house.lane.run(request, turn))
    if running.cut is not None:
        lane.cancel()
    watch = house.captain.spawn(_watch(house, running))
    try:
        await asyncio.wait({lane, watch}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        watch.cancel()
        lane.cancel()
    if lane.done():
        return ended(house, turn, None if lane.cancelled() else lane.result(), running.cut)
    # It does not end although it was cancelled. It is cut off: whatever it still does is refused.
    return ended(house, turn, None, running.cut)


async def _watch(house: House, running: Running) -> None:
    """Return when the run has to be given up: it fell silent, or does not heed its cancellation."""
    idle = house.settings.watchdog.idle
    while not running.cancelled.is_set():
        marks, now = running.turn.marks, house.clock.monotonic()
        if stalled(marks, idle, now):
            running.cut = Cut.STALLED
            return
        limit = deadline(marks, idle)
        await event_within(house.clock, running.cancelled, idle if limit is None else limit - now)
    await house.clock.sleep(CANCEL_GRACE)
