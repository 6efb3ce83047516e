"""Moments of the monotonic clock at which somebody has to look again, by name."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

Name = TypeVar("Name", bound=Hashable)

SPARE: Final = 64
"""Moments that were moved and still lie in the heap are cleared out beyond this many and half."""


class Alarms(Generic[Name]):
    """At most one moment for each name. `changed` is set when the next one became sooner."""

    def __init__(self) -> None:
        self._at: dict[Name, float] = {}
        self._heap: list[tuple[float, int, Name]] = []
        self._count = 0
        self.changed = asyncio.Event()

    def put(self, name: Name, at: float | None) -> None:
        """Look at that moment, in place of any other for this name; None: not at all."""
        if at is None:
            self._at.pop(name, None)
            return
        if self._at.get(name) == at:
            return
        sooner = self.next()
        self._at[name] = at
        self._count += 1
        heapq.heappush(self._heap, (at, self._count, name))
        if len(self._heap) > SPARE + 2 * len(self._at):
            # A seat that asks often moves its far moments often; the old ones would stay till then.
            self._heap = [(when, n, one) for n, (one, when) in enumerate(self._at.items())]
            heapq.heapify(self._heap)
        if sooner is None or at < sooner:
            self.changed.set()

    def has(self, name: Name) -> bool:
        """Whether somebody looks at it sometime."""
        return name in self._at

    def next(self) -> float | None:
        """The soonest moment."""
        while self._heap and self._at.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, now: float) -> list[Name]:
        """The names whose moment has come, soonest first; they have none any more."""
        names: list[Name] = []
        while (at := self.next()) is not None and at <= now:
            _, _, name = heapq.heappop(self._heap)
            del self._at[name]
            names.append(name)
        return names
