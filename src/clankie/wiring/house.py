"""Builds the house from its config and takes it down again, in order."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from clankie.host import journal, models, spending, tokens
from clankie.host.captain import Captain
from clankie.host.clock import NoCrash, SystemClock, SystemIds
from clankie.host.feed import Feed
from clankie.host.house import House
from clankie.host.seats import keeping
from clankie.host.seats.desk import Desk
from clankie.host.spending import Spent
from clankie.host.tokens import Tokens
from clankie.lanes.bank import Bank
from clankie.lanes.mcp.link import Means
from clankie.lanes.mcp.pins import FilePins
from clankie.lanes.mcp.servers import McpServers
from clankie.lanes.service import ServiceLane
from clankie.lanes.workspace import CheckedWorkspaces
from clankie.store.keyring_vault import KEYRING, ChosenCredentials, keyring_of
from clankie.store.sqlite.store import SqliteStore
from clankie.wiring.home import operator_token
from clankie.wiring.plain import NoRooms
from clankie.wiring.processes import LinuxProcesses

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from clankie.host.ports import (
        Clock,
        CrashPoint,
        Ids,
        Lane,
        McpBank,
        ModelChoices,
        Processes,
        Rooms,
        Seats,
        Workspaces,
    )
    from clankie.host.storage import Recovered
    from clankie.wiring.config import Config


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """What a test may put in place of the real thing."""

    clock: Clock = field(default_factory=SystemClock)
    ids: Ids = field(default_factory=SystemIds)
    crash: CrashPoint = field(default_factory=NoCrash)
    lane: Lane | None = None
    seats: Seats | None = None
    rooms: Rooms = field(default_factory=NoRooms)
    processes: Processes = field(default_factory=LinuxProcesses)
    models: ModelChoices | None = None
    mcp: McpBank | None = None
    workspaces: Workspaces | None = None
    inline_store: bool = False


@asynccontextmanager
async def open_house(config: Config, ports: Ports | None = None) -> AsyncGenerator[House]:
    """A running house; leaving it stops the turns, writes their outcomes and closes the store.

    The caller holds the lock of the state directory. An exception in the body ends everything at
    once: what ran is found uncertain by the next start.

    Raises:
        StoreError: the database cannot be opened; nothing was touched.
    """
    given = ports or Ports()
    clock, ids = given.clock, given.ids
    secret = operator_token(config.home, ids)
    ring = keyring_of(config.home) if config.keyring else None
    credentials = ChosenCredentials(config.home, ring, os.environ)
    if credentials.source == KEYRING:
        await asyncio.to_thread(credentials.open)
    feed = Feed()
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(
            SqliteStore(
                config.database,
                clock=clock,
                ids=ids,
                crash=given.crash,
                committed=feed.published,
                inline=given.inline_store,
            )
        )
        # Left after the captain: servers of tools end when no turn needs them any more.
        means = Means(clock=clock, ids=ids, credentials=credentials, pins=_pins(config))
        outside = await stack.enter_async_context(McpServers(lambda: house.settings, means))
        service = await stack.enter_async_context(
            ServiceLane(clock=clock, ids=ids, credentials=credentials, bank=Bank(outside))
        )
        recovered = await store.boot()
        house = House(
            store=store,
            clock=clock,
            ids=ids,
            lane=given.lane or service,
            desk=(desk := Desk(clock, lambda: house.settings.seats)),
            seats=given.seats or desk,
            rooms=given.rooms,
            processes=given.processes,
            credentials=credentials,
            models=given.models or service.chooser,
            mcp=given.mcp or outside,
            workspaces=given.workspaces or _workspaces(config),
            feed=feed,
            captain=Captain(),
            tokens=Tokens.for_operator(secret, clock.now()),
            started_at=clock.now(),
            spent=Spent(clock.now().date()),
            override=config.override,
        )
        await _made_ready(house, recovered)
        async with house.captain.at_work(house):
            yield house


async def _made_ready(house: House, recovered: Recovered) -> None:
    """Everything that the store remembers, before the first turn."""
    revision, saved = await house.store.owner.settings()
    house.use_settings(saved, revision)
    house.feed.ring = house.settings.streams.ring
    await tokens.load(house)
    await spending.load(house)
    await keeping.load(house)
    journal.note(
        "recovered", uncertain=list(recovered.uncertain), released=list(recovered.released)
    )
    await models.begin(house)


def _pins(config: Config) -> FilePins:
    return FilePins(config.home / "mcp-pins.json")


def _workspaces(config: Config) -> CheckedWorkspaces:
    return CheckedWorkspaces([config.home, config.database], Path.home())
