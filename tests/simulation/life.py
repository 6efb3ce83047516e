"""One life from its seed: boots, crashes, and what is checked at each of them."""

import asyncio
import logging
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clankie.core.settings import DAY
from clankie.host.feed import Feed
from clankie.host.house import House
from clankie.store.sqlite.store import SqliteStore
from clankie.wiring.config import Config
from clankie.wiring.house import Ports, open_house
from fakes.crash import Crash
from fakes.loop import StuckError, VirtualLoop
from simulation import checks, seat_checks
from simulation.clients import Clients
from simulation.deadlines import counted
from simulation.disk import under
from simulation.glass import Glass, Sight
from simulation.hall import Hall, Spy
from simulation.lanes import RandomLane, RandomRooms, UnruledError
from simulation.ledger import Ledger
from simulation.world import Doom, World

POINTS = tuple(
    f"{kind}.{side}-commit"
    for kind in (
        *("admit", "reserve", "start", "release", "refuse", "join", "tool_started", "tool_ended"),
        *("settle", "settle", "cancel", "abandon", "release_held", "conversation", "create"),
        *("wake", "owner", "boot", "prune"),
        *("grant", "register", "seat", "asked", "take", "ack", "refused", "reply", "sync"),
        *("join", "lapse", "take_over", "watch", "purge"),
    )
    for side in ("before", "after")
)
REST = 3_000.0
"""Virtual seconds given to everything to come to its end."""

MEMORY = Path("/dev/shm")


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a life."""

    seed: int
    violations: tuple[str, ...]
    digest: str
    boots: int
    runs: int
    inputs: int
    effects: int
    given: int


class _Defects(logging.Handler):
    """What the house notes as a defect is one here too, unless a lane was told to break."""

    def __init__(self, world: World) -> None:
        super().__init__(logging.ERROR)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if not self._world.dead and not isinstance(error, UnruledError):
            self._world.wrong(f"the house notes: {record.getMessage()} {error!r}")


class Life:
    """Boots of one state directory."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ledger = Ledger()
        self.glass = Glass(world.home / "clankie.db")
        self.clients = Clients(world, self.ledger, self.glass)
        self.hall = Hall(world, self.ledger, self.glass, world.home)
        self.clients.more(self.hall.verbs())
        self._migrated = False
        self._before: Sight | None = None
        self._taken_over: list[Sight] = []
        self._left: dict[str, list[str]] = {}
        world.before_boot, world.after_boot = self._before_boot, self._after_boot

    def live(self) -> None:
        """All of it."""
        chance = self.world.chance
        boots = chance.randint(2, 4)
        while self.world.boot < boots and not self.world.violations:
            self._boot(last=self.world.boot == boots - 1)
            self.world.boot += 1
        self.glass.close()

    def _boot(self, *, last: bool) -> None:
        world = self.world
        world.dead = world.calm = world.starting = world.usurped = False
        world.rounds = 0
        if world.likely(0.1):
            # Long enough for receipts to be pruned at the start.
            world.tell("eight days pass")
            world.clock.shift(8 * DAY)
            world.shifted = world.pruned = True
        world.doom = Doom() if last else self._doom()
        self._taken_over.clear()
        world.tell("boot", world.doom)
        killed = _run(world, self._main(last=last))
        world.dead = True
        self.glass.close()
        if not (world.home / "clankie.db").exists():
            return
        sight = self.glass.sight()
        self._expect(checks.always(sight, self.ledger))
        self._expect(seat_checks.always(sight, self.ledger, whole=not world.pruned))
        for taken_over in self._taken_over:
            self._expect(checks.fenced(taken_over, sight))
            self._expect(checks.untouched(self._left, self.glass.everything()))
        if not killed and world.weather.healthy:
            self._expect(checks.stopped(sight))

    def _doom(self) -> Doom:
        chance = self.world.chance
        how = chance.random()
        if how < 0.45:
            return Doom(point=chance.choice(POINTS), passes=chance.choice((1, 1, 2, 3, 6)))
        if how < 0.8:
            return Doom(round=int(chance.expovariate(1 / 1_500)) + 1)
        return Doom()

    def _before_boot(self) -> None:
        self._before = self.glass.sight() if self._migrated else None

    def _after_boot(self) -> None:
        """Right after the commit of a boot, before anything else happens."""
        sight = self.glass.sight()
        if self._before is not None:
            self._expect(checks.over_the_restart(self._before, sight))
        if self.world.usurped:
            self._taken_over.append(sight)
            self._left = self.glass.everything()
        self._migrated = True

    def _expect(self, sentences: Iterator[str]) -> None:
        for sentence in sentences:
            self.world.wrong(sentence)

    async def _main(self, *, last: bool) -> None:
        world = self.world
        config = Config(home=world.home, database=world.home / "clankie.db", override={})
        lane = RandomLane(world, self.ledger, self.glass)
        ports = Ports(
            clock=world.clock,
            ids=world.ids,
            crash=world,
            lane=lane,
            rooms=RandomRooms(world),
            processes=self.hall.processes,
            inline_store=True,
        )
        # A disk that fails during the start is a start that the owner sees fail, and no life.
        world.starting = True
        # Seats are programs of their own: they go on while the service goes down.
        async with asyncio.TaskGroup() as machine:
            async with open_house(config, ports) as house:
                world.starting = False
                if house.settings_revision < self.ledger.settings:
                    world.wrong(f"settings {self.ledger.settings} were saved and are lost")
                self.clients.enter(house)
                self.hall.enter(house, machine, self.clients.places)
                house.seats = Spy(self.hall, house)
                await self._day(house, config, last=last)
            self.hall.leave()

    async def _day(self, house: House, config: Config, *, last: bool) -> None:
        """What happens while the service is there."""
        world = self.world
        async with asyncio.TaskGroup() as tasks:
            followers = [
                tasks.create_task(self.clients.follower(place)) for place in self.clients.places[:2]
            ]
            if not last and world.likely(0.15):
                usurper = tasks.create_task(self._usurped(config))
                await self._busy(house, last=last)
                await usurper
            else:
                await self._busy(house, last=last)
            if last:
                await self._rest(house)
            # A stop without a calm disk may leave outcomes unwritten: that is no fault.
            for one in followers:
                one.cancel()

    async def _busy(self, house: House, *, last: bool) -> None:
        world, chance = self.world, self.world.chance
        async with asyncio.TaskGroup() as tasks:
            weather = tasks.create_task(self._weather())
            await self.hall.begin()
            async with asyncio.TaskGroup() as hands:
                for _ in range(chance.randint(1, 4)):
                    hands.create_task(self.clients.hand(chance.randint(3, 8 if last else 16)))
            weather.cancel()
            await counted(world, house)

    async def _weather(self) -> None:
        """Now and then the wall clock is set, or the machine sleeps."""
        world = self.world
        while world.weather.shifts:
            await world.clock.sleep(world.chance.expovariate(1 / 60))
            seconds = world.chance.choice((-3_600, -1, 0.5, 60, 9 * 3_600))
            world.tell("the wall clock jumps", seconds)
            world.shifted = True
            world.clock.shift(seconds)

    async def _usurped(self, config: Config) -> None:
        """Another node takes the log over while this one still runs, and then this one dies.

        Meanwhile its owner, its lanes and its seats go on as if nothing had happened.
        """
        world = self.world
        await world.pause(20.0)
        world.tell("taken over")
        world.usurped = True
        store = SqliteStore(
            config.database,
            clock=world.clock,
            ids=world.ids,
            crash=world,
            committed=Feed().published,
            inline=True,
            durable=False,
        )
        async with store:
            world.starting = True
            await store.boot()
            world.starting = False
            await world.clock.sleep(world.chance.choice((1.0, 30.0, 400.0)))
        world.die("taken over")
        world.alive()

    async def _rest(self, house: House) -> None:
        """Nothing goes wrong any more; whatever can end must end."""
        world = self.world
        world.calm = True
        world.tell("calm")
        self.hall.calm()
        await world.clock.sleep(REST)
        sight = self.glass.sight()
        now = int(world.clock.now().timestamp() * 1_000)
        self._expect(checks.at_rest(sight, now))
        self._expect(seat_checks.at_rest(sight, now))
        if not world.shifted:
            wakes = house.settings.wakes
            self._expect(checks.backoffs(sight, wakes.first_backoff, wakes.attempts))
        heads = {one["id"]: one["cursor"] for one in sight.conversations}
        for place, heard in self.clients.heard.items():
            # Of a commit that nobody could tell of, readers hear with the next one.
            whole = heard == list(range(1, heads[place] + 1))
            begun = world.lost and heard == list(range(1, len(heard) + 1))
            if not (whole or begun):
                world.wrong(f"a follower of {place} heard {heard}, the log has {heads[place]}")
        if house.captain.snapshot():
            world.wrong(f"at rest it says that it runs {house.captain.snapshot()}")


