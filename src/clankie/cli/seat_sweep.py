"""Folders of seats that ended long ago are removed when another seat is opened.

A folder outlives its seat on purpose: a session that is resumed goes on where its last seat stopped
reading, and knows what that one typed. But each hook looks through all of them, so they must not
gather for ever.
"""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from clankie.cli.client import items
from clankie.cli.seat_orphans import DRIVER
from clankie.seats import registration
from clankie.seats.folder import SEATS, Folder, SeatFolderError

if TYPE_CHECKING:
    from collections.abc import Collection

    from clankie.cli.client import Client
    from clankie.host.ports import Clock

KEPT: Final = timedelta(days=30)
"""How long a folder that nothing writes to is kept."""


def sweep(client: Client, home: str, clock: Clock) -> None:
    """Remove what nobody touched for `KEPT` and the service knows no seat for.

    Raises CommandError: the service did not say which seats there are; nothing was removed.
    """
    before = clock.now() - KEPT
    above = Path(home) / SEATS
    old = [path for path in above.iterdir() if _touched(path) < before] if above.is_dir() else []
    if old:
        listed = {str(one["seat"]) for one in items(client.get("/v1/seats"), "seats")}
        for path in old:
            if _left(Folder(str(path)), listed):
                shutil.rmtree(path, ignore_errors=True)


def _touched(path: Path) -> datetime:
    """When something in it was last written, or made or removed."""
    try:
        times = [path.lstat().st_mtime, *(one.lstat().st_mtime for one in path.iterdir())]
    except OSError:
        # Not a folder, or going just now: not ours to remove.
        return datetime.max.replace(tzinfo=UTC)
    return datetime.fromtimestamp(max(times), UTC)


def _left(folder: Folder, listed: Collection[str]) -> bool:
    """Whether no seat of the service is here, and no driver runs."""
    try:
        folder.check()
        seated = registration.seated(folder)
        if seated is not None and seated.seat in listed:
            return False
        with folder.locked(DRIVER, wait=False):
            return True
    except (OSError, SeatFolderError):
        return False
