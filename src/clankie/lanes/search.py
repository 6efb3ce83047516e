"""Looking through a workspace, on a thread, within bounds that hold whatever lies there.

Words are looked for as they are. There are no regular expressions: one that backtracks would hold
the whole service, and nothing here could stop it.
"""

from __future__ import annotations

import fnmatch
import os
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from clankie.host.framing import one_line
from clankie.lanes import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HITS: Final = 200
SECONDS: Final = 10.0
FILES: Final = 20_000
TOTAL: Final = 67_108_864
EACH: Final = 1_048_576
LINE: Final = 300
_DEPTH: Final = 32
_ENTRIES: Final = 10_000
_PASSED_OVER: Final = frozenset({".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What to look for. Setting `stop` ends it at the next file. `now` is in seconds."""

    text: str
    names: str
    ignore_case: bool
    now: Callable[[], float]
    stop: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class Result:
    """`lines` as the model reads them; `cut` says why it ended early."""

    lines: list[str] = field(default_factory=list[str])
    cut: str = ""
    files: int = 0
    total: int = 0


class _EndedError(Exception):
    """A bound was reached."""


def found(search: Search, root: str, parts: Sequence[str]) -> Result:
    """Look through a directory and everything in it."""
    looking = _Looking(search)
    with walk.directory(root, parts) as here:
        try:
            looking.through(here, list(parts), 0)
        except _EndedError as end:
            looking.result.cut = str(end)
    return looking.result


class _Looking:
    def __init__(self, search: Search) -> None:
        self._search = search
        self._wanted = search.text.casefold() if search.ignore_case else search.text
        self._until = search.now() + SECONDS
        self.result = Result()

    def through(self, here: int, parts: list[str], depth: int) -> None:
        """One open directory; what cannot be opened is passed over."""
        with os.scandir(here) as scan:
            entries: list[tuple[str, bool]] = []
            for entry in scan:
                entries.append((entry.name, entry.is_dir(follow_symlinks=False)))
                if len(entries) >= _ENTRIES:
                    self.result.cut = "a directory holds too many entries"
                    break
        for name, is_directory in sorted(entries):
            self._bounds()
            if not is_directory:
                self._file(here, name, [*parts, name])
            elif name not in _PASSED_OVER and depth < _DEPTH:
                self._below(here, name, [*parts, name], depth)

    def _below(self, here: int, name: str, parts: list[str], depth: int) -> None:
        try:
            below = walk.below(here, name)
        except OSError:
            return  # gone, forbidden, or swapped for a link
        try:
            self.through(below, parts, depth + 1)
        finally:
            os.close(below)

    def _bounds(self) -> None:
        if self._search.stop.is_set():
            raise _EndedError("it was stopped")
        if self._search.now() > self._until:
            raise _EndedError(f"it took more than {SECONDS:g} seconds")
        if self.result.files >= FILES or self.result.total >= TOTAL:
            raise _EndedError("there is too much to look through")

    def _file(self, here: int, name: str, parts: list[str]) -> None:
        self.result.files += 1
        if not fnmatch.fnmatchcase(name, self._search.names):
            return
        path = os.fsencode("/".join(parts)).decode("utf-8", "replace")
        if not self._search.text:
            self._hit(path)
            return
        try:
            descriptor = walk.open_file(here, name)
        except OSError:
            return  # gone, forbidden, a link, or no regular file
        try:
            data = os.read(descriptor, EACH)
        except OSError:
            return
        finally:
            os.close(descriptor)
        self.result.total += len(data)
        if b"\0" not in data:
            self._lines(path, data.decode("utf-8", "replace"))

    def _lines(self, path: str, text: str) -> None:
        for number, line in enumerate(text.split("\n"), start=1):
            whole = line.casefold() if self._search.ignore_case else line
            if self._wanted in whole:
                self._hit(f"{path}:{number}: {line}")

    def _hit(self, line: str) -> None:
        self.result.lines.append(one_line(line, LINE))
        if len(self.result.lines) >= HITS:
            raise _EndedError(f"there are more than {HITS} hits")
