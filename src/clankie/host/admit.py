"""Admission: an input is on disk before anybody is told so."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from clankie.core.admission import Mode, Origin, Reach
from clankie.core.driver import Presence
from clankie.core.errors import CommitUnknownError, ShuttingDownError
from clankie.host.seats import desk

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
    offer = _addressed(house, offer)
    try:
        admitted = await house.store.deliveries.admit(offer, house.settings.queue.conversation)
    except (CommitUnknownError, asyncio.CancelledError):
        # It may be stored all the same, and then it runs although nobody was told.
        _came(house, offer)
        raise
    _came(house, offer)
    return admitted


def _came(house: House, offer: Offer) -> None:
    if offer.occupant is not None:
        desk.queued(house.desk, offer.occupant)
    # A poll that waits stores it and takes it in one commit, and lets the others look afterwards.
    if not desk.asks_at(house.desk, offer.conversation):
        house.captain.nudge(offer.conversation)


def _addressed(house: House, offer: Offer) -> Offer:
    """What the owner queues behind a seat's own turn belongs to that seat, and to no other."""
    if offer.origin is not Origin.OWNER or offer.mode is not Mode.QUEUE:
        return offer
    seat = house.seats.standing(offer.conversation)
    if seat is None or seat.presence is Presence.ABSENT:
        return offer
    return replace(offer, reach=Reach.HELD_QUEUE, occupant=seat.occupant)
