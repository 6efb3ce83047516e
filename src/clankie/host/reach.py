"""What a turn's tools may reach of the house: its own conversation, and others it may read."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from clankie.core.conversation import may_read
from clankie.core.errors import ConversationNotFoundError
from clankie.core.wake import Wake
from clankie.core.watchdog import Marks, Phase
from clankie.host import goals, selfstate

if TYPE_CHECKING:
    from datetime import datetime

    from clankie.core.conversation import Conversation
    from clankie.core.receipt import Delivery
    from clankie.host.house import House
    from clankie.host.storage import EventPage

_WAKE_DIGITS: Final = 26


class TurnOverError(Exception):
    """The turn has ended; what still runs of it must stop and cannot do anything any more."""


class Reach:
    """The part of a turn that its tools use. Each call counts as a sign of life."""

    def __init__(self, house: House, delivery: Delivery) -> None:
        self._house = house
        self.delivery = delivery
        self.marks = Marks(house.clock.monotonic(), Phase.CHECKS)
        self.over = False

    def progress(self) -> None:
        """A sign of life."""
        self.marks = self.marks.progress(self._house.clock.monotonic())

    async def self_state(self) -> dict[str, object]:
        """What `get_self_state` shows."""
        self._alive()
        return await selfstate.describe(self._house, self.delivery.conversation)

    async def attachment(self, digest: str) -> bytes:
        """The bytes of something that was attached. Raises AttachmentNotFoundError."""
        self._alive()
        _, data = await self._house.store.attachments.get(digest)
        self.progress()
        return data

    async def here(self) -> Conversation:
        """The conversation as it stands now."""
        self._alive()
        return await self._house.store.conversations.get(self.delivery.conversation)

    async def workspace(self) -> str | None:
        """The directory this conversation may work in; None where it has none."""
        return (await self.here()).directory

    async def read_conversation(
        self, conversation: str | None, *, before: int | None, limit: int
    ) -> EventPage:
        """The newest events below `before`, of this conversation or of one it may read.

        Raises:
            ConversationNotFoundError: there is none, or it is not for this conversation to see.
        """
        self._alive()
        log = self._house.store.conversations
        wanted = conversation or self.delivery.conversation
        other = await log.get(wanted)
        if not may_read(await log.get(self.delivery.conversation), other):
            raise ConversationNotFoundError(wanted)
        return await log.events_before(wanted, before or other.cursor + 1, limit)

    async def finish_goal(self, *, reached: bool) -> None:
        """End the goal of this conversation. Raises GoalNotFoundError."""
        self._alive()
        await goals.finish(self._house, self.delivery.conversation, reached=reached)

    async def schedule_wake(self, *, due_at: datetime, text: str, call_id: str) -> Wake:
        """Set a wake for this conversation; the same call sets it once."""
        self._alive()
        wake = Wake(
            id=_wake_id(call_id),
            conversation=self.delivery.conversation,
            due_at=due_at,
            text=text,
            depth=self.delivery.depth + 1,
            created_at=self._house.clock.now(),
        )
        await self._house.store.wakes.add(wake, self._house.settings.wakes)
        self._house.captain.wakes_changed()
        return wake

    def _alive(self) -> None:
        if self.over:
            raise TurnOverError


def _wake_id(call_id: str) -> str:
    """The same for the same call; short and plain, as it becomes a delivery's id."""
    return f"wake-{hashlib.sha256(call_id.encode()).hexdigest()[:_WAKE_DIGITS]}"
