"""The end of a run: attempt, members, their inputs, the answer and the turn, all at once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clankie.core.conversation import CAPTAIN, SYSTEM, Message, Role, Turn, TurnPhase
from clankie.core.delivery import InputState, ServiceState, consequence
from clankie.core.errors import TransitionRefusedError
from clankie.core.receipt import explain
from clankie.store.sqlite import (
    attempts,
    calls,
    events,
    handoffs,
    heads,
    inputs,
    receipts,
    usage,
)
from clankie.store.sqlite.runs import waits

if TYPE_CHECKING:
    from clankie.core.conversation import Usage
    from clankie.core.receipt import Delivery
    from clankie.host.storage import Outcome, Reservation
    from clankie.store.sqlite.attempts import Try
    from clankie.store.sqlite.heads import Head
    from clankie.store.sqlite.unit import Transaction

PHASES = {
    ServiceState.COMPLETED: TurnPhase.COMPLETED,
    ServiceState.FAILED: TurnPhase.FAILED,
    ServiceState.STALLED: TurnPhase.FAILED,
    ServiceState.CANCELLED: TurnPhase.CANCELLED,
    ServiceState.UNCERTAIN: TurnPhase.UNCERTAIN,
}


def settle(tx: Transaction, reservation: Reservation, outcome: Outcome) -> Delivery:
    """See DeliveryStore.settle."""
    head = heads.take(tx, reservation.delivery.conversation, reservation.fence)
    attempt = attempts.read(tx, reservation.attempt)
    if attempt.state != ServiceState.RUNNING:
        # It has ended, or nothing was asked yet: then it ends by `refuse` or `release`.
        raise TransitionRefusedError(f"The attempt {attempt.id!r}", attempt.state, outcome.state)
    finish(tx, head, attempt, outcome)
    heads.save(tx, head)
    return receipts.read(tx.run, attempt.delivery)


def finish(tx: Transaction, head: Head, attempt: Try, outcome: Outcome) -> list[str]:
    """End a running attempt and its members; the deliveries that ended with it, its own first."""
    reply = None
    if outcome.state is ServiceState.COMPLETED and outcome.text:
        said = Message(role=Role.AGENT, text=outcome.text, delivery_id=attempt.delivery)
        reply = events.append(tx, head, CAPTAIN, said)
    _end(tx, head, attempt, outcome, reply)
    ended = [attempt.delivery]
    for member in attempts.members(tx, attempt.id):
        _end(tx, head, member, outcome, reply)
        ended.append(member.delivery)
    return ended


def _end(tx: Transaction, head: Head, attempt: Try, outcome: Outcome, reply: int | None) -> None:
    member = attempt.joined is not None
    cost = None if member else usage.bounded(outcome.usage)
    if not member:
        # The turn that tells of it comes next.
        attempt.end_cursor = head.service_cursor = head.cursor + 1
    attempts.move(tx, attempt, outcome.state, outcome.code, cost)
    calls.lose(tx, attempt.id)
    again = outcome.wake is not None and not member
    after = consequence(outcome.state, joined=member, again=again)
    one = inputs.read(tx, attempt.delivery)
    if after is InputState.QUEUED and outcome.wake is not None:
        one.not_before, one.held = waits(outcome.wake)
    else:
        one.code, one.detail, one.reply_cursor = outcome.code, outcome.detail, reply
    if after is InputState.ABSORBED and attempt.joined is not None:
        one.absorbed_by = "steer"
        one.reply_delivery_id = attempts.delivery_of(attempt.joined)
    inputs.move(tx, head, one, after)
    if after is InputState.UNCERTAIN:
        # The log says what the receipt says: readers need not ask for one to know what is known.
        outcome = replace(outcome, detail=explain(receipts.of(tx.run, one)))
    events.append(tx, head, SYSTEM, _turn(one.id, outcome, cost, member=member))
    if not member:
        handoffs.ran(tx, head)


def _turn(delivery: str, outcome: Outcome, cost: Usage | None, *, member: bool) -> Turn:
    """What the run wrote and cost stands once, in the turn of the delivery that it answers."""
    partial = outcome.text if outcome.state is not ServiceState.COMPLETED and not member else ""
    return Turn(
        phase=PHASES[outcome.state],
        delivery_id=delivery,
        code=outcome.code,
        detail=outcome.detail,
        partial=partial or None,
        usage=cost,
    )
