"""The ports Clock and Ids for tests: time moves when told to, ids count upwards."""

import asyncio
import heapq
from datetime import UTC, datetime, timedelta

START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
_ROUNDS = 50


class FakeClock:
    """Virtual time. `advance` wakes sleepers in the order of their deadlines, one by one."""

    def __init__(self, start: datetime = START) -> None:
        self._start = start
        self._elapsed = 0.0
        self._shift = timedelta()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0
        self._asleep: list[tuple[int, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        elapsed = timedelta(milliseconds=round(self._elapsed * 1_000))
        return self._start + self._shift + elapsed

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._sleepers, (self._elapsed + seconds, self._count, future))
        self._report()
        await future

    @property
    def sleeping(self) -> int:
        """How many sleep now."""
        return sum(not future.done() for _, _, future in self._sleepers)

    def next_deadline(self) -> float | None:
        """The monotonic time at which the next sleeper wakes."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    async def asleep(self, count: int = 1) -> None:
        """Wait (in real time) until at least `count` tasks sleep on this clock."""
        if self.sleeping < count:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._asleep.append((count, future))
            await future

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass. Whoever wakes runs, and may sleep again, before time goes on."""
        end = self._elapsed + seconds
        await self.settle()
        while (deadline := self.next_deadline()) is not None and deadline <= end:
            self._elapsed = max(self._elapsed, deadline)
            self._wake()
            await self.settle()
        self._elapsed = end
        await self.settle()

    async def advance_to_next(self) -> bool:
        """Go to the next deadline; False when nobody sleeps."""
        deadline = self.next_deadline()
        if deadline is None:
            return False
        await self.advance(max(0.0, deadline - self._elapsed))
        return True

    def shift(self, seconds: float) -> None:
        """Move the wall clock alone: somebody set it, or the machine slept."""
        self._shift += timedelta(seconds=seconds)

    def jump(self, limit: float | None) -> bool:
        """Go to the next deadline, at most `limit` seconds on; False when there is nothing to wait
        for. Whoever sleeps until then is ready to run afterwards."""
        deadline = self.next_deadline()
        if limit is not None:
            end = self._elapsed + limit
            deadline = end if deadline is None else min(deadline, end)
        if deadline is None:
            return False
        self._elapsed = max(self._elapsed, deadline)
        self._wake()
        return True

    async def settle(self) -> None:
        """Let everything that is ready run."""
        for _ in range(_ROUNDS):
            await asyncio.sleep(0)

    def _wake(self) -> None:
        while self._sleepers and self._sleepers[0][0] <= self._elapsed:
            _, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)

    def _report(self) -> None:
        waiting, self._asleep = self._asleep, []
        for count, future in waiting:
            if self.sleeping < count:
                self._asleep.append((count, future))
            elif not future.done():
                future.set_result(None)


class FakeIds:
    """Counts: `attempt-00000000000000000000000001`, `secret-1`."""

    def __init__(self) -> None:
        self._ids = 0
        self._secrets = 0

    def new(self, prefix: str) -> str:
        self._ids += 1
        return f"{prefix}-{self._ids:026d}"

    def secret(self) -> str:
        self._secrets += 1
        return f"secret-{self._secrets:036d}"
