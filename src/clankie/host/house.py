"""What every use case works with: the ports, the feed, and the settings as they stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clankie.core.settings import DEFAULTS, Settings, merge

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from clankie.host.captain import Captain
    from clankie.host.feed import Feed
    from clankie.host.ports import (
        Clock,
        Credentials,
        Ids,
        Lane,
        McpBank,
        ModelChoices,
        Processes,
        Rooms,
        Seats,
        Workspaces,
    )
    from clankie.host.seats.desk import Desk
    from clankie.host.spending import Spent
    from clankie.host.storage import Store
    from clankie.host.tokens import Tokens


@dataclass(slots=True, kw_only=True)
class House:
    """The wired service.

    `saved` are the stored settings, `override` what the environment lays over them for this run;
    `settings` is what counts. `captain` runs the conversations. `desk` has the seats in memory and
    is what `seats` asks. `stopping` refuses new input while the service goes down.
    """

    store: Store
    clock: Clock
    ids: Ids
    lane: Lane
    desk: Desk
    seats: Seats
    rooms: Rooms
    processes: Processes
    credentials: Credentials
    models: ModelChoices
    mcp: McpBank
    workspaces: Workspaces
    feed: Feed
    captain: Captain
    tokens: Tokens
    started_at: datetime
    spent: Spent
    goals: set[str] = field(default_factory=set[str])
    announced: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    override: Mapping[str, object] = field(default_factory=dict[str, object])
    saved: Settings = DEFAULTS
    settings: Settings = DEFAULTS
    settings_revision: int = 0
    stopping: bool = False

    def use_settings(self, saved: Settings, revision: int) -> None:
        """Work with these from now on, under the override."""
        self.saved, self.settings_revision = saved, revision
        self.settings = merge(saved, self.override)
