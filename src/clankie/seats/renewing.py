"""A session that can write nothing here any more: its harness, or a person, begins another one.

Rule 1: the service asks for it once. Where nobody sits in front of the harness it is tried again,
        with pauses that grow, because nobody else will.
Rule 2: nothing is begun in place of a session that another has replaced already.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from clankie.host.ports import Clock

SOON: Final = 30.0
"""Seconds before a harness is asked once more that began no new session; then twice as long."""
LONGEST: Final = 600.0
"""Seconds between two tries at most."""
_NOW: Final = (
    "The session of this harness can write nothing here any more: the conversation was reset, or "
    "it is another's. "
)
NEEDS_A_PERSON: Final = (
    f"{_NOW}Begin a new one in its terminal (`/clear`, `/new`), or open the seat again."
)
BEGAN_NONE: Final = (
    f"{_NOW}It was asked to begin a new one and did not; it is asked again. Open the seat again if "
    "it stays so."
)


@dataclass(kw_only=True)
class Renewing:
    """Has the harness begin a new session. `session` is the one that it has now.

    `alone`: no person sits in front of it.
    """

    clock: Clock
    say: Callable[[str], None]
    session: Callable[[], str]
    renew: Callable[[], Awaitable[bool]]
    alone: bool
    _old: str | None = field(default=None, init=False)
    _due: float = field(default=0.0, init=False)
    _pause: float = field(default=SOON, init=False)

    async def wanted(self) -> None:
        """The service has asked for it."""
        self._old, self._pause = self.session(), SOON
        if not await self._tried():
            self.say(BEGAN_NONE if self.alone else NEEDS_A_PERSON)

    async def look(self) -> None:
        """Between two polls: try again what failed, once it is time."""
        if self._old is not None and self.clock.monotonic() >= self._due:
            await self._tried()

    async def _tried(self) -> bool:
        if self.session() != self._old or await self.renew():
            self._old = None
            return True
        if not self.alone:
            self._old = None
        self._due = self.clock.monotonic() + self._pause
        self._pause = min(LONGEST, self._pause * 2)
        return False
