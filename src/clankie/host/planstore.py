"""What the host needs of the store for what is to come: goals and wakes. As in `storage`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from clankie.core.goal import Goal
from clankie.core.settings import WakeLimits
from clankie.core.wake import Wake


class GoalStore(Protocol):
    """At most one goal of a conversation."""

    async def get(self, conversation: str) -> Goal | None:
        """The goal, whatever its state."""
        ...

    async def active(self) -> Sequence[Goal]:
        """Every active one."""
        ...

    async def put(self, goal: Goal) -> None:
        """Keep a new one in place of any earlier one. Raises ConversationNotFoundError."""
        ...

    async def advance(self, before: Goal, after: Goal) -> bool:
        """Write `after` if what is stored still equals `before`; whether it did."""
        ...

    async def remove(self, conversation: str) -> None:
        """Forget it."""
        ...


class WakeStore(Protocol):
    """Wakes that wait."""

    async def add(self, wake: Wake, limits: WakeLimits) -> None:
        """Keep it if `core.wake.check_new` agrees; the same id twice is once.

        Raises:
            WakeLimitError, InvalidFieldError: from the check.
        """
        ...

    async def list(self, conversation: str | None = None) -> Sequence[Wake]:
        """Waiting ones by due time, then the admitted ones that are held or retried."""
        ...

    async def due(self, now: datetime, limit: int) -> Sequence[Wake]:
        """Those not yet admitted whose time has come."""
        ...

    async def next_due(self, after: datetime) -> datetime | None:
        """The first moment strictly after `after` at which a wake, or the retry of one, is due."""
        ...

    async def conversations_due(self, now: datetime) -> Sequence[str]:
        """Conversations where a retry has become due."""
        ...

    async def remove(self, wake: str) -> None:
        """Forget one that waits. Raises WakeNotFoundError."""
        ...
