"""Whether pi runs, and how a run ended that gave no answer.

Rule: an error ends nothing by itself: pi may try again, or make room and go on, and says so right
behind the end of the run. So an end with an error counts when pi has answered a question that was
asked behind it (`Run.mark`), and has not said that it goes on.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

from clankie.core.seat import Entry, EntryKind, Limited, Mishap

Json = dict[str, Any]

RATE, USAGE = "rate", "usage"
"""The windows of limits: of requests in a while, or of what the account may use."""
SOON: Final = timedelta(minutes=5)
"""For how long a limit of requests counts that does not say when it ends. pi has tried again by
then, four times in a quarter of a minute."""
_STOPPED: Final = "Retry cancelled"
_USAGE: Final = re.compile(
    r"usage.?limit|usage_not_included|insufficient.?quota|current quota|quota (?:will|exceeded)|"
    r"credit balance|billing",
    re.IGNORECASE,
)
_RATE: Final = re.compile(
    # The last is Google's, for both kinds of limits: other words beside it tell which.
    r"^\W*429\b|\bcode\W{1,4}429\b|rate.?limit|too many requests|RESOURCE_EXHAUSTED",
    re.IGNORECASE,
)
_AGAIN: Final = re.compile(
    r"(?:again|reset(?:s)?|retry) in ~?\s*(?:(?P<h>\d{1,3})\s*h(?:ours?)?)?\s*"
    r"(?:(?P<m>\d{1,5})\s*m(?!s)(?:in(?:ute)?s?)?)?\s*(?:(?P<s>\d{1,6}(?:\.\d+)?)\s*s)?",
    re.IGNORECASE,
)


def limit_of(said: str, at: datetime) -> Limited | None:
    """The limit that the provider's refusal speaks of; None for other failures."""
    usage = _USAGE.search(said) is not None
    if not usage and _RATE.search(said) is None:
        return None
    resets = _resets(said, at)
    if usage:
        return Limited(window=USAGE, occurred_at=at, resets_at=resets)
    return Limited(window=RATE, occurred_at=at, resets_at=resets or at + SOON)


def _resets(said: str, at: datetime) -> datetime | None:
    found = _AGAIN.search(said)
    if found is None:
        return None
    hours, minutes, seconds = (float(found[name] or 0) for name in ("h", "m", "s"))
    after = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return at + after if after else None


@dataclass
class Run:
    """What pi does, as its events tell. `members`: whose words began the run, or joined it."""

    now: Callable[[], datetime]
    runs: bool = False
    members: set[str] = field(default_factory=set[str])
    _last: Json = field(default_factory=dict[str, Any])
    _failed: Json | None = None
    _goes_on: bool = False
    _ended: int = 0

    @property
    def mark(self) -> str:
        """The type of the event that is to stand behind what pi said of its last end."""
        return f"clankie_end_{self._ended}"

    @property
    def undecided(self) -> bool:
        """Whether it ended with an error, and pi has not said yet whether it goes on."""
        return self._failed is not None and not self._goes_on

    def _begins(self) -> tuple[Entry, ...] | None:
        """It runs, also where it did so before.

        A failed run that pi does not try again was the last of its turn: what begins is another.
        """
        ended = self._fails() if self.undecided else None
        self.runs, self._failed, self._goes_on, self._last = True, None, False, {}
        return ended

    def over(self) -> None:
        """Nothing runs any more."""
        self.runs, self._failed, self._goes_on = False, None, False
        self.members.clear()

    def hears(self, event: Json) -> tuple[Entry, ...] | None:
        """What an event means: None unless a run is over now; then what its end is in the log."""
        match event.get("type"):
            case "message_end":
                self._keep(_dict(event.get("message")))
            case "agent_start":
                return self._begins()
            case "agent_end":
                return self._ends()
            case "auto_retry_start" | "compaction_start":
                self._goes_on = True
            case "auto_retry_end" if event.get("success") is False:
                return self._fails(stopped=event.get("finalError") == _STOPPED)
            case "compaction_end" if event.get("willRetry") is not True:
                return self._fails()
            case self.mark if not self._goes_on:
                return self._fails()
            case _:
                pass
        return None

    def _keep(self, message: Json) -> None:
        if message.get("role") == "assistant":
            self._last = message

    def _ends(self) -> tuple[Entry, ...] | None:
        last, self._last = self._last, {}
        self._ended += 1
        if last.get("stopReason") == "error":
            self._failed, self._goes_on = last, False
            return None
        self.over()
        return ()

    def _fails(self, *, stopped: bool = False) -> tuple[Entry, ...] | None:
        failed = self._failed
        if failed is None:
            return None
        self.over()
        at = _moment(failed.get("timestamp")) or self.now()
        return (_entry(failed, at, stopped=stopped),)


def _entry(failed: Json, at: datetime, *, stopped: bool) -> Entry:
    """A row of the transcript for the end of a run; pi's own file does not say that it is one."""
    said = str(failed.get("errorMessage") or "")
    name = f"{at.isoformat(timespec='milliseconds')}:end"
    if stopped:
        return Entry(id=name, kind=EntryKind.ERROR, at=at, error=Mishap.INTERRUPTED)
    limit = limit_of(said, at)
    if limit is not None:
        return Entry(id=name, kind=EntryKind.LIMIT, at=at, text=said, limit=limit)
    return Entry(id=name, kind=EntryKind.ERROR, at=at, text=said, error=Mishap.API_ERROR)


def _moment(milliseconds: object) -> datetime | None:
    """When it was, if it says so."""
    if not isinstance(milliseconds, int | float) or milliseconds <= 0:
        return None
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _dict(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}
