"""How values stand on disk: times as whole milliseconds since 1970, UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


def millis(at: datetime) -> int:
    """A time as it stands on disk."""
    return (at - _EPOCH) // _MILLISECOND


def moment(at: int) -> datetime:
    """The way back."""
    return _EPOCH + timedelta(milliseconds=at)


def moment_or_none(at: int | None) -> datetime | None:
    """The way back, where a column may be empty."""
    return None if at is None else moment(at)
