"""Writing what happened, whatever happens meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.core.errors import (
    CommitUnknownError,
    StorageUnavailableError,
    TransitionRefusedError,
)
from clankie.host import journal
from clankie.host.waiting import to_the_end

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from clankie.host.ports import Clock

FIRST_PAUSE: Final = 0.25
LONGEST_PAUSE: Final = 15.0
"""Seconds between tries on a disk that refuses."""


async def stored(
    clock: Clock, delivery: str, write: Callable[[], Coroutine[object, object, object]]
) -> None:
    """Write it under a shield; repeat while the disk refuses.

    When the process ends before that, the next start finds the attempt open and says so.
    """
    pause = FIRST_PAUSE
    while True:
        try:
            await to_the_end(write())
        except (StorageUnavailableError, CommitUnknownError) as error:
            journal.warn("not stored yet", delivery=delivery, why=error.detail)
        except TransitionRefusedError:
            # An earlier try of ours reached the disk after all.
            return
        else:
            return
        await clock.sleep(pause)
        pause = min(LONGEST_PAUSE, pause * 2)
