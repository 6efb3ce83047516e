"""Bringing a backup back, with the service stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clankie.host.clock import SystemClock, SystemIds
from clankie.store.lock import Lock
from clankie.store.sqlite.restore import restore as put_in_place
from clankie.wiring import home

if TYPE_CHECKING:
    from pathlib import Path

    from clankie.wiring.config import Config


def restore(config: Config, archive: Path) -> Path | None:
    """Put a backup in place of the state; where the old one lies now, None when there was none.

    Raises:
        StateHeldError: the service runs; stop it first.
        RestoreRefusedError, StorageUnavailableError: the state is as it was.
    """
    home.prepare(config.home)
    with Lock.acquire(config.home) as lock:
        return put_in_place(archive, config.database, lock, SystemClock(), SystemIds())
