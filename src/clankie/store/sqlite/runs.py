"""Runs on the service lane: reserve, start, give back, refuse, join, and the inputs that follow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, assert_never

from clankie.core.admission import Origin
from clankie.core.conversation import SYSTEM, Turn, TurnPhase
from clankie.core.delivery import InputState, ServiceState, consequence
from clankie.core.driver import (
    Fence,
    Refuse,
    Standing,
    ToSeat,
    ToService,
    Wait,
    never_on_service,
    select,
)
from clankie.core.errors import TransitionRefusedError
from clankie.core.wake import Again, Hold
from clankie.host.storage import Offered, Reservation
from clankie.store.sqlite import (
    answers,
    attempts,
    events,
    given,
    handoffs,
    heads,
    inputs,
    offers,
    receipts,
    seats,
    usage,
)
from clankie.store.sqlite.inputs import Input
from clankie.store.sqlite.values import millis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.core.receipt import Delivery
    from clankie.host.storage import Outcome
    from clankie.store.sqlite.attempts import Try
    from clankie.store.sqlite.unit import Transaction

# Steering ones come before the others; the last column says whether this occupant refused it.
_NEXT: Final = f"""
SELECT {inputs.COLUMNS}, {offers.REFUSED} FROM input {offers.WAITING}
ORDER BY mode <> 'steer', message_cursor"""
_STEERING: Final = f"""
SELECT {inputs.COLUMNS} FROM input {offers.WAITING}
  AND (mode <> 'steer') = 0 ORDER BY message_cursor"""


def reserve(
    tx: Transaction,
    conversation: str,
    without: frozenset[str] = frozenset(),
    seat: Standing | None = None,
) -> Reservation | Offered | None:
    """See DeliveryStore.reserve."""
    head = heads.read(tx, conversation)
    if head.waiting == head.held:
        return None
    open_run = attempts.run_in(tx, head)
    if open_run is not None:
        return _again(tx, open_run)
    found = _next(tx, head, without, seat)
    if found is None:
        return None
    one, destination = found
    head, fence = heads.claim(tx, conversation)
    tx.touched.append(conversation)
    if isinstance(destination, ToSeat):
        given.offer(tx, head, fence, one, destination)
        return Offered(receipts.of(tx.run, one), destination.seat)
    attempt = attempts.add(tx, head, one.id, fence)
    return Reservation(receipts.of(tx.run, one), attempt.id, fence, head.model)


def _next(
    tx: Transaction, head: heads.Head, without: frozenset[str], seat: Standing | None
) -> tuple[Input, ToService | ToSeat | Refuse] | None:
    """The first waiting input that has a destination, and which."""
    seat = seats.still(tx, head, seat)
    occupant = None if seat is None else seat.occupant
    for *row, refused in tx.run(_NEXT, (occupant, head.n, tx.at)):
        one = Input(*row)
        if one.id in without:
            continue
        destination = select(replace(one.addressed, refused=bool(refused)), seat)
        if not isinstance(destination, Wait):
            return one, destination
    return None


def offer(
    tx: Transaction, head: heads.Head, fence: Fence, seat: Standing | None, most: int
) -> None:
    """Store at a live seat what waits and may go to it; words of rooms are checked first, later."""
    seat = seats.still(tx, head, seat)
    if seat is None or head.waiting == head.held:
        return
    rows = tx.rows(f"{_NEXT} LIMIT {most}", (seat.occupant, head.n, tx.at))
    for *row, refused in rows:
        one = Input(*row)
        destination = select(replace(one.addressed, refused=bool(refused)), seat)
        if isinstance(destination, ToSeat) and one.origin != Origin.ROOM:
            given.offer(tx, head, fence, one, destination)
            tx.touched.append(head.id)


def _again(tx: Transaction, open_run: Try) -> Reservation | None:
    """This node's own reservation once more, if it was not started: its answer was lost."""
    if open_run.state != ServiceState.RESERVED or open_run.node != tx.node:
        return None
    delivery = receipts.read(tx.run, open_run.delivery)
    return Reservation(delivery, open_run.id, Fence(open_run.node, open_run.token))


