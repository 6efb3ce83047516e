"""The sessions of /v1/mcp: which there are, and whose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.api.errors import SessionNotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

EACH: Final = 32
"""Sessions of one token; a further one takes the place of the oldest."""
_TOKENS: Final = 256
"""With more tokens than this, those that are dead are looked for."""


class McpSessions:
    """Ids only: nothing runs between two requests."""

    def __init__(self) -> None:
        self._open: dict[str, dict[str, None]] = {}

    def begin(self, token: str, session: str, alive: Callable[[str], bool]) -> None:
        """Keep a new one."""
        if len(self._open) > _TOKENS:
            self._open = {one: own for one, own in self._open.items() if alive(one)}
        own = self._open.setdefault(token, {})
        own[session] = None
        while len(own) > EACH:
            del own[next(iter(own))]

    def check(self, token: str, session: str) -> None:
        """Raises SessionNotFoundError unless it is this token's."""
        if session not in self._open.get(token, {}):
            raise SessionNotFoundError

    def end(self, token: str, session: str) -> None:
        """Forget it. Raises SessionNotFoundError."""
        self.check(token, session)
        del self._open[token][session]
