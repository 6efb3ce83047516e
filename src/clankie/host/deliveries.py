"""Receipts: reading them, waiting for them, closing what nobody can know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clankie.core.delivery import FINAL, InputState
from clankie.host.waiting import event_within

if TYPE_CHECKING:
    from clankie.core.receipt import Delivery
    from clankie.host.house import House


async def read(house: House, delivery: str, wait: float = 0.0) -> Delivery:
    """The receipt; with `wait`, up to that many seconds until it has ended or is uncertain.

    Raises:
        DeliveryNotFoundError, ReceiptExpiredError.
    """
    found = await house.store.deliveries.get(delivery)
    if wait <= 0 or _known(found):
        return found
    until = house.clock.monotonic() + wait
    channel = house.feed.join(found.conversation)
    try:
        while not _known(found) and not house.stopping:
            changed = channel.waiter()
            found = await house.store.deliveries.get(delivery)
            left = until - house.clock.monotonic()
            if _known(found) or not await event_within(house.clock, changed, left):
                break
    finally:
        house.feed.leave(found.conversation)
    return found


async def abandon(house: House, delivery: str) -> Delivery:
    """The owner closes an uncertain delivery as unknown, without pretending to know.

    Raises:
        TransitionRefusedError: it is not uncertain.
    """
    return await house.store.deliveries.abandon(delivery)


def _known(delivery: Delivery) -> bool:
    return delivery.state in FINAL or delivery.state is InputState.UNCERTAIN
