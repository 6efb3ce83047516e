"""What the service is doing, for people, doctor and metrics."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from clankie import __version__
from clankie.core.conversation import timestamp
from clankie.host.seats import roster

if TYPE_CHECKING:
    from clankie.host.house import House


async def status(house: House) -> dict[str, object]:
    """One snapshot: version, process, seconds since the start, model, turns, what waits, store."""
    conversations = await house.store.conversations.list()
    now = house.clock.now()
    return {
        "version": __version__,
        "pid": os.getpid(),
        "now": timestamp(now),
        "started_at": timestamp(house.started_at),
        "uptime_seconds": round((now - house.started_at).total_seconds(), 3),
        "stopping": house.stopping,
        "settings_revision": house.settings_revision,
        "lane": house.lane.status(),
        "running": house.captain.snapshot(),
        "conversations": {
            "open": sum(not one.closed for one in conversations),
            "closed": sum(one.closed for one in conversations),
        },
        "deliveries": {
            "running": sum(one.running for one in conversations),
            "waiting": sum(one.waiting for one in conversations),
            "held": sum(one.held for one in conversations),
            "uncertain": sum(one.uncertain for one in conversations),
        },
        "seats": roster.counted(house),
        "writer_backlog": house.store.backlog(),
        "store": await house.store.facts(),
    }
