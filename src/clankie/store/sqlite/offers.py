"""Inputs that no driver has yet, and what keeps one from a seat, as SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.store.sqlite import attempts

if TYPE_CHECKING:
    from clankie.store.sqlite.unit import Transaction

WAITING: Final = f"""
WHERE conversation = ? AND state = 'queued' AND held IS NULL
  AND (not_before IS NULL OR not_before <= ?)
  AND NOT EXISTS (SELECT 1 FROM attempt
    WHERE attempt.delivery = input.id AND attempt.{attempts.OPEN})"""
"""Takes the conversation's number and the time."""

REFUSED: Final = """EXISTS (SELECT 1 FROM attempt
    WHERE attempt.delivery = input.id AND attempt.occupant = ? AND attempt.state = 'refused')"""
"""Whether an occupant refused an input."""

_RESERVED: Final = """
SELECT id FROM input WHERE occupant = ? AND settled_at IS NULL
  AND (reach = 'occupant' OR reach = 'native_parent')
  AND (state = 'uncertain' OR EXISTS (SELECT 1 FROM attempt
    WHERE attempt.delivery = input.id AND attempt.state = 'attempting'))
ORDER BY message_cursor LIMIT 1"""


def reserved(tx: Transaction, occupant: str) -> str | None:
    """The delivery to this occupant of which nobody knows yet whether it arrived."""
    delivery: str | None = tx.value(_RESERVED, (occupant,))
    return delivery
