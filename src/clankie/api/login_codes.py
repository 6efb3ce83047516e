"""Codes that a person types, or a page of ours posts, to open the browser's session."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import datetime

LIFE: Final = timedelta(seconds=60)
ATTEMPTS: Final = 5
"""Wrong guesses after which every open code is void: 40 bits are enough for so few."""
OPEN: Final = 8
"""Codes open at once; the oldest gives way."""
_ALPHABET: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_LENGTH: Final = 8


@dataclass(slots=True)
class LoginCodes:
    """The open codes, in memory only."""

    _open: dict[str, datetime] = field(default_factory=dict[str, "datetime"])
    _wrong: int = 0

    def make(self, secret: str, now: datetime) -> tuple[str, datetime]:
        """A code drawn from a fresh secret, and when it ends."""
        drawn = hashlib.sha256(secret.encode()).digest()[:_LENGTH]
        code = "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in drawn)
        until = now + LIFE
        self._expire(now)
        while len(self._open) >= OPEN:
            del self._open[next(iter(self._open))]
        self._open[code] = until
        return code, until

    def use(self, given: str, now: datetime) -> bool:
        """Whether it was open; it is not any more."""
        self._expire(now)
        asked = given.strip().upper().encode()
        found = [one for one in self._open if hmac.compare_digest(one.encode(), asked)]
        if found:
            del self._open[found[0]]
            return True
        self._wrong += 1
        if self._wrong >= ATTEMPTS:
            self._open.clear()
            self._wrong = 0
        return False

    def _expire(self, now: datetime) -> None:
        self._open = {code: until for code, until in self._open.items() if until > now}
        if not self._open:
            self._wrong = 0
