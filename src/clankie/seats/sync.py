"""Send what is new in a transcript. Hooks and the watch of a bridge come here, one at a time.

Rule 1: one offset for each transcript, moved only when the service has what stood before it. What
        is sent twice all the same has the same ids, and the service takes each row once.
Rule 2: a seat begins with what is written after it sat down. Only where an earlier seat read the
        same transcript does it go on from there, so that nothing between the two is lost.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from clankie.seats import journal, tail, wire
from clankie.seats.folder import PLACE, SEATS, Folder
from clankie.seats.registration import ServiceRefusedError, post
from clankie.seats.tail import Mark

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clankie.core.seat import Activity
    from clankie.seats.folder import Json
    from clankie.seats.registration import Seated
    from clankie.seats.rows import Known, Rows
    from clankie.seats.tail import Line

# Hooks import this, and pathlib would cost them milliseconds.
# ruff: noqa: PTH118

OFFSETS: Final = "offsets.json"
_DEFECTS: Final = frozenset({413, 422})
_FRESH: Final = frozenset({"startup", "clear"})


class Reading(Protocol):
    """The module `clankie.seats.<harness>.rows`."""

    def reader(self, known: Known) -> Rows:
        """Reads its transcripts."""
        ...

    def folders(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """Where they may lie."""
        ...

    def activity(self, hook: Mapping[str, object]) -> Activity | None:
        """What a hook says of the turn."""
        ...


def reading(harness: str) -> Reading:
    """How this harness's transcripts are read."""
    return cast("Reading", import_module(f"clankie.seats.{harness}.rows"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A transcript: whose, and where. `session_id` is the native session that writes it."""

    path: str
    session_id: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """What a run did. `more`: it stopped at its bound; `skipped`: lines too long, in all."""

    sent: int = 0
    skipped: int = 0
    refused: int = 0
    more: bool = False


def notice(folder: Folder, seated: Seated, source: Source, began: str) -> None:
    """A session begins, and this is its transcript. `began` is how: startup, resume, clear, ….

    Raises TranscriptRefusedError.
    """
    with folder.locked("sync"):
        marks = folder.read(OFFSETS) or {}
        known = marks.get(source.path)
        if known is None:
            mark = _first(folder, seated, source, fresh=began in _FRESH)
        else:
            mark = _mark(known)
        _keep(folder, source, mark)


def sync(
    folder: Folder, seated: Seated, source: Source, hook: Mapping[str, object] | None = None
) -> Synced:
    """Send what is new, at most `tail.RUN` bytes of it.

    Raises:
        TranscriptRefusedError: this file is not read.
        ServiceRefusedError, WireError: the service did not take it; it is read again.
    """
    with folder.locked("sync"):
        how = reading(seated.harness)
        mark = _marked(folder, source)
        said = None if hook is None else how.activity(hook)
        try:
            descriptor = tail.opened(source.path, how.folders(source.environment))
        except FileNotFoundError:
            _send(folder, seated, source, [], said)
            return Synced()
        try:
            if mark is None:
                # No hook told of its beginning. A seat that resumed something begins at its end.
                place = folder.read(PLACE) or {}
                mark = _first(folder, seated, source, fresh=place.get("resume") is None)
                _keep(folder, source, mark)
            rows = how.reader(journal.known(_readers(folder, source.path)))
            return _Run(folder, seated, source, rows, said).read(descriptor, mark)
        finally:
            os.close(descriptor)


class _Run:
    def __init__(
        self,
        folder: Folder,
        seated: Seated,
        source: Source,
        rows: Rows,
        said: Activity | None,
    ) -> None:
        self._folder, self._seated, self._source = folder, seated, source
        self._rows, self._said = rows, said
        self._found: list[tuple[Json, Mark]] = []

    def read(self, descriptor: int, mark: Mark) -> Synced:
        mark = tail.start(descriptor, mark)
        size = os.fstat(descriptor).st_size
        behind = self._gather(descriptor, mark)
        more = size > mark.offset + tail.RUN
        sent = refused = 0
        for batch in wire.batches(entry for entry, _ in self._found):
            last = sent + refused + len(batch) == len(self._found)
            taken = self._sent(batch, self._activity(more=more) if last else None)
            sent, refused = sent + taken, refused + len(batch) - taken
            self._moved(sent + refused)
        if not self._found:
            self._sent([], self._activity(more=more))
        if behind != mark:
            _keep(self._folder, self._source, behind)
        return Synced(sent=sent, skipped=behind.skipped, refused=refused, more=more)

    def _gather(self, descriptor: int, mark: Mark) -> Mark:
        lines = tail.lines(descriptor, mark)
        while True:
            try:
                line: Line = next(lines)
            except StopIteration as end:
                return cast("Mark", end.value)
            for entry in self._rows.read(line.data):
                self._found.append((wire.entry_to_json(entry), line.mark))

    def _activity(self, *, more: bool) -> Activity | None:
        """A hook's word is the newest, but not before all that it stands behind was sent."""
        return None if more else self._said or self._rows.activity

    def _sent(self, batch: list[Json], activity: Activity | None) -> int:
        """How many of these rows the service took. One that it calls wrong spoils no other."""
        try:
            _send(self._folder, self._seated, self._source, batch, activity)
        except ServiceRefusedError as error:
            if error.status not in _DEFECTS:
                raise
        else:
            return len(batch)
        taken = sum(self._sent([one], None) for one in batch) if len(batch) > 1 else 0
        if batch and activity is not None:
            self._sent([], activity)
        return taken

    def _moved(self, count: int) -> None:
        """Everything before `count` is done: keep the mark behind the last whole line of it."""
        if count < len(self._found):
            # Rows of one line may lie in two batches: then that line is not done.
            next_line = self._found[count][1]
            done = [mark for _, mark in self._found[:count] if mark is not next_line]
            if done:
                _keep(self._folder, self._source, done[-1])


def _send(
    folder: Folder,
    seated: Seated,
    source: Source,
    entries: Sequence[Json],
    activity: Activity | None,
) -> None:
    if not entries and activity is None:
        return
    body: Json = {"session_id": source.session_id, "entries": list(entries)}
    if activity is not None:
        body["activity"] = activity.value
    post(folder, f"/v1/seats/{seated.seat}/transcript", body, token=seated.token)


def _marked(folder: Folder, source: Source) -> Mark | None:
    known = (folder.read(OFFSETS) or {}).get(source.path)
    return None if known is None else _mark(known)


def _mark(known: Mapping[str, Any]) -> Mark:
    return Mark(
        inode=int(known.get("inode", 0)),
        offset=int(known.get("offset", 0)),
        skipped=int(known.get("skipped", 0)),
        skipping=known.get("skipping") is True,
    )


def _keep(folder: Folder, source: Source, mark: Mark) -> None:
    marks = folder.read(OFFSETS) or {}
    marks[source.path] = {
        "session_id": source.session_id,
        "inode": mark.inode,
        "offset": mark.offset,
        "skipped": mark.skipped,
        "skipping": mark.skipping,
    }
    folder.write(OFFSETS, marks)


def _first(folder: Folder, seated: Seated, source: Source, *, fresh: bool) -> Mark:
    """Where a seat begins in a transcript that it has not read before."""
    earlier = [
        _mark(marks[source.path])
        for other in _others(folder)
        if source.path in (marks := other.read(OFFSETS) or {})
    ]
    if earlier:
        return max(earlier, key=lambda mark: mark.offset)
    if fresh:
        return Mark()
    try:
        folders = reading(seated.harness).folders(source.environment)
        descriptor = tail.opened(source.path, folders)
    except FileNotFoundError:
        return Mark()
    try:
        return tail.end(descriptor)
    finally:
        os.close(descriptor)


def _readers(folder: Folder, path: str) -> list[Folder]:
    """This seat and those that read the transcript before: each knows what it was given."""
    return [folder, *(one for one in _others(folder) if path in (one.read(OFFSETS) or {}))]


def _others(folder: Folder) -> list[Folder]:
    with os.scandir(os.path.join(folder.home, SEATS)) as above:
        found = [Folder(one.path) for one in above if one.is_dir(follow_symlinks=False)]
    return [one for one in found if one.path != folder.path]
