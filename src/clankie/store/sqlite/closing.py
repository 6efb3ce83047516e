"""Inputs that end without a run: cancelled while they wait, closed as unknown; and wakes let go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.core.conversation import SYSTEM, Turn, TurnPhase
from clankie.core.delivery import InputState
from clankie.store.sqlite import attempts, events, given, heads, inputs, receipts
from clankie.store.sqlite.inputs import Input

if TYPE_CHECKING:
    from clankie.core.receipt import Delivery
    from clankie.store.sqlite.unit import Transaction

_HELD: Final = f"""
SELECT {inputs.COLUMNS} FROM input
WHERE state = 'queued' AND held = coalesce(:reason, held)
  AND (:conversation IS NULL
    OR conversation = (SELECT n FROM conversation WHERE id = :conversation))"""
_HELD_WAKES: Final = """
UPDATE wake SET held = NULL
WHERE held = coalesce(:reason, held)
  AND (:conversation IS NULL
    OR conversation = (SELECT n FROM conversation WHERE id = :conversation))"""


def cancel(tx: Transaction, delivery: str) -> bool:
    """See DeliveryStore.cancel_waiting."""
    one = inputs.read(tx, delivery)
    stored = given.open_of(tx.run, delivery)
    if one.state != InputState.QUEUED or (stored is None and attempts.open_for(tx, delivery)):
        return False
    head = heads.decided(tx, one.conversation)
    if stored is not None:
        given.release(tx, head, stored, InputState.CANCELLED)
    inputs.move(tx, head, one, InputState.CANCELLED)
    events.append(tx, head, SYSTEM, Turn(phase=TurnPhase.CANCELLED, delivery_id=delivery))
    heads.save(tx, head)
    return True


def abandon(tx: Transaction, delivery: str) -> Delivery:
    """See DeliveryStore.abandon."""
    one = inputs.read(tx, delivery)
    head = heads.decided(tx, one.conversation)
    inputs.move(tx, head, one, InputState.ABANDONED)
    heads.save(tx, head)
    return receipts.of(tx.run, one)


def release_held(tx: Transaction, conversation: str | None, reason: str | None) -> int:
    """See DeliveryStore.release_held."""
    values = {"conversation": conversation, "reason": reason}
    held = [Input(*row) for row in tx.rows(_HELD, values)]
    for one in held:
        head = heads.read(tx, one.conversation)
        one.tries_base = attempts.last(tx, one.id)
        inputs.hold_back(tx, head, one, None, None)
        heads.save(tx, head)
    tx.run(_HELD_WAKES, values)
    return len(held) + tx.connection.changes()
