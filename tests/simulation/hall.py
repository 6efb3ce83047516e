"""All seats of a life: their owner opens, moves and closes them, and each does what it likes."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from clankie.core.conversation import OPERATOR, Author, Principal
from clankie.core.driver import Presence, Standing
from clankie.core.errors import ClankieError
from clankie.core.ids import HEAD
from clankie.core.seat import Activity
from clankie.core.session import Peer
from clankie.host.house import House
from clankie.host.seats import approvals, attachment, grants, registration, roster
from clankie.host.seats.chair import Chair
from clankie.seats.folder import made
from fakes.processes import UID, FakeProcesses
from simulation.bridges import AwayError, Bridge, Place
from simulation.deadlines import counted
from simulation.glass import Glass
from simulation.ledger import Ledger
from simulation.programs import HARNESS, Program
from simulation.world import World

HOLD, PRESUMED = 45.0, 120.0
"""Seconds: how long a silent seat is waited for, and what is remembered over a restart."""

MOST = 4
"""Harness processes of a life."""

Verb = Callable[[], Awaitable[None]]
BEGINNINGS = (
    ("resume", True),
    ("startup", True),
    ("compact", True),
    ("compact", False),
    ("clear", False),
    ("clear", False),
    ("resume", False),
    ("fork", False),
)


@dataclass(frozen=True, slots=True)
class Spy:
    """The port Seats: what the desk says, held against what the polls were."""

    hall: "Hall"
    house: House

    def standing(self, conversation: str) -> Standing | None:
        """What the desk says."""
        found = self.house.desk.standing(conversation)
        self.hall.look(self.house.desk.at(conversation), found)
        return found


class Hall:
    """Programs with their bridges, in whatever boot."""

    def __init__(self, world: World, ledger: Ledger, glass: Glass, home: Path) -> None:
        self._world, self._ledger, self._home = world, ledger, home
        self._place = Place(world, ledger, glass, lambda: self.house)
        self._house: House | None = None
        self._tasks: asyncio.TaskGroup | None = None
        self._running: list[asyncio.Task[None]] = []
        self._programs = 0
        self._touched = self._began = 0.0
        self._presumed: set[str] = set()
        self.processes = FakeProcesses()
        self.bridges: list[Bridge] = []
        self.wanted = world.chance.choice((0, 1, 1, 2, 3))
        self.places: list[str] = [HEAD]

    @property
    def house(self) -> House:
        """Raises AwayError."""
        if self._house is None or self._house.stopping:
            raise AwayError
        return self._house

    def enter(self, house: House, tasks: asyncio.TaskGroup, places: list[str]) -> None:
        """The service is there."""
        self._house, self._tasks, self.places = house, tasks, places
        self._touched = self._began = self._world.clock.monotonic()
        self._presumed = self._place.glass.asked_within(self._world.clock.now(), PRESUMED - 1.0)
        for bridge in self.bridges:
            bridge.boots()
            self._set_going(bridge)

    def leave(self) -> None:
        """It is gone in good order."""
        self._house = None
        for task in self._running:
            task.cancel()
        self._running.clear()

    def _set_going(self, bridge: Bridge) -> None:
        assert self._tasks is not None
        self._running += [
            self._tasks.create_task(bridge.work()),
            self._tasks.create_task(self._plays(bridge)),
        ]

    def verbs(self) -> list[tuple[int, Verb]]:
        """What an owner does with seats, with how often."""
        if not self.wanted:
            return []
        return [
            (6, self._open),
            (3, self._compete),
            (2, self._again),
            (3, self._attach),
            (3, self._detach),
            (1, self._retire),
            (2, lambda: _looks_around(self._world, self.house, self.places)),
            (1, self._question),
        ]

    def calm(self) -> None:
        """From here on the last that live behave well; some die first."""
        self._touched = self._world.clock.monotonic()
        for bridge in self.bridges[:-1]:
            bridge.program.alive = False
        if self.bridges and self._world.likely(0.5):
            self.bridges[-1].program.alive = False

    # ── the owner ────────────────────────────────────────────────────────────────────────────────

    def _where(self) -> str:
        chance = self._world.chance
        return HEAD if chance.random() < 0.6 else chance.choice(self.places)

    async def begin(self) -> None:
        """A life with seats has one early."""
        if self.wanted and self._world.likely(0.8):
            with suppress(ClankieError):
                await self._open()

    async def _open(self) -> None:
        if self._programs < min(MOST, self.wanted + 1):
            place = self._where()
            secret = await self._grant(place)
            await self._register(secret)

    async def _compete(self) -> None:
        """Two harnesses want the same place at once."""
        if self._programs + 2 > MOST or self.wanted < 2:
            return
        place = self._where()
        secrets = [await self._grant(place), await self._grant(place)]
        async with asyncio.TaskGroup() as tasks:
            both = [tasks.create_task(self._tries(self._register(one))) for one in secrets]
        self._world.alive()
        won = [one.result() for one in both].count(True)
        self._world.tell("competed for", place, won)
        if won > 1 and self._world.weather.healthy:
            self._world.wrong(f"two seats won {place} at once")

    async def _tries(self, work: Awaitable[None]) -> bool:
        try:
            await work
        except ClankieError as error:
            self._world.tell("register", error.code)
            return False
        return True

    def _attached(self, place: str) -> str | None:
        chair = self.house.desk.at(place)
        return None if chair is None else chair.seat.id

    async def _grant(self, place: str) -> str:
        expected = self._attached(place) if self._world.likely(0.8) else grants.UNSET
        _, secret = await grants.issue(
            self.house, conversation=place, harness=HARNESS, uid=UID, new=False, expected=expected
        )
        self._world.alive()
        return secret

    async def _again(self) -> None:
        """A harness that has a seat registers anew: its bridge was set up again."""
        living = [one for one in self.bridges if one.program.alive]
        if living:
            program = self._world.chance.choice(living).program
            await self._register(await self._grant(self._where()), program)

    async def _register(self, secret: str, program: Program | None = None) -> None:
        world = self._world
        if program is None:
            self._programs += 1
            program = Program(world, self._ledger, 100 + self._programs)
        self._touched = world.clock.monotonic()
        seat, _ = await registration.register(
            self.house,
            secret=secret,
            harness=HARNESS,
            native=program.native,
            pane=None,
            fleet="local",
            capabilities=program.capabilities,
            peer=Peer(program.pid, UID),
        )
        world.alive()
        world.tell("registered", seat.id, seat.conversation)
        for one in self.bridges:
            if one.seat == seat.id:
                return
            one.gone = one.gone or one.program is program  # its harness has another bridge now
        folder = made(str(self._home), seat.id)
        bridge = Bridge(self._place, program, seat.id, folder)
        self.bridges.append(bridge)
        self._set_going(bridge)

    async def _attach(self) -> None:
        world, place = self._world, self._where()
        if not self.bridges:
            return
        bridge = world.chance.choice(self.bridges)
        expected = self._attached(place) if world.likely(0.8) else None
        by = OPERATOR if world.likely(0.7) else Author(Principal.SEAT, bridge.seat)
        self._touched = world.clock.monotonic()
        done = await attachment.attach(self.house, bridge.seat, place, expected, by)
        world.alive()
        world.tell("attached", bridge.seat, place, done.running)

    async def _detach(self) -> None:
        if self.bridges:
            found = self._attached(self._where())
            one = self._world.chance.choice(self.bridges)
            bridge = next((it for it in self.bridges if it.seat == found), one)
            self._touched = self._world.clock.monotonic()
            await attachment.detach(self.house, bridge.seat, OPERATOR, "detached")
            self._world.alive()
            self._world.tell("detached", bridge.seat)

    async def _retire(self) -> None:
        if self.bridges:
            bridge = self._world.chance.choice(self.bridges)
            self._touched = self._world.clock.monotonic()
            await roster.retire(self.house, bridge.seat, OPERATOR)
            self._world.alive()
            self._world.tell("retired", bridge.seat)

    async def _question(self) -> None:
        if not self.bridges:
            return
        bridge = self._world.chance.choice(self.bridges)
        name = f"q-{bridge.seat}-{self._world.chance.randrange(3)}"
        await approvals.post(self.house, bridge.seat, id=name, summary="May I?")
        await approvals.decide(self.house, name, "approve", "pending")

    # ── what harnesses do ────────────────────────────────────────────────────────────────────────

    async def _plays(self, bridge: Bridge) -> None:
        """A harness with a mind of its own."""
        world, program = self._world, bridge.program
        while program.alive and not bridge.gone:
            try:
                await self._plays_once(bridge)
            except AwayError:
                await world.clock.sleep(3.0)
            except ClankieError as error:
                world.tell(bridge.seat, "harness", error.code)
                await world.clock.sleep(1.0)
            world.alive()

    async def _plays_once(self, bridge: Bridge) -> None:
        world, program = self._world, bridge.program
        if world.calm:
            await self._calmly(bridge)
            return
        await world.pause(6.0)
        if bridge.renew and world.likely(0.5):
            await self._session(bridge)
        if program.busy and world.likely(0.7):
            await program.ends(self.house, bridge.seat)
            return
        own = (self._turn, self._session, self._late, _dies, Bridge.meddles)
        more = (program.types, program.limited, program.wakes)
        if world.likely(0.84):
            await world.chance.choices(own, (60, 8, 6, 3, 14))[0](bridge)
        else:
            await world.chance.choices(more, (8, 3, 4))[0](self.house, bridge.seat)

    async def _calmly(self, bridge: Bridge) -> None:
        """It works off what it has, at once."""
        program, house = bridge.program, self.house
        chair = house.desk.chair(bridge.seat)
        if chair.seat.conversation is not None:
            if chair.seat.stale:
                self._touched = self._world.clock.monotonic()
                await program.begins(house, bridge.seat, "clear", same=False)
            if program.inbox or program.unanswered:
                await program.turn(house, bridge.seat, bridge.reply, 0.0)
                await bridge.says()
            elif program.busy:
                await program.ends(house, bridge.seat)
        await self._world.clock.sleep(1.0 if program.inbox else 4.0)

    async def _turn(self, bridge: Bridge) -> None:
        program, chance = bridge.program, self._world.chance
        if program.inbox or chance.random() < 0.1:
            pause = chance.choice((1.0, 5.0, 60.0, 500.0))
            await program.turn(self.house, bridge.seat, bridge.reply, pause)

    async def _session(self, bridge: Bridge) -> None:
        source, same = self._world.chance.choice(BEGINNINGS)
        if bridge.renew:
            bridge.renew, source, same = False, "clear", False
        self._touched = self._world.clock.monotonic()
        await bridge.program.begins(self.house, bridge.seat, source, same=same)

    async def _late(self, bridge: Bridge) -> None:
        """An older session still has something to say."""
        program = bridge.program
        if program.former:
            old = self._world.chance.choice(program.former)
            activity = self._world.chance.choice((None, *Activity))
            await program.sync(self.house, bridge.seat, activity, old)

    # ── what the desk may say ────────────────────────────────────────────────────────────────────

    def look(self, chair: Chair | None, found: Standing | None) -> None:
        """Is a seat that asks there, and one that is long silent not?

        Only where the disk is quick and well: else the desk learns of things later.
        """
        world, now = self._world, self._world.clock.monotonic()
        if world.weather.slow or not world.weather.healthy or world.usurped:
            return
        if chair is None or chair.parked(world.clock.now()):
            return
        bridge = next((one for one in self.bridges if one.seat == chair.seat.id), None)
        if bridge is None:
            return
        presence = None if found is None else found.presence
        self._anew(bridge, presence, now - self._began)
        if now - self._touched > HOLD + 5.0:
            self._long_there(bridge, chair.seat.conversation, presence)

    def _anew(self, bridge: Bridge, presence: Presence | None, age: float) -> None:
        """Shortly after a start: whoever asked shortly before it counts as there."""
        asked = bridge.waiting is not None or bridge.ended is not None or bridge.broke
        quiet = self._touched == self._began and not asked
        presumed = quiet and bridge.seat in self._presumed and age < HOLD - 0.5
        if presumed and presence is Presence.ABSENT:
            self._world.wrong(f"{bridge.seat} asked shortly before the start, and is given up")

    def _long_there(
        self, bridge: Bridge, conversation: str | None, presence: Presence | None
    ) -> None:
        world, now = self._world, self._world.clock.monotonic()
        if bridge.waiting is not None and now - bridge.waiting > 0.5:
            if presence is not Presence.LIVE:
                world.wrong(f"{bridge.seat} asks, and is said to be {presence}")
        elif bridge.waiting is None and bridge.ended is not None:
            _silent(world, bridge, conversation, presence, now - bridge.ended)


async def _dies(bridge: Bridge) -> None:
    bridge.program.alive = False


async def _looks_around(world: World, house: House, places: list[str]) -> None:
    await counted(world, house)
    for view in await roster.listed(house):
        world.tell("roster", view.seat.id, view.state, view.waiting, view.in_flight)
    for place in places:
        roster.driver(house, place)


def _silent(
    world: World,
    bridge: Bridge,
    conversation: str | None,
    presence: Presence | None,
    silence: float,
) -> None:
    hold = HOLD if conversation == HEAD else 30.0
    if silence > hold + 0.5 and presence is not Presence.ABSENT:
        world.wrong(f"{bridge.seat} is silent for {silence} s, and is {presence}")
    if conversation == HEAD and silence < hold - 0.5 and presence is Presence.ABSENT:
        world.wrong(f"{bridge.seat} is given up after {silence} s of silence")
