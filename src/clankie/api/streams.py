"""The open event streams: how many, whose, and how to end them."""

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
    """One open stream. `end` makes it stop at once."""

    caller: Caller
    end: Callable[[], None]


class Streams:
    """All of them."""

    def __init__(self) -> None:
        self._open: set[Stream] = set()
        self._each: Counter[Author] = Counter()

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

    def revoked(self, token: str) -> None:
        """End every stream that this token opened."""
        for stream in [one for one in self._open if one.caller.token == token]:
            stream.end()
