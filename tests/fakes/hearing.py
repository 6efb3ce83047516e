"""Hearing a harness to its end."""

from collections.abc import AsyncIterator
from typing import Protocol

from clankie.seats.port import Seen


class Speaks(Protocol):
    """What has `seen`: an adapter's harness, or a part of one."""

    def seen(self) -> AsyncIterator[Seen]: ...


async def all_of(harness: Speaks) -> list[Seen]:
    """All that it shows; none of it may be its end. What it raises is raised."""
    heard: list[Seen] = []
    async for one in harness.seen():
        assert one.observation is None or not one.observation.ended, "nobody knows that"
        heard.append(one)
    return heard
