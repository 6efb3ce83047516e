"""What conversations watch: when it happens, they are told once, as an input of their own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from clankie.core.admission import Offer, Origin
from clankie.core.conversation import CAPTAIN, Role
from clankie.core.delivery import FINAL, InputState
from clankie.core.errors import (
    BackpressureError,
    DeliveryNotFoundError,
    FaultError,
    ReceiptExpiredError,
    RefusedError,
    UncertainError,
)
from clankie.core.ids import qualified
from clankie.host import journal
from clankie.host.admit import admit

if TYPE_CHECKING:
    from clankie.host.captain import Captain
    from clankie.host.house import House
    from clankie.host.seatstore import Watch

PAGE: Final = 200
PAUSE: Final = 0.25
"""Seconds within which changes of what is watched are looked at together."""

FAULT_PAUSE: Final = 5.0


async def tend(house: House, captain: Captain) -> None:
    """Tell of what is watched as it happens, until the service stops."""
    while not captain.stopping:
        listed = house.feed.listed()
        house.desk.watched.clear()
        try:
            waiting = await ring(house)
        except (FaultError, UncertainError) as error:
            journal.warn("watches wait", why=error.detail)
            await captain.until_stopping(FAULT_PAUSE)
            continue
        if not waiting:
            await house.desk.watched.wait()
            continue
        # Commits come in crowds; what is watched changes once in a while.
        await captain.until_stopping(PAUSE)
        if not captain.stopping:
            await listed.wait()


async def ring(house: House) -> bool:
    """Tell of everything that happened; whether anything is still watched."""
    kept = False
    for watch in await house.store.watches.all():
        if not await _happened(house, watch) or not await _tell(house, watch):
            kept = True
    return kept


async def _happened(house: House, watch: Watch) -> bool:
    try:
        found = await house.store.deliveries.get(watch.target)
    except DeliveryNotFoundError:
        return await _answered(house, watch)
    except ReceiptExpiredError:
        return True
    return found.state in FINAL or found.state is InputState.UNCERTAIN


async def _answered(house: House, watch: Watch) -> bool:
    """Whether somebody answered in the conversation since it is watched."""
    after = watch.since
    try:
        while True:
            page = await house.store.conversations.events_after(watch.target, after, PAGE)
            for stored in page.events:
                event: dict[str, Any] = json.loads(stored.data)
                if event.get("role") == Role.AGENT:
                    return True
                after = stored.cursor
            if not page.has_more:
                return False
    except RefusedError:
        # What was watched is gone, or is not kept from there on any more.
        return True


async def _tell(house: House, watch: Watch) -> bool:
    """Admit it under an id of its own, then forget the watch; False when it has to wait."""
    offer = Offer(
        delivery_id=qualified(CAPTAIN.principal, watch.id),
        conversation=watch.conversation,
        text=watch.text,
        origin=Origin.WATCH,
        author=CAPTAIN,
        depth=watch.depth,
    )
    try:
        await admit(house, offer)
    except BackpressureError:
        return False
    except RefusedError as error:
        journal.warn("watch dropped", watch=watch.id, why=error.detail)
    await house.store.watches.remove(watch.id)
    return True
