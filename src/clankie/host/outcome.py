"""How a turn ended, and getting that on disk whatever happens meanwhile."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from clankie.core.admission import Origin
from clankie.core.delivery import ServiceState
from clankie.core.errors import ClankieError
from clankie.core.wake import STALLED, STOPPED, Again, Failure, after_failure
from clankie.host import journal
from clankie.host.persist import stored
from clankie.host.ports import LaneError, LaneResult
from clankie.host.reach import TurnOverError
from clankie.host.storage import Outcome
from clankie.host.waiting import Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from clankie.core.wake import Hold
    from clankie.host.house import House
    from clankie.host.storage import Reservation
    from clankie.host.turn import Turn


class Cut(StrEnum):
    """Why a run was ended from outside. The value is the code on the receipt."""

    OWNER = "operator_interrupt"
    STOPPED = STOPPED
    STALLED = STALLED


def ended(
    house: House, turn: Turn, result: Value[LaneResult] | Exception | None, cut: Cut | None
) -> Outcome:
    """The outcome of a lane's result; None when it was cut off before it had one."""
    if isinstance(result, Value):
        return _answered(house, turn, result.value)
    if isinstance(result, LaneError):
        return failed(house, turn, result)
    if isinstance(result, ClankieError):
        # The store did not serve it; what the lane had written so far is in its drafts.
        return failed(house, turn, LaneError(result.code, result.detail))
    if result is not None and not isinstance(result, TurnOverError):
        journal.defect("lane failed", result, delivery=turn.delivery.id)
        detail = f"The service lane failed in a way it should not ({type(result).__name__})."
        return failed(house, turn, LaneError("internal_error", detail))
    return _cut_off(house, turn, cut)


def _answered(house: House, turn: Turn, answer: LaneResult) -> Outcome:
    if not answer.text.strip() and turn.delivery.origin is Origin.OWNER:
        detail = "The model ended its turn without a word. Send the message again."
        return failed(house, turn, LaneError("answer_empty", detail, usage=answer.usage))
    return Outcome(state=ServiceState.COMPLETED, text=answer.text, usage=answer.usage)


def _cut_off(house: House, turn: Turn, cut: Cut | None) -> Outcome:
    match cut:
        case Cut.OWNER:
            return Outcome(
                state=ServiceState.CANCELLED,
                text=turn.partial,
                code=cut,
                detail="It was cancelled while it ran.",
                usage=turn.usage,
            )
        case Cut.STALLED:
            minutes = house.settings.watchdog.idle / 60
            detail = (
                f"There was no sign of life for {minutes:g} minutes (phase {turn.marks.phase}). "
                "What it did before is not known in full."
            )
            journal.warn(
                STALLED,
                conversation=turn.delivery.conversation,
                run=turn.reservation.attempt,
                phase=turn.marks.phase,
            )
            return failed(house, turn, LaneError(cut, detail), ServiceState.STALLED)
        case Cut.STOPPED | None:
            detail = "The service was stopped while it ran."
            return failed(house, turn, LaneError(Cut.STOPPED, detail))


def failed(
    house: House, turn: Turn, error: LaneError, state: ServiceState = ServiceState.FAILED
) -> Outcome:
    """A known failure. A wake may be tried again or held."""
    return Outcome(
        state=state,
        text=error.partial or turn.partial,
        code=error.code,
        detail=error.detail,
        usage=error.usage or turn.usage,
        wake=_next(house, turn, error.code),
    )


def _next(house: House, turn: Turn, code: str) -> Again | Hold | None:
    if not turn.delivery.origin.retries:
        return None
    failure = Failure(
        code=code,
        settled_at=house.clock.now(),
        attempts=turn.delivery.tries,
        tool_started=turn.tool_started,
        effect_started=turn.effect_started,
    )
    return after_failure(failure, house.settings.wakes)


async def persisted(house: House, reservation: Reservation, outcome: Outcome) -> None:
    """Store how a started turn ended."""
    deliveries, present = house.store.deliveries, _present(house, outcome)
    await stored(
        house.clock, reservation.delivery.id, lambda: deliveries.settle(reservation, present())
    )
    _tell(house, outcome)


async def given_back(house: House, reservation: Reservation, why: str) -> None:
    """The attempt was never started; its input waits again."""
    deliveries = house.store.deliveries
    await stored(house.clock, reservation.delivery.id, lambda: deliveries.release(reservation, why))


async def refused(house: House, turn: Turn, code: str, detail: str) -> None:
    """Preparation did not succeed: the input fails, and no model was asked."""
    state = ServiceState.STALLED if code == STALLED else ServiceState.FAILED
    outcome = failed(house, turn, LaneError(code, detail), state)
    deliveries, present = house.store.deliveries, _present(house, outcome)
    await stored(
        house.clock, turn.delivery.id, lambda: deliveries.refuse(turn.reservation, present())
    )
    _tell(house, outcome)


def _present(house: House, outcome: Outcome) -> Callable[[], Outcome]:
    """The outcome as of now: a failed wake waits from the moment at which its failure is stored."""
    made, wake = house.clock.now(), outcome.wake
    if not isinstance(wake, Again):
        return lambda: outcome
    return lambda: replace(outcome, wake=Again(wake.at + (house.clock.now() - made)))


def _tell(house: House, outcome: Outcome) -> None:
    """A wake that is tried again has a new time to be waited for."""
    if outcome.wake is not None:
        house.captain.wakes_changed()
