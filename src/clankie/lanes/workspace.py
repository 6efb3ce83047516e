"""Which directories may become a workspace. Implements the port `Workspaces`.

A path is resolved once, here; what is kept names no link. Whoever works there later walks it
without following any, so a link that appears afterwards leads nowhere.
"""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from clankie.core.errors import InvalidFieldError

if TYPE_CHECKING:
    from collections.abc import Sequence

_MACHINE: Final = ("/dev", "/proc", "/run", "/sys")
_LONGEST: Final = 4_096


class CheckedWorkspaces:
    """`state` are the files and directories of the service; `home` is the owner's own directory."""

    def __init__(self, state: Sequence[Path], home: Path) -> None:
        self._state = state
        self._home = home

    async def check(self, path: str) -> str:
        """The directory without links in its name.

        Raises:
            InvalidFieldError: it cannot be a workspace; the rule says why.
        """
        return await asyncio.to_thread(self._checked, path)

    def _checked(self, path: str) -> str:
        if not path.startswith("/") or "\0" in path or len(path) > _LONGEST:
            raise _no("an absolute path")
        try:
            found = os.lstat(path.rstrip("/") or "/")
            resolved = Path(path).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            raise _no("a directory that exists and can be entered") from None
        if stat.S_ISLNK(found.st_mode):
            raise _no("the directory itself, not a link to it")
        if not stat.S_ISDIR(found.st_mode):
            raise _no("a directory")
        self._refuse(resolved)
        return str(resolved)

    def _refuse(self, resolved: Path) -> None:
        if _holds(resolved, self._home.resolve()):
            raise _no("a directory of its own, not / or your home directory")
        for state in self._state:
            kept = state.resolve()
            if _holds(resolved, kept) or _holds(kept, resolved):
                raise _no("a directory that neither holds nor lies in the state of the service")
        if any(_holds(Path(one), resolved) for one in _MACHINE):
            raise _no("a directory of files, not one of the system's own")


def _holds(outer: Path, inner: Path) -> bool:
    return inner == outer or outer in inner.parents


def _no(rule: str) -> InvalidFieldError:
    return InvalidFieldError("directory", rule)
