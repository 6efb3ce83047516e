"""Exactly one process owns a state directory; the lock of the system is the only proof of it."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from clankie.store.errors import StateHeldError, StateUnwritableError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

__all__ = ["Lock", "StateHeldError"]

LOCK: Final = "lock"
RUN: Final = "run.json"


@dataclass(slots=True)
class Lock:
    """Held until `release`, or until the process ends, however it ends."""

    home: Path
    _descriptor: int | None

    @classmethod
    def acquire(cls, home: Path) -> Self:
        """Take it at once. Makes the directory (mode 0700) when it is missing.

        Raises:
            StateHeldError: another process has it; says which, as far as `run.json` tells.
            StateUnwritableError: the directory or the file in it cannot be made.
        """
        descriptor = _opened(home)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise StateHeldError(home, *_holder(home)) from error
        except OSError as error:
            os.close(descriptor)
            raise StateUnwritableError(home, str(error)) from error
        return cls(home, descriptor)

    def require(self) -> None:
        """Whoever is about to replace the state asks this first."""
        if self._descriptor is None:
            raise StateHeldError(self.home, None, None)

    def release(self) -> None:
        """Give it back; again changes nothing."""
        # The file stays: removing it would let two processes hold it.
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def _opened(home: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(home / LOCK, flags, 0o600)
    except OSError as error:
        raise StateUnwritableError(home, str(error)) from error


def _holder(home: Path) -> tuple[int | None, str | None]:
    """What the holder wrote about itself; it may not have got that far yet."""
    try:
        run = home / RUN
        told = json.loads(run.read_text(encoding="utf-8") if run.is_file() else "")
        return int(told["pid"]), str(told["url"])
    except (OSError, ValueError, KeyError, TypeError):
        return None, None
