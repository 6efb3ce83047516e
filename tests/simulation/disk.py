"""A disk that is slow, full, or does not tell: put under the real store of this process."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar
from unittest.mock import patch

from clankie.core.errors import (
    CommitUnknownError,
    ReceiptsUnreadableError,
    StorageUnavailableError,
)
from clankie.store.sqlite import store as real
from clankie.store.sqlite.readers import InlineReaders
from clankie.store.sqlite.store import SqliteStore
from clankie.store.sqlite.unit import Done, Unit
from clankie.store.sqlite.writer import InlineWriter
from clankie.wiring import house as wiring
from simulation.world import World

T = TypeVar("T")


class SlowWriter(InlineWriter):
    """Writes later, so that more units share a batch and callers leave meanwhile; may fail."""

    world: World

    def _drain(self) -> None:
        if self._closed or not self.world.likely(self.world.weather.slow):
            super()._drain()
        elif self.world.likely(0.7):
            self._after(self.world.chance.randint(1, 8))
        else:
            seconds = self.world.chance.choice((0.001, 0.02, 0.3, 4.0))
            asyncio.get_running_loop().call_later(seconds, super()._drain)

    def _after(self, rounds: int) -> None:
        step: Callable[..., None] = super()._drain if rounds == 0 else self._after
        asyncio.get_running_loop().call_soon(step, *([rounds - 1] if rounds else []))

    def _run(self, units: list[Unit]) -> Done:
        if not units or self.world.calm or self.world.starting:
            return super()._run(units)
        if self.world.likely(self.world.weather.full):
            return self._failed(units, StorageUnavailableError("disk full"))
        if not self.world.likely(self.world.weather.unknown):
            return super()._run(units)
        if self.world.likely(0.5):
            return self._failed(units, CommitUnknownError("not written"))
        return self._lost(super()._run(units))

    def _failed(self, units: list[Unit], error: Exception) -> Done:
        self.world.tell("disk:", error, len(units))
        for unit in units:
            unit.error = error
        return Done(units)

    def _lost(self, done: Done) -> Done:
        """Written, but the answer is lost: the callers cannot know and no reader is told."""
        if self._dead is not None:
            return done
        self.world.tell("disk: lost answer", len(done.units))
        self.world.lost += 1
        for unit in done.units:
            unit.error = unit.error or CommitUnknownError("lost answer")
        return Done(done.units)


class SlowReaders(InlineReaders):
    """Reads what was there a while ago; may fail."""

    world: World

    async def read(self, work: Callable[[Any], T]) -> T:
        """See Readers."""
        world = self.world
        world.alive()
        if not (world.calm or world.starting) and world.likely(world.weather.unreadable):
            raise ReceiptsUnreadableError("page 7")
        found = await super().read(work)
        if world.likely(world.weather.slow / 2):
            await world.pause(0.05)
        world.alive()
        return found


@contextmanager
def under(world: World) -> Iterator[None]:
    """The store is opened on this world's disk."""
    writer = type("Writer", (SlowWriter,), {"world": world})
    readers = type("Readers", (SlowReaders,), {"world": world})
    with (
        patch.object(real, "InlineWriter", writer),
        patch.object(real, "InlineReaders", readers),
        patch.object(wiring, "SqliteStore", partial(SqliteStore, durable=False)),
    ):
        yield
