"""The real clock and ids: the only place where the machine's time and randomness are read."""

from __future__ import annotations

import asyncio
import secrets
import time
from datetime import UTC, datetime, timedelta
from typing import Final

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_RANDOM_BITS: Final = 80
_LENGTH: Final = 26


class SystemClock:
    """Wall clock in whole milliseconds, a monotonic clock that stops while the machine sleeps."""

    def now(self) -> datetime:
        """UTC, cut to milliseconds: what is stored equals what was compared."""
        now = datetime.now(UTC)
        return now - timedelta(microseconds=now.microsecond % 1000)

    def monotonic(self) -> float:
        """Seconds; on Linux and macOS this clock stands still while the machine sleeps."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait on the event loop's own clock."""
        await asyncio.sleep(max(0.0, seconds))


class SystemIds:
    """Ids of 26 characters: 50 bits of milliseconds, then 80 random bits (the layout of a ULID)."""

    def new(self, prefix: str) -> str:
        """``prefix-`` and 26 characters of a-z 0-9 without i, l, o, u; later ids sort later."""
        value = (time.time_ns() // 1_000_000) << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
        digits = [_ALPHABET[(value >> shift) & 31] for shift in range(5 * (_LENGTH - 1), -1, -5)]
        return f"{prefix}-{''.join(digits)}"

    def secret(self) -> str:
        """256 random bits, URL-safe base64."""
        return secrets.token_urlsafe(32)


class NoCrash:
    """Nothing happens at crash points in the product."""

    def reach(self, name: str) -> None:
        """Go on."""
