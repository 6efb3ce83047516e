"""Wakes come due, failed ones come due again, held ones wait for a change."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from clankie.core.admission import Mode, Offer, Origin
from clankie.core.conversation import CAPTAIN
from clankie.core.errors import (
    BackpressureError,
    FaultError,
    RefusedError,
    UncertainError,
    WakeNotFoundError,
)
from clankie.core.ids import qualified
from clankie.core.settings import DAY
from clankie.host import journal
from clankie.host.admit import admit
from clankie.host.storage import FencedError
from clankie.host.waiting import to_the_end

if TYPE_CHECKING:
    from datetime import datetime

    from clankie.core.wake import Wake
    from clankie.host.captain import Captain
    from clankie.host.house import House

BATCH: Final = 64
FAULT_PAUSE: Final = 5.0
"""Seconds before due wakes are offered again when the store could not take them."""

LOOK_AGAIN: Final = 60.0
"""Seconds after which it looks in any case: the machine slept, or its clock was set."""


async def tend(house: House, captain: Captain) -> None:
    """Admit wakes when their time comes, and nudge conversations whose retry is due."""
    going = True
    while going:
        now = house.clock.now()
        try:
            whole = await ring(house, captain, now)
            pause = await _until_next(house, now) if whole else FAULT_PAUSE
        except (FaultError, UncertainError) as error:
            journal.warn("wakes wait", why=error.detail)
            pause = FAULT_PAUSE
        going = await captain.next_wake_change(pause)


async def ring(house: House, captain: Captain, now: datetime) -> bool:
    """Everything that is due at `now`; False when some could not be taken yet."""
    blocked: set[str] = set()
    while due := [
        wake
        for wake in await house.store.wakes.due(now, BATCH + len(blocked))
        if wake.id not in blocked
    ]:
        for wake in due:
            if not await _admit(house, wake):
                blocked.add(wake.id)
    for conversation in await house.store.wakes.conversations_due(now):
        captain.nudge(conversation)
    return not blocked


async def _admit(house: House, wake: Wake) -> bool:
    """Let it in; False when its conversation is full: others must not wait for that."""
    offer = Offer(
        delivery_id=qualified(CAPTAIN.principal, wake.id),
        conversation=wake.conversation,
        text=wake.text,
        origin=Origin.WAKE,
        author=CAPTAIN,
        mode=Mode.AUTO,
        wake=wake.id,
        depth=wake.depth,
    )
    try:
        await admit(house, offer)
    except BackpressureError:
        return False
    except WakeNotFoundError:
        journal.note("wake was removed before it was due", wake=wake.id)
    except FencedError:
        raise
    except RefusedError as error:
        # Its conversation was closed, or its id is taken: it can never be admitted.
        journal.warn("wake dropped", wake=wake.id, why=error.detail)
        with suppress(WakeNotFoundError):
            await house.store.wakes.remove(wake.id)
    return True


async def _until_next(house: House, now: datetime) -> float:
    """Seconds until the next one, counted from the moment whose wakes were rung."""
    due = await house.store.wakes.next_due(now)
    if due is None:
        return LOOK_AGAIN
    return min(LOOK_AGAIN, (due - house.clock.now()).total_seconds())


async def listed(house: House, conversation: str | None = None) -> list[Wake]:
    """What waits."""
    return list(await house.store.wakes.list(conversation))


async def remove(house: House, wake: str) -> None:
    """Forget one that waits. Raises WakeNotFoundError."""
    await house.store.wakes.remove(wake)
    house.captain.wakes_changed()


async def release(house: House, conversation: str | None = None, reason: str | None = None) -> int:
    """Something changed: held wakes may try again. Returns how many."""
    return await to_the_end(_release(house, conversation, reason))


async def _release(house: House, conversation: str | None, reason: str | None) -> int:
    places = [
        one.id
        for one in await house.store.conversations.list()
        if one.id == (conversation or one.id) and (one.waiting or one.running)
    ]
    try:
        return await house.store.deliveries.release_held(conversation, reason)
    finally:
        # Also when nobody can tell: whoever was set free must be taken up.
        for place in places:
            house.captain.nudge(place)
        house.captain.wakes_changed()


async def tend_retention(house: House, captain: Captain) -> None:
    """Once a day, drop the evidence of deliveries that ended long ago."""
    while not captain.stopping:
        try:
            before = house.clock.now() - timedelta(seconds=house.settings.retention.receipts)
            count = await house.store.prune(before)
            journal.note("receipts pruned", count=count)
        except (FaultError, UncertainError) as error:
            journal.warn("receipts not pruned", why=error.detail)
        await captain.until_stopping(DAY)
