"""How often and how soon a request to the service is repeated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from clankie.seats.service import BusyError, SeatWireError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from clankie.host.ports import Clock

RECONNECT: Final = 5.0
"""Seconds before a request is repeated to which nobody answered."""
LONGEST: Final = 30.0
"""Seconds between two tries of what the service cannot do now: 1, 2, 4 … and then this."""
OBEYED: Final = 300.0
"""Seconds of a Retry-After that are waited at most."""
INSIST: Final = 900.0
"""Seconds for which an acknowledgement is repeated, with the same ids."""
_DOUBLINGS: Final = 5


@dataclass(kw_only=True)
class Patience:
    """The waits of one request that is repeated. `jitter` gives numbers from 0 to 1."""

    clock: Clock
    jitter: Callable[[], float]
    failures: int = 0

    async def pause(self, error: SeatWireError) -> None:
        """Wait as long as this failure asks for."""
        asked = error.retry_after if isinstance(error, BusyError) else None
        await self.clock.sleep(self._own(error) if asked is None else min(OBEYED, asked))
        self.failures += 1

    def _own(self, error: SeatWireError) -> float:
        if isinstance(error, UnreachableError):
            return RECONNECT
        doubled = min(LONGEST, 2.0 ** min(self.failures, _DOUBLINGS))
        # A half is certain, so that nobody who restarts is met by everybody at once.
        return doubled * (0.5 + self.jitter() / 2)

    async def insist(self, work: Callable[[], Awaitable[None]], within: float | None) -> None:
        """Do it, and again while the service is away or busy, for at most `within` seconds.

        Raises SeatWireError: what the service answered, or the last failure.
        """
        until = None if within is None else self.clock.monotonic() + within
        while True:
            try:
                await work()
            except (UnreachableError, BusyError) as error:
                if until is not None and self.clock.monotonic() >= until:
                    raise
                await self.pause(error)
            else:
                return
