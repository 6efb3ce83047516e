"""How values stand on disk: times as milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, overload

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


@overload
def millis(at: datetime) -> int: ...
@overload
def millis(at: datetime | None) -> int | None: ...
def millis(at: datetime | None) -> int | None:
    """Whole milliseconds since 1970, UTC."""
    return None if at is None else (at - _EPOCH) // _MILLISECOND


@overload
def moment(at: int) -> datetime: ...
@overload
def moment(at: int | None) -> datetime | None: ...
def moment(at: int | None) -> datetime | None:
    """The way back."""
    return None if at is None else _EPOCH + timedelta(milliseconds=at)
