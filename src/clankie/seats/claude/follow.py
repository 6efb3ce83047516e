"""The rows that are new in one transcript, read again and again without writing anything."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clankie.seats import tail
from clankie.seats.claude.words import object_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

Json = dict[str, Any]


class Follow:
    """Follows one transcript under `folder`."""

    def __init__(self, path: Path, folder: str) -> None:
        self.path = path
        self._folder = folder
        self._mark: tail.Mark | None = None

    def skip(self) -> None:
        """Leave out what is there already."""
        with self._opened() as descriptor:
            self._mark = tail.Mark() if descriptor is None else tail.end(descriptor)

    def rows(self) -> Iterator[Json]:
        """The whole rows beyond what was read, at most `tail.RUN` bytes of them."""
        try:
            size = self.path.stat().st_size
        except OSError:
            return
        if self._mark is None or size != self._mark.offset:
            yield from self._lines()

    def _lines(self) -> Iterator[Json]:
        with self._opened() as descriptor:
            if descriptor is None:
                return
            reading = tail.lines(descriptor, tail.start(descriptor, self._mark))
            while True:
                try:
                    line = next(reading)
                except StopIteration as done:
                    self._mark = done.value
                    return
                self._mark = line.mark
                try:
                    yield object_of(json.loads(line.data))
                except (ValueError, RecursionError):
                    continue

    @contextmanager
    def _opened(self) -> Generator[int | None]:
        try:
            descriptor = tail.opened(str(self.path), (self._folder,))
        except (OSError, tail.TranscriptRefusedError):
            yield None
            return
        try:
            yield descriptor
        finally:
            os.close(descriptor)
