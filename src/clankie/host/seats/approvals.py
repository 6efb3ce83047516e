"""Questions of a harness that its owner answers. They are asked again after a restart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from clankie.core import binding as law
from clankie.core.errors import BackpressureError, InvalidFieldError, TransitionRefusedError
from clankie.core.seat_errors import ApprovalNotFoundError
from clankie.host.seats.keeping import gone
from clankie.host.seats.news import driver_changed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from clankie.host.house import House

PENDING: Final = "pending"
WITHDRAWN: Final = "withdrawn"
"""Answered at the harness itself, or its turn is over."""
ANSWERS: Final = {"approve": "approved", "deny": "denied"}
"""The owner's words, and what a question then is."""

OPEN_LIMIT: Final = 64
"""Questions of one seat that may wait."""
KEPT: Final = 256
"""Closed ones that are remembered, so that a question asked twice is not shown twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A question. `state`: pending, approved, denied or withdrawn. `detail` is untrusted."""

    id: str
    seat: str
    conversation: str | None
    summary: str
    detail: str
    event: str | None
    state: str
    created_at: datetime


async def post(
    house: House,
    seat: str,
    *,
    id: str,  # noqa: A002 - its name on the wire
    summary: str,
    detail: str = "",
    event: str | None = None,
) -> Approval:
    """Ask, once for the id; the question as it stands.

    Raises:
        SeatNotFoundError.
        InvalidFieldError: another seat has a question of this id.
        BackpressureError: too many of this seat wait.
    """
    chair, questions = house.desk.chair(seat), house.desk.questions
    known = questions.get(id)
    if known is not None:
        if known.seat != seat:
            raise InvalidFieldError("id", "one that no other seat uses")
        if known.state != WITHDRAWN:
            return known
    if sum(one.seat == seat and one.state == PENDING for one in questions.values()) >= OPEN_LIMIT:
        raise BackpressureError
    asked = Approval(
        id=id,
        seat=seat,
        conversation=chair.seat.conversation,
        summary=summary,
        detail=detail,
        event=event,
        state=PENDING,
        created_at=house.clock.now(),
    )
    questions[id] = asked
    _forget(questions)
    if asked.conversation is not None:
        driver_changed(house, asked.conversation)
    return asked


async def withdraw(house: House, seat: str, approval: str) -> None:
    """The harness no longer waits for an answer. One that nobody asked, or answered, is fine.

    Raises SeatNotFoundError.
    """
    house.desk.chair(seat)
    asked = house.desk.questions.get(approval)
    if asked is None or asked.seat != seat or asked.state != PENDING:
        return
    house.desk.questions[approval] = replace(asked, state=WITHDRAWN)
    if asked.conversation is not None:
        driver_changed(house, asked.conversation)


async def listed(house: House) -> Sequence[Approval]:
    """All that are remembered, in the order in which they were asked.

    What a harness asked that has provably ended is withdrawn.
    """
    for one in list(house.desk.questions.values()):
        if one.state == PENDING and gone(house, house.desk.chair(one.seat)):
            house.desk.questions[one.id] = replace(one, state=WITHDRAWN)
    return list(house.desk.questions.values())


def unwatched(house: House, asked: Approval) -> bool:
    """Whether nobody listens at its seat: then it may have been answered at the harness."""
    if asked.state != PENDING:
        return False
    chair = house.desk.chair(asked.seat)
    return law.bound(chair.asking, house.desk.limits, house.clock.monotonic()) is None


async def decide(house: House, approval: str, decision: str, expected_state: str) -> Approval:
    """The owner's answer, once; it goes out with the seat's next page.

    Raises:
        ApprovalNotFoundError.
        InvalidFieldError: neither approve nor deny.
        TransitionRefusedError: it is not in the state that the owner saw.
    """
    await listed(house)
    questions = house.desk.questions
    asked = questions.get(approval)
    if asked is None:
        raise ApprovalNotFoundError(approval)
    if decision not in ANSWERS:
        raise InvalidFieldError("decision", " or ".join(ANSWERS))
    if asked.state != expected_state or asked.state != PENDING:
        raise TransitionRefusedError(f"The question {approval!r}", asked.state, ANSWERS[decision])
    questions[approval] = answered = replace(asked, state=ANSWERS[decision])
    chair = house.desk.chair(asked.seat)
    chair.decisions.append((approval, decision))
    chair.look()
    if answered.conversation is not None:
        driver_changed(house, answered.conversation)
    return answered


def _forget(questions: dict[str, Approval]) -> None:
    answered = [name for name, one in questions.items() if one.state != PENDING]
    for name in answered[:-KEPT]:
        del questions[name]
