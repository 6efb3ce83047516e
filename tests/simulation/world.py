"""What outlives a process: time, disk, chance, and the record of what was seen from outside.

A life is a row of boots of the same state directory. Each ends by a kill at some point, or by a
stop in good order. Everything that could differ from run to run is drawn from one seed.
"""

import asyncio
import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakes.clock import FakeClock, FakeIds
from fakes.crash import Crash

ROUNDS = 60_000
"""Rounds of the event loop in one boot after which it is said never to come to rest."""


@dataclass(slots=True)
class Weather:
    """How bad this life is: chances from 0 to 1, drawn once. `gloom`: no wake is ever answered."""

    full: float
    unknown: float
    unreadable: float
    slow: float
    shifts: float
    gloom: bool

    @classmethod
    def draw(cls, chance: random.Random) -> "Weather":
        """Half of the lives have a healthy disk, so that rules can be checked that need one."""
        rough = chance.random() < 0.5
        return cls(
            full=0.03 * rough * chance.random(),
            unknown=0.12 * rough * chance.random(),
            unreadable=0.004 * rough * chance.random(),
            slow=chance.choice((0.0, 0.1, 0.3)),
            shifts=chance.choice((0.0, 0.0, 1.0)),
            gloom=chance.random() < 0.3,
        )

    @property
    def healthy(self) -> bool:
        """Whether the disk never fails."""
        return self.full == self.unknown == self.unreadable == 0


@dataclass(slots=True)
class Doom:
    """How a boot ends when it does not stop in good order: the first of these that comes."""

    point: str | None = None
    passes: int = 0
    round: int | None = None


@dataclass
class World:
    """One life."""

    seed: int
    home: Path
    show: Callable[[str], None] | None = None
    clock: FakeClock = field(default_factory=FakeClock)
    ids: FakeIds = field(default_factory=FakeIds)
    violations: list[str] = field(default_factory=list)
    boot: int = 0
    rounds: int = 0
    dead: bool = False
    calm: bool = False
    starting: bool = False
    shifted: bool = False
    pruned: bool = False
    lost: int = 0
    doom: Doom = field(default_factory=Doom)
    usurped: bool = False
    before_boot: Callable[[], None] = lambda: None
    after_boot: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.weather = Weather.draw(self.chance)
        self._digest = hashlib.sha256()

    # ── what is told ─────────────────────────────────────────────────────────────────────────────

    def tell(self, *words: object) -> None:
        """One line of the trace. Two runs of a seed tell the same."""
        line = f"{self.boot} {self.clock.monotonic():10.3f} {' '.join(map(str, words))}"
        self._digest.update(line.encode())
        if self.show is not None:
            self.show(line)

    @property
    def digest(self) -> str:
        """What was told, in short."""
        return self._digest.hexdigest()[:16]

    def wrong(self, sentence: str) -> None:
        """A promise was broken."""
        self.tell("WRONG", sentence)
        self.violations.append(sentence)

    # ── death ────────────────────────────────────────────────────────────────────────────────────

    def reach(self, name: str) -> None:
        """The port CrashPoint."""
        if self.dead:
            raise Crash(name)
        if name == "boot.before-commit":
            self.before_boot()
        elif name == "boot.after-commit":
            self.after_boot()
        if name == self.doom.point:
            self.doom.passes -= 1
            if self.doom.passes <= 0:
                self.die(name)
                raise Crash(name)

    def each_round(self) -> None:
        """Called by the event loop before each of its rounds."""
        if self.dead:
            return
        self.rounds += 1
        if self.rounds == self.doom.round:
            self.die(f"round {self.rounds}")
        elif self.rounds > ROUNDS:
            self.wrong("it does not come to rest")
            self.die("restless")

    def die(self, how: str) -> None:
        """The process is gone: nothing it does from here on counts."""
        if not self.dead:
            self.tell("KILLED at", how)
            self.dead = True
            asyncio.get_running_loop().stop()

    def alive(self) -> None:
        """End whoever asks when the process is gone."""
        if self.dead:
            raise Crash("dead")

    # ── chance ───────────────────────────────────────────────────────────────────────────────────

    def likely(self, probability: float) -> bool:
        """True this often."""
        return self.chance.random() < probability

    async def pause(self, mean: float) -> None:
        """Now at once, now after a few rounds, now after about `mean` seconds."""
        kind = self.chance.random()
        if kind < 0.3:
            for _ in range(self.chance.randrange(4)):
                await asyncio.sleep(0)
        else:
            seconds = min(4 * mean, self.chance.expovariate(1 / mean))
            await self.clock.sleep(round(seconds, 3))
        self.alive()

    def complaint(self, _loop: object, context: dict[str, Any]) -> None:
        """The event loop found something that nobody handles."""
        if not self.dead:
            self.wrong(f"the loop complains: {context.get('message')} {context.get('exception')!r}")
