"""What a refusal because of a usage limit says: the newer rows in fields, the older in words only.

Rule: only rows that the client itself made up are asked (`rows` sees to that). What a model writes
      about limits is no limit.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from clankie.core.seat import Limited
from clankie.seats.claude.words import object_of

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = dict[str, Any]

WINDOWS: Final = {"five_hour": "session", "seven_day": "weekly"}
"""The vendor's names of the two windows that everybody has; others keep the vendor's."""
_WORDS: Final = re.compile(
    r"(?:hit your (?P<window>session|5-hour|weekly|[\w .-]{1,40}?)|usage) limit\b"
    r"(?:.{0,40}?resets (?P<resets>[^\n]{1,60}))?",
    re.IGNORECASE,
)
_PIPE: Final = re.compile(r"usage limit reached\|(\d{9,11})\b")
_WHEN: Final = re.compile(
    r"(?:(?P<month>[A-Z][a-z]{2}) (?P<day>\d{1,2})(?:, | at ))?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?P<half>[ap])m \((?P<zone>[\w/+-]{1,40})\)"
)
_MONTHS: Final[str] = "JanFebMarAprMayJunJulAugSepOctNovDec"
_HALF_DAY: Final = 12
_SOON: Final = timedelta(hours=24)
_LATEST: Final = timedelta(days=8)
"""No window of the vendor's is longer; what lies beyond was misread."""


def limit_of(row: Mapping[str, Any], text: str, at: datetime) -> Limited | None:
    """The limit of a row that the client made up for a failed request; None for other failures."""
    info = _info(row)
    if row.get("apiError") == "usage_limit_reached" or info.get("status") == "rejected":
        name = info.get("rateLimitType")
        name = name if isinstance(name, str) and name else "session"
        return Limited(
            window=WINDOWS.get(name, name[:64]),
            occurred_at=at,
            resets_at=_plausible(_epoch(info.get("resetsAt")), at),
        )
    if row.get("error") not in {None, "rate_limit"}:
        return None
    return _worded(text, at)


def _info(row: Mapping[str, Any]) -> Json:
    info = object_of(object_of(row.get("apiErrorParams")).get("rate_limit_info"))
    return info or object_of(row.get("quotaLimits"))


def _worded(text: str, at: datetime) -> Limited | None:
    piped = _PIPE.search(text)
    if piped is not None:
        resets = _plausible(_epoch(int(piped[1])), at)
        return Limited(window="session", occurred_at=at, resets_at=resets)
    found = _WORDS.search(text)
    if found is None:
        return None
    window = (found["window"] or "session").lower()
    resets = None if found["resets"] is None else _plausible(_moment(found["resets"], at), at)
    return Limited(
        window="session" if window == "5-hour" else window[:64],
        occurred_at=at,
        resets_at=resets,
    )


def _epoch(value: object) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime.fromtimestamp(value, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def _plausible(moment: datetime | None, at: datetime) -> datetime | None:
    return moment if moment is not None and at < moment <= at + _LATEST else None


def _moment(words: str, at: datetime) -> datetime | None:
    """``9:51am (UTC)`` or ``Dec 3, 9am (Europe/Berlin)``, the next one after `at`."""
    found = _WHEN.match(words)
    if found is None:
        return None
    # Of all hooks only one that meets a limit pays for this import.
    from zoneinfo import ZoneInfo  # noqa: PLC0415

    try:
        here = at.astimezone(ZoneInfo(found["zone"]))
        hour = int(found["hour"]) % _HALF_DAY + (_HALF_DAY if found["half"] == "p" else 0)
        then = here.replace(hour=hour, minute=int(found["minute"] or 0), second=0, microsecond=0)
        if found["month"] is None:
            return (then if then > here else then + _SOON).astimezone(UTC)
        month = _MONTHS.index(found["month"]) // 3 + 1
        then = then.replace(month=month, day=int(found["day"]))
        return (then if then > here else then.replace(year=then.year + 1)).astimezone(UTC)
    except (KeyError, ValueError, OSError):
        return None