def _run(world: World, main: Coroutine[Any, Any, None]) -> bool:
    """Run a boot to its end; whether it was killed."""
    loop = VirtualLoop(world.clock, world.each_round)
    asyncio.set_event_loop(loop)
    loop.set_exception_handler(world.complaint)
    task = loop.create_task(main)
    task.add_done_callback(lambda _: loop.stop())
    try:
        loop.run_forever()
    except StuckError as error:
        world.wrong(str(error))
        world.dead = True
    killed = world.dead
    if not killed:
        if task.exception() is not None:
            world.wrong(f"the house ended with {task.exception()!r}")
        if left := asyncio.all_tasks(loop):
            world.wrong(f"the house left tasks behind: {left}")
    world.dead = True
    _bury(loop)
    return killed


def _bury(loop: VirtualLoop) -> None:
    """Let what is left of a killed process go. The disk takes nothing from it any more."""
    loop.set_exception_handler(lambda *_: None)
    for _ in range(20):
        left = asyncio.all_tasks(loop)
        if not left:
            break
        for one in left:
            one.cancel()
        try:
            loop.run_until_complete(asyncio.wait(left, timeout=1.0))
        except (StuckError, Crash, RuntimeError):
            continue
    for one in asyncio.all_tasks(loop):
        one._log_destroy_pending = False  # type: ignore[attr-defined]  # it died with its process
    asyncio.set_event_loop(None)
    loop.close()


@contextmanager
def _state_directory() -> Iterator[Path]:
    where = tempfile.mkdtemp(prefix="clankie-life-", dir=MEMORY if MEMORY.is_dir() else None)
    try:
        yield Path(where)
    finally:
        shutil.rmtree(where)


def simulate(seed: int, show: Callable[[str], None] | None = None) -> Result:
    """Live the life of this seed."""
    logger = logging.getLogger("clankie")
    with _state_directory() as home:
        world = World(seed, home, show)
        life = Life(world)
        defects = _Defects(world)
        logger.addHandler(defects)
        logger.propagate = False
        try:
            with under(world):
                life.live()
        finally:
            logger.removeHandler(defects)
            logger.propagate = True
        return Result(
            seed=seed,
            violations=tuple(world.violations),
            digest=world.digest,
            boots=world.boot,
            runs=len(life.ledger.runs),
            inputs=len(life.ledger.promised),
            effects=len(life.ledger.effects),
            given=len(life.ledger.seats.given),
        )
