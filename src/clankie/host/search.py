"""The search index follows the log by itself, behind it: nothing waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.core.errors import FaultError, UncertainError
from clankie.host import journal

if TYPE_CHECKING:
    from clankie.host.captain import Captain
    from clankie.host.house import House

BATCH: Final = 256
PAUSE: Final = 1.0
"""Seconds between looks while events come in; many are then taken at once."""
FAULT_PAUSE: Final = 30.0


async def tend(house: House, captain: Captain) -> None:
    """Index what was committed, in batches, until the service stops."""
    while not captain.stopping:
        changed = house.feed.listed()
        try:
            taken = await house.store.conversations.index(BATCH)
        except (FaultError, UncertainError) as error:
            journal.warn("search index waits", why=error.detail)
            await captain.until_stopping(FAULT_PAUSE)
            continue
        if taken == 0:
            await changed.wait()
            await captain.until_stopping(PAUSE)
