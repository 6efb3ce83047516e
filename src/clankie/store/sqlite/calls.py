"""Tool calls: committed before they run, with what came of them after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.core.conversation import CAPTAIN, Tool, ToolPhase
from clankie.core.delivery import ServiceState
from clankie.core.errors import TransitionRefusedError
from clankie.store.sqlite import attempts, events, heads

if TYPE_CHECKING:
    from clankie.host.storage import Call, Reservation
    from clankie.store.sqlite.unit import Transaction

_STATE: Final = "SELECT state FROM tool_call WHERE attempt = ? AND call_id = ?"
_INSERT: Final = """
INSERT INTO tool_call
  (attempt, call_id, n, name, effect, arguments_sha256, state, detail, started_at)
VALUES (:attempt, :call,
  (SELECT coalesce(max(n), 0) + 1 FROM tool_call WHERE attempt = :attempt),
  :name, :effect, :sha256, 'attempting', :detail, :at)"""
_END: Final = """
UPDATE tool_call SET state = ?, detail = ?, ended_at = ?
WHERE attempt = ? AND call_id = ? AND state = 'attempting'"""
_LOSE: Final = """
UPDATE tool_call SET state = 'uncertain', ended_at = ? WHERE attempt = ? AND state = 'attempting'"""


def started(tx: Transaction, reservation: Reservation, call: Call) -> None:
    """See DeliveryStore.tool_started. The same start again changes nothing."""
    delivery = reservation.delivery
    head = heads.take(tx, delivery.conversation, reservation.fence)
    attempt = attempts.read(tx, reservation.attempt)
    if attempt.state != ServiceState.RUNNING:
        raise TransitionRefusedError(f"The attempt {attempt.id!r}", attempt.state, "calling")
    if tx.row(_STATE, (attempt.id, call.call_id)) is not None:
        return
    values = {
        "attempt": attempt.id,
        "call": call.call_id,
        "name": call.name,
        "effect": int(call.effect),
        "sha256": call.arguments_sha256,
        "detail": call.detail,
        "at": tx.at,
    }
    tx.run(_INSERT, values)
    _tell(tx, head, _tool(call, delivery.id, ToolPhase.STARTED, call.detail))


def ended(tx: Transaction, reservation: Reservation, call: Call, *, ok: bool, detail: str) -> None:
    """See DeliveryStore.tool_ended. The same end again changes nothing."""
    delivery = reservation.delivery
    head = heads.take(tx, delivery.conversation, reservation.fence)
    phase = ToolPhase.COMPLETED if ok else ToolPhase.FAILED
    row = tx.row(_STATE, (reservation.attempt, call.call_id))
    state = "unknown" if row is None else row[0]
    if state == phase:
        return
    if not tx.changed(_END, (phase, detail, tx.at, reservation.attempt, call.call_id)):
        raise TransitionRefusedError(f"The tool call {call.call_id!r}", state, phase)
    _tell(tx, head, _tool(call, delivery.id, phase, detail))


def lose(tx: Transaction, attempt: str) -> None:
    """What still ran when its attempt ended: nobody can tell what it did."""
    tx.run(_LOSE, (tx.at, attempt))


def _tool(call: Call, delivery: str, phase: ToolPhase, detail: str) -> Tool:
    return Tool(
        call_id=call.call_id, name=call.name, phase=phase, delivery_id=delivery, detail=detail
    )


def _tell(tx: Transaction, head: heads.Head, tool: Tool) -> None:
    events.append(tx, head, CAPTAIN, tool)
    heads.save(tx, head)
