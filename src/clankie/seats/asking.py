"""Polls, and what becomes of one that fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from clankie.seats.ending import Ending
from clankie.seats.patience import Patience
from clankie.seats.service import (
    AnsweredError,
    BusyError,
    MissingError,
    NotOursError,
    SupersededError,
    UnreachableError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from clankie.host.ports import Clock
    from clankie.seats.service import Page, Service

WAIT: Final = 30.0
"""Seconds that a poll may wait at the service."""
DEFECT: Final = 30.0
"""Seconds before a poll is tried again that the service calls wrong."""


@dataclass(kw_only=True)
class Asking:
    """Asks one page after another."""

    service: Service
    clock: Clock
    jitter: Callable[[], float]
    binding: str
    poll_id: Callable[[], str]
    say: Callable[[str], None]
    lost: bool = False
    """Whether the service was away, or busy, since somebody looked."""

    async def page(self) -> Page | Ending:
        """The next page; or why there will be none.

        A poll that failed is repeated with its own id, so that a page whose answer was lost comes
        again.
        """
        poll_id = self.poll_id()
        patience = Patience(clock=self.clock, jitter=self.jitter)
        refused = 0
        while True:
            try:
                page = await self.service.poll(self.binding, poll_id, WAIT)
            except (UnreachableError, BusyError) as error:
                self.lost = True
                await patience.pause(error)
                refused = 0
            except NotOursError as error:
                # Hook or bridge may have renewed the token just now; one more try reads it anew.
                refused += 1
                if refused > 1:
                    self.say(str(error))
                    return Ending.CLOSED
            except AnsweredError as error:
                ending = await self._answered(error)
                if ending is not None:
                    return ending
            else:
                return Ending.SUPERSEDED if page.superseded else page

    async def _answered(self, error: AnsweredError) -> Ending | None:
        self.say(str(error))
        match error:
            case SupersededError():
                return Ending.SUPERSEDED
            case MissingError():
                return Ending.MISSING
            case _:
                # A defect of one side; it is said, and tried again without haste.
                await self.clock.sleep(DEFECT)
                return None
