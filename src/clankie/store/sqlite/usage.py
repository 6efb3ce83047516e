"""What turns cost: kept with each attempt, and added up for each day."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from clankie.core.conversation import Usage
from clankie.host.storage import DayUsage
from clankie.store.sqlite.sql import rows
from clankie.store.sqlite.values import millis

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from clankie.store.sqlite.sql import Database
    from clankie.store.sqlite.unit import Transaction

_DAY: Final = 86_400_000
_EPOCH: Final = date(1970, 1, 1)
_MOST: Final = 10**12
_ADD: Final = """
INSERT INTO usage_day (day, input_tokens, output_tokens, requests, cost) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (day) DO UPDATE SET
  input_tokens = input_tokens + excluded.input_tokens,
  output_tokens = output_tokens + excluded.output_tokens,
  requests = requests + excluded.requests,
  cost = CASE WHEN excluded.cost IS NULL THEN cost ELSE coalesce(cost, 0) + excluded.cost END"""
_DAYS: Final = """
SELECT day, input_tokens, output_tokens, requests, cost FROM usage_day
WHERE day > ? AND day <= ? ORDER BY day DESC"""

_encode: Final = msgspec.json.Encoder().encode
_read: Final = msgspec.json.Decoder(Usage).decode


def bounded(usage: Usage | None) -> Usage | None:
    """As it is kept: a model server may say anything, and sums must stay whole numbers."""
    if usage is None:
        return None
    cost = usage.cost_usd
    return Usage(
        input_tokens=_within(usage.input_tokens),
        output_tokens=_within(usage.output_tokens),
        requests=_within(usage.requests),
        model=usage.model,
        cost_usd=cost if cost is not None and 0 <= cost < _MOST else None,
    )


def _within(count: int) -> int:
    return min(max(0, count), _MOST)


def add(tx: Transaction, usage: Usage) -> None:
    """Count it in, on the day of this transaction."""
    values = (usage.input_tokens, usage.output_tokens, usage.requests, usage.cost_usd)
    tx.run(_ADD, (tx.at // _DAY, *values))


def days(connection: Database, count: int, now: datetime) -> Sequence[DayUsage]:
    """See OwnerStore.usage."""
    today = millis(now) // _DAY
    return [
        DayUsage(
            day=_EPOCH + timedelta(days=day),
            input_tokens=given,
            output_tokens=written,
            requests=requests,
            cost_usd=cost,
        )
        for day, given, written, requests, cost in rows(connection, _DAYS, (today - count, today))
    ]


def encode(usage: Usage) -> str:
    """As it stands on disk."""
    return _encode(usage.to_wire()).decode()


def decode(stored: str | None) -> Usage | None:
    """The way back."""
    return None if stored is None else _read(stored)
