"""A light watch of a transcript: what no hook sent, because none ran, is sent all the same."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from clankie.seats import registration
from clankie.seats.folder import SeatFolderError
from clankie.seats.registration import ServiceRefusedError
from clankie.seats.sync import Source, sync
from clankie.seats.tail import TranscriptRefusedError
from clankie.seats.unix import WireError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clankie.host.ports import Clock
    from clankie.seats.folder import Folder
    from clankie.seats.port import Harness

PERIOD: Final = 2.0
"""Seconds between two looks; a look is one call of the file system while nothing was written."""
_TOO_MANY: Final = 429
_FAULT: Final = 500
Seen = tuple[str, int, int]


@dataclass(kw_only=True)
class Watch:
    """Watches the transcript of a harness that names one (`Harness.transcript`)."""

    folder: Folder
    harness: Harness
    environment: Mapping[str, str]
    clock: Clock
    say: Callable[[str], None]
    _seen: Seen | None = field(default=None, init=False)
    _said: str = field(default="", init=False)
    _one: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await self.clock.sleep(PERIOD)
            await self.look()

    async def look(self) -> bool:
        """Send what is new. What goes wrong is said once, and tried again with the next look.

        False when the service could not take it now: it is worth another try.
        """
        async with self._one:
            path = getattr(self.harness, "transcript", None)
            seen = None if path is None else _size(Path(path))
            if seen is None or seen == self._seen:
                return True
            try:
                await asyncio.to_thread(self._send, str(path))
            except (WireError, SeatFolderError, TranscriptRefusedError, OSError) as error:
                self._complain(str(error))
                return not _away(error)
            self._seen, self._said = seen, ""
            return True

    def _send(self, path: str) -> None:
        seated = registration.seated(self.folder)
        if seated is None:
            return
        session = self.harness.native.session_id
        source = Source(path=path, session_id=session, environment=self.environment)
        while sync(self.folder, seated, source).more:
            pass

    def _complain(self, sentence: str) -> None:
        if sentence != self._said:
            self.say(f"The transcript could not be sent: {sentence}")
        self._said = sentence


def _away(error: Exception) -> bool:
    """Whether it is a matter of time: no answer came, or the service is busy or stops."""
    if isinstance(error, ServiceRefusedError):
        return error.status == _TOO_MANY or error.status >= _FAULT
    return isinstance(error, WireError)


def _size(path: Path) -> Seen | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return str(path), found.st_ino, found.st_size
