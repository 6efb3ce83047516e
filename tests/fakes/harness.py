"""The port Harness: takes words as a test says, and shows what a test lets it."""

import asyncio
from collections.abc import AsyncIterator, Callable

from clankie.core.seat import Capabilities, EventKind, Native, SeatEvent
from clankie.seats.port import Declaration, Handed, Seen, Taken, Way

WAY = Way(delivers="it is put into a list", proof="the list has it", refusal="none")
Decide = Callable[[SeatEvent], Handed | Exception | None]


def _taken(event: SeatEvent) -> Handed:
    return Taken(proof=f"list:{event.id}")


class FakeHarness:
    """`given` is every hand-over. `decide` answers it: an outcome, an error, None: never."""

    def __init__(
        self,
        decide: Decide = _taken,
        kinds: frozenset[EventKind] = frozenset(EventKind),
    ) -> None:
        self.given: list[tuple[str, int]] = []
        self.interrupted: list[str] = []
        self.answered: list[tuple[str, bool]] = []
        self.stops = True
        self._decide = decide
        self._seen: asyncio.Queue[Seen | Exception | None] = asyncio.Queue()
        self.declaration = Declaration(
            harness="fake",
            ways=dict.fromkeys(kinds, WAY),
            capabilities=Capabilities(kinds=kinds),
            tested=("1.0",),
        )
        self.native = Native("session-1", 4242)

    async def hand_over(self, event: SeatEvent) -> Handed:
        self.given.append((event.id, event.attempt))
        outcome = self._decide(event)
        if outcome is None:
            await asyncio.Event().wait()
        if isinstance(outcome, Exception):
            raise outcome
        assert outcome is not None
        return outcome

    async def interrupt(self, event: str) -> bool:
        self.interrupted.append(event)
        return self.stops

    async def answer(self, question: str, *, approve: bool) -> bool:
        self.answered.append((question, approve))
        return self.stops

    def show(self, seen: Seen | Exception | None) -> None:
        """What `seen` gives next; None ends it."""
        self._seen.put_nowait(seen)

    async def seen(self) -> AsyncIterator[Seen]:
        while (one := await self._seen.get()) is not None:
            if isinstance(one, Exception):
                raise one
            yield one
