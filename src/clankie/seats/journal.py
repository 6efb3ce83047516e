"""What this seat's pump took, in a file that outlives it: nothing is handed over twice.

Rule 1: a line is on disk before the words leave, and another after it is known what became of them.
        A line without the second one means that nobody knows; it is never tried again.
Rule 2: an attempt that stands here is never handed over again, by whatever pump.
Rule 3: of words that were typed only a digest is kept.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from clankie.core.seat import delivery_uuid
from clankie.seats.asked import Asked
from clankie.seats.rows import Known, Typed, digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clankie.core.seat import SeatEvent
    from clankie.host.ports import Clock
    from clankie.seats.folder import Folder

TAKEN: Final = "taken.jsonl"
KEPT: Final = 1_000
"""Attempts that are kept when the file is written anew; the service asks about no older ones."""
LARGEST: Final = 1_048_576
"""Bytes of the file beyond which it is written anew."""


class KnownState(StrEnum):
    """How far an attempt got on this side."""

    HANDING = "handing"  # the words may have left
    TAKEN = "taken"  # the harness has them
    REFUSED = "refused"  # nothing left, for certain
    TOLD = "told"  # the service knows which


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """An attempt that stands in the journal."""

    event: str
    attempt: int
    binding: str
    generation: int
    state: KnownState
    reason: str = ""


_UNTOLD: Final = frozenset({KnownState.TAKEN, KnownState.REFUSED})
Key = tuple[str, int]


class Journal:
    """The file, and what it says. One pump of a seat writes it at a time.

    `asked` is another file beside it: what the harness asked its owner.
    """

    def __init__(self, folder: Folder, clock: Clock) -> None:
        self._folder, self._clock = folder, clock
        self.asked = Asked(folder)
        self._took: dict[Key, Took] = {}
        self._typed: list[Typed] = []
        self._size = len(folder.get(TAKEN))
        for line in _lines(folder):
            _place(line, self._took, self._typed)
        # A line that a crash cut off ends here, so that the next one stands by itself.
        self._append(b"\n")

    @property
    def generation(self) -> int:
        """The highest start of the service that was seen; 0 before the first event."""
        return max((one.generation for one in self._took.values()), default=0)

    def has(self, event: SeatEvent) -> bool:
        """Whether this attempt was handed over, or may have been."""
        return (event.id, event.attempt) in self._took

    def begin(self, event: SeatEvent, binding: str) -> None:
        """Note that its words leave now."""
        self._note(
            Took(
                event=event.id,
                attempt=event.attempt,
                binding=binding,
                generation=event.generation,
                state=KnownState.HANDING,
            )
        )

    def taken(self, event: str, attempt: int) -> Took:
        """The harness has it."""
        return self._note(replace(self._took[event, attempt], state=KnownState.TAKEN))

    def refused(self, event: str, attempt: int, reason: str) -> Took:
        """Nothing left, for certain."""
        took = self._took[event, attempt]
        return self._note(replace(took, state=KnownState.REFUSED, reason=reason))

    def told(self, event: str, attempt: int) -> None:
        """The service knows what became of it."""
        self._note(replace(self._took[event, attempt], state=KnownState.TOLD))

    def word(self, event: SeatEvent) -> Took | None:
        """What is still to be told of an attempt that stands here; None when nothing is."""
        took = self._took[event.id, event.attempt]
        return took if took.state in _UNTOLD else None

    def untold(self) -> list[Took]:
        """What the service has not confirmed to know, oldest first."""
        return [one for one in self._took.values() if one.state in _UNTOLD]

    def typed(self, event: SeatEvent, text: str) -> None:
        """Note, before it is done, that these words are typed for this event."""
        at = self._clock.now()
        one = Typed(event=event.id, attempt=event.attempt, digest=digest_of(text), at=at)
        self._typed.append(one)
        self._append(_line(_typed_to_json(one)))

    def known(self) -> Known:
        """What a row of the transcript may be joined to."""
        return _known(self._took, self._typed)

    def _note(self, took: Took) -> Took:
        self._took[took.event, took.attempt] = took
        self._append(_line(_took_to_json(took)))
        return took

    def _append(self, line: bytes) -> None:
        descriptor = self._folder.appending(TAKEN)
        try:
            os.write(descriptor, line)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self._size += len(line)
        if self._size > LARGEST:
            self._shorten()

    def _shorten(self) -> None:
        """Keep the newest; whoever reads meanwhile sees the old file or the new one."""
        self._took = dict(list(self._took.items())[-KEPT:])
        self._typed = self._typed[-KEPT:]
        lines = [_line(_took_to_json(one)) for one in self._took.values()]
        lines += [_line(_typed_to_json(one)) for one in self._typed]
        whole = b"".join(lines)
        self._folder.put(TAKEN, whole)
        self._size = len(whole)


def known(folders: Iterable[Folder]) -> Known:
    """What the journals of these seats know. For hooks, which write nothing there."""
    took: dict[Key, Took] = {}
    typed: list[Typed] = []
    for folder in folders:
        for line in _lines(folder):
            _place(line, took, typed)
    return _known(took, typed)


def _known(took: dict[Key, Took], typed: list[Typed]) -> Known:
    ids = {delivery_uuid(event, attempt): (event, attempt) for event, attempt in took}
    return Known(ids=ids, typed=tuple(typed))


def _lines(folder: Folder) -> Iterable[dict[str, Any]]:
    for line in folder.get(TAKEN).splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue  # cut off by a crash before its words left: a line is whole before they do
        if isinstance(found, dict):
            yield found


def _place(line: dict[str, Any], took: dict[Key, Took], typed: list[Typed]) -> None:
    try:
        if "digest" in line:
            line["at"] = datetime.fromisoformat(line["at"])
            typed.append(Typed(**line))
            return
        line["state"] = KnownState(line["state"])
        one = Took(**line)
    except (TypeError, ValueError, KeyError):
        return
    took[one.event, one.attempt] = one


def _took_to_json(one: Took) -> dict[str, Any]:
    return {name: getattr(one, name) for name in Took.__slots__}


def _typed_to_json(one: Typed) -> dict[str, Any]:
    return {name: getattr(one, name) for name in Typed.__slots__} | {"at": one.at.isoformat()}


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"