def start(tx: Transaction, reservation: Reservation) -> None:
    """See DeliveryStore.start. The same start again changes nothing."""
    delivery = reservation.delivery
    head = heads.take(tx, delivery.conversation, reservation.fence)
    attempt = attempts.read(tx, reservation.attempt)
    if attempt.state == ServiceState.RUNNING:
        return
    attempt.start_cursor = head.cursor + 1  # the turn that says so
    attempts.move(tx, attempt, ServiceState.RUNNING)
    inputs.move(tx, head, inputs.read(tx, delivery.id), InputState.RUNNING)
    turn = Turn(phase=TurnPhase.STARTED, delivery_id=delivery.id)
    head.service_cursor = events.append(tx, head, SYSTEM, turn)
    handoffs.ran(tx, head)
    heads.save(tx, head)


def release(tx: Transaction, reservation: Reservation, code: str) -> None:
    """See DeliveryStore.release. The same release again changes nothing."""
    conversation = reservation.delivery.conversation
    head = heads.take(tx, conversation, reservation.fence)
    attempt = attempts.read(tx, reservation.attempt)
    if attempt.state != ServiceState.RELEASED:
        attempts.move(tx, attempt, ServiceState.RELEASED, code)
        answers.ends_unseated(tx, head, inputs.read(tx, attempt.delivery))
        heads.save(tx, head)
        tx.touched.append(conversation)


def refuse(tx: Transaction, reservation: Reservation, outcome: Outcome) -> None:
    """See DeliveryStore.refuse. The same refusal again changes nothing."""
    head = heads.take(tx, reservation.delivery.conversation, reservation.fence)
    attempt = attempts.read(tx, reservation.attempt)
    if attempt.state == outcome.state:
        return
    if attempt.state != ServiceState.RESERVED:
        raise TransitionRefusedError(f"The attempt {attempt.id!r}", attempt.state, "refused")
    cost = usage.bounded(outcome.usage)
    attempts.move(tx, attempt, outcome.state, outcome.code, cost)
    one = inputs.read(tx, attempt.delivery)
    after = consequence(outcome.state, joined=False, again=outcome.wake is not None)
    if after is InputState.QUEUED and outcome.wake is not None:
        inputs.hold_back(tx, head, one, *waits(outcome.wake))
    else:
        one.code, one.detail = outcome.code, outcome.detail
        inputs.move(tx, head, one, after)
    turn = Turn(
        phase=TurnPhase.FAILED,
        delivery_id=one.id,
        code=outcome.code,
        detail=outcome.detail,
        usage=cost,
    )
    events.append(tx, head, SYSTEM, turn)
    heads.save(tx, head)


def waits(wake: Again | Hold) -> tuple[int | None, str | None]:
    """What keeps a failed wake back: a time, or a reason."""
    match wake:
        case Again(at=at):
            return millis(at), None
        case Hold(reason=reason):
            return None, reason
        case _:
            assert_never(wake)


def join(tx: Transaction, reservation: Reservation) -> Sequence[Delivery]:
    """See DeliveryStore.join."""
    conversation = reservation.delivery.conversation
    head = heads.take(tx, conversation, reservation.fence)
    attempt = attempts.read(tx, reservation.attempt)
    if attempt.state != ServiceState.RUNNING:
        raise TransitionRefusedError(f"The attempt {attempt.id!r}", attempt.state, "joined")
    steering = [Input(*row) for row in tx.rows(_STEERING, (head.n, tx.at))]
    waiting = [one for one in steering if not never_on_service(one.addressed)]
    if not waiting:
        return ()
    for one in waiting:
        attempts.add(tx, head, one.id, reservation.fence, attempt.id)
        inputs.move(tx, head, one, InputState.RUNNING)
        events.append(tx, head, SYSTEM, Turn(phase=TurnPhase.STARTED, delivery_id=one.id))
    heads.save(tx, head)
    return [receipts.of(tx.run, one) for one in waiting]
