"""A whole house for tests: real SQLite on a file, virtual time, a scripted lane."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from clankie.core.admission import Mode, Offer
from clankie.core.conversation import CAPTAIN, OPERATOR, Kind
from clankie.core.ids import HEAD
from clankie.core.receipt import Delivery
from clankie.core.wake import Wake
from clankie.host import conversations, deliveries
from clankie.host.admit import admit
from clankie.host.dispatch import Running
from clankie.host.house import House
from clankie.host.ports import CrashPoint, ModelChoices, Processes, Rooms
from clankie.host.storage import Admitted
from clankie.wiring.config import Config
from clankie.wiring.house import Ports, open_house
from clankie.wiring.plain import NoRooms, SettledModels
from fakes.clock import FakeClock, FakeIds
from fakes.crash import NoCrash
from fakes.lane import ScriptedLane
from fakes.processes import FakeProcesses
from fakes.workspaces import AnyWorkspace

LONG = 86_400.0
"""Virtual seconds that a test waits for an outcome."""


class KilledError(Exception):
    """The process is said to die here: nothing is written any more."""


def die() -> None:
    """End the house at once."""
    raise KilledError


@dataclass(slots=True)
class Hall:
    """The running house, and short words for what tests do most."""

    house: House
    clock: FakeClock
    lane: ScriptedLane
    sent: int = 0

    async def send(self, text: str, delivery_id: str | None = None, **facts: Any) -> Admitted:
        """Admit an owner's message into the head conversation, or as `facts` say."""
        self.sent += 1
        name = delivery_id or f"m-{self.sent}"
        offer = Offer(delivery_id=name, conversation=HEAD, text=text, author=OPERATOR)
        return await admit(self.house, replace(offer, **facts))

    async def steer(self, text: str, delivery_id: str | None = None) -> Admitted:
        return await self.send(text, delivery_id, mode=Mode.STEER)

    async def make(self, name: str) -> str:
        """A further conversation; its id."""
        made, _ = await conversations.create(
            self.house,
            request_id=f"make-{name}",
            name=name,
            kind=Kind.GLOBAL,
            directory=None,
            by=OPERATOR,
        )
        return made.id

    async def wake(self, text: str = "wake up", name: str = "w-1", **facts: Any) -> str:
        """Set a wake, due in a minute or as `facts` say; the id it will be admitted under."""
        now = self.clock.now()
        wake = Wake(
            id=name,
            conversation=HEAD,
            due_at=now + timedelta(seconds=60),
            text=text,
            depth=1,
            created_at=now,
        )
        await self.house.store.wakes.add(replace(wake, **facts), self.house.settings.wakes)
        self.house.captain.wakes_changed()
        return f"{CAPTAIN.principal}/{name}"

    async def ended(self, delivery: str, wait: float = LONG) -> Delivery:
        """Its receipt once it has ended or is uncertain."""
        return await deliveries.read(self.house, delivery, wait)

    async def receipt(self, delivery: str) -> Delivery:
        return await deliveries.read(self.house, delivery)

    async def log(self, conversation: str = HEAD) -> list[dict[str, Any]]:
        """All events in order, as they go to readers."""
        page = await self.house.store.conversations.events_after(conversation, 0, 500)
        return [json.loads(one.data) for one in page.events]

    async def phases(self, delivery: str, conversation: str = HEAD) -> list[str]:
        """The turn phases that the log tells of a delivery."""
        log = await self.log(conversation)
        mine = [one for one in log if one["kind"] == "turn" and one["delivery_id"] == delivery]
        return [one["phase"] for one in mine]

    async def said(self, conversation: str = HEAD) -> list[str]:
        """What was answered there."""
        log = await self.log(conversation)
        return [one["text"] for one in log if one.get("role") == "agent"]

    def running(self, conversation: str = HEAD) -> Running:
        running = self.house.captain.running(conversation)
        assert running is not None
        return running


@dataclass(slots=True)
class Machine:
    """A computer: what of it outlives the house that runs on it."""

    home: Path
    clock: FakeClock
    ids: FakeIds = field(default_factory=FakeIds)
    processes: Processes = field(default_factory=FakeProcesses)

    @asynccontextmanager
    async def on(
        self,
        lane: ScriptedLane | None = None,
        *,
        crash: CrashPoint | None = None,
        override: Mapping[str, object] | None = None,
        models: ModelChoices | None = None,
        rooms: Rooms | None = None,
    ) -> AsyncIterator[Hall]:
        """The house runs; open it again to see what a restart finds. `die` ends it at once."""
        played = lane or ScriptedLane()
        config = Config(home=self.home, database=self.home / "clankie.db", override=override or {})
        ports = Ports(
            clock=self.clock,
            ids=self.ids,
            crash=crash or NoCrash(),
            lane=played,
            workspaces=AnyWorkspace(),
            models=models or SettledModels(),
            rooms=rooms or NoRooms(),
            processes=self.processes,
            inline_store=True,
        )
        try:
            async with open_house(config, ports) as house:
                yield Hall(house, self.clock, played)
        except* KilledError:
            pass
