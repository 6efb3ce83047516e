"""The open event streams and the parked polls: how many, whose, and how to end them."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clankie.api.errors import TooManyStreamsError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from clankie.api.auth import Caller
    from clankie.core.conversation import Author
    from clankie.core.settings import StreamLimits


@dataclass(eq=False, slots=True)
class Stream:
    """One open stream, or one parked poll. `end` makes it stop at once."""

    caller: Caller
    end: Callable[[], None]


class Streams:
    """All of them."""

    def __init__(self) -> None:
        self._open: set[Stream] = set()
        self._each: Counter[Author] = Counter()
        self._parked: set[Stream] = set()

    def __len__(self) -> int:
        return len(self._open)

    def check(self, caller: Caller, limits: StreamLimits) -> None:
        """Whether there is room for one more. Raises TooManyStreamsError."""
        if self._each[caller.author] >= limits.per_principal:
            raise TooManyStreamsError(limits.per_principal)
        if len(self._open) >= limits.total:
            raise TooManyStreamsError(limits.total)

    @contextmanager
    def opened(self, caller: Caller, end: Callable[[], None]) -> Generator[None]:
        """Count it while it is open."""
        stream = Stream(caller, end)
        self._open.add(stream)
        self._each[caller.author] += 1
        try:
            yield
        finally:
            self._open.discard(stream)
            self._each[caller.author] -= 1
            if not self._each[caller.author]:
                del self._each[caller.author]

    @contextmanager
    def parked(self, caller: Caller, end: Callable[[], None]) -> Generator[None]:
        """A poll that waits: it ends with its token, and counts as no stream."""
        poll = Stream(caller, end)
        self._parked.add(poll)
        try:
            yield
        finally:
            self._parked.discard(poll)

    def revoked(self, token: str) -> None:
        """End every stream and poll that this token opened."""
        self.sweep(lambda one: one != token)

    def sweep(self, alive: Callable[[str], bool]) -> None:
        """End every stream and poll whose token opens nothing any more."""
        for stream in [one for one in self._open | self._parked if not alive(one.caller.token)]:
            stream.end()
