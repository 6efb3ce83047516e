"""What every use case works with: the ports, the feed, and the settings as they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clankie.core.settings import DEFAULTS, Settings

if TYPE_CHECKING:
    from datetime import datetime

    from clankie.host.captain import Captain
    from clankie.host.feed import Feed
    from clankie.host.ports import Clock, Credentials, Ids, Lane, Rooms, Seats, Store
    from clankie.host.tokens import Tokens


@dataclass(slots=True, kw_only=True)
class House:
    """The wired service. `settings` is replaced whole when the owner changes it.

    `captain` runs the conversations. `stopping` refuses new input while the service goes down.
    """

    store: Store
    clock: Clock
    ids: Ids
    lane: Lane
    seats: Seats
    rooms: Rooms
    credentials: Credentials
    feed: Feed
    captain: Captain
    tokens: Tokens
    started_at: datetime
    settings: Settings = DEFAULTS
    settings_revision: int = 0
    stopping: bool = False
