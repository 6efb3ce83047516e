"""Waiting inputs that no driver has yet, as SQL: what both ways of choosing a driver start from."""

from __future__ import annotations

from typing import Final

from clankie.store.sqlite import attempts

WAITING: Final = f"""
WHERE conversation = ? AND state = 'queued' AND held IS NULL
  AND (not_before IS NULL OR not_before <= ?)
  AND NOT EXISTS (SELECT 1 FROM attempt
    WHERE attempt.delivery = input.id AND attempt.{attempts.OPEN})"""
"""Takes the conversation's number and the time."""

REFUSED: Final = """EXISTS (SELECT 1 FROM attempt
    WHERE attempt.delivery = input.id AND attempt.occupant = ? AND attempt.state = 'refused')"""
"""Whether an occupant refused an input."""
