"""Admission: an input is on disk before anybody is told so."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from clankie.core.errors import CommitUnknownError, ShuttingDownError

if TYPE_CHECKING:
    from clankie.core.admission import Offer
    from clankie.host.house import House
    from clankie.host.storage import Admitted


async def admit(house: House, offer: Offer) -> Admitted:
    """Record the offer, or answer with what is recorded under its id, and let it run.

    Raises:
        RefusedError: see `core.admission.decide`; nothing was recorded.
        FaultError: the service cannot take it now; nothing was recorded.
        CommitUnknownError: repeat it with the same id.
    """
    if house.stopping:
        raise ShuttingDownError
    try:
        admitted = await house.store.deliveries.admit(offer, house.settings.queue.conversation)
    except (CommitUnknownError, asyncio.CancelledError):
        # It may be stored all the same, and then it runs although nobody was told.
        house.captain.nudge(offer.conversation)
        raise
    house.captain.nudge(offer.conversation)
    return admitted
