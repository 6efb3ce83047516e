"""The ports Seats and Rooms for tests: who is attached, and what a room still allows."""

import asyncio

from clankie.core.driver import Presence, Standing
from clankie.core.receipt import Delivery


class FakeSeats:
    """Attached as a test says."""

    def __init__(self) -> None:
        self._standing: dict[str, Standing] = {}

    def attach(
        self, conversation: str, presence: Presence, *, proven: bool = True, remote: bool = False
    ) -> None:
        self._standing[conversation] = Standing(
            seat="s-1", occupant="o-1", presence=presence, proven=proven, remote=remote
        )

    def detach(self, conversation: str) -> None:
        del self._standing[conversation]

    def standing(self, conversation: str) -> Standing | None:
        return self._standing.get(conversation)


class FakeRooms:
    """Checks as a test says: fine, an error, or no answer."""

    def __init__(self) -> None:
        self.refuses: Exception | None = None
        self.checked: list[str] = []
        self._answer: asyncio.Event | None = None
        self._heeds = True

    def hangs(self, *, heeds: bool) -> None:
        """Give no answer from now on; `heeds` its cancelling or not."""
        self._answer, self._heeds = asyncio.Event(), heeds

    def let_go(self) -> None:
        if self._answer is not None:
            self._answer.set()

    async def check(self, delivery: Delivery) -> None:
        self.checked.append(delivery.id)
        answer = self._answer
        while answer is not None and not answer.is_set():
            try:
                await answer.wait()
            except asyncio.CancelledError:
                if self._heeds:
                    raise
        if self.refuses is not None:
            raise self.refuses
