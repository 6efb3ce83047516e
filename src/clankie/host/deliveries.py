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
    seen = house.feed.version
    found = await house.store.deliveries.get(delivery)
    if wait <= 0 or _known(found):
        return found
    until = house.clock.monotonic() + wait
    channel = house.feed.join(found.conversation)
    try:
        # A receipt ends with an event of the log; drafts and reservations are no news here.
        head, stale = channel.head, house.feed.changed(found.conversation, seen)
        while not (_known(found) or house.stopping) and house.clock.monotonic() < until:
            changed = channel.waiter()
            if stale or channel.head > head:
                head, stale = channel.head, False
                found = await house.store.deliveries.get(delivery)
            else:
                await event_within(house.clock, changed, until - house.clock.monotonic())
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
