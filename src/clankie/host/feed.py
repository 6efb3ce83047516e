"""Live views of the logs, held in memory for those who follow them.

A conversation that somebody follows, or that speaks, has a channel: a ring of the last encoded
events, shared by all readers, and the answer being written. A reader keeps only its cursor. One
that falls out of the ring is told so and reads the store again: nothing is buffered for it.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.host.storage import Stored


@dataclass(frozen=True, slots=True)
class Frame:
    """One event as server-sent-event bytes, encoded once for all readers."""

    cursor: int
    data: bytes


def event_frame(stored: Stored) -> Frame:
    """``id`` is the cursor; log events carry no ``event`` field."""
    return Frame(stored.cursor, b"id: %d\ndata: %b\n\n" % (stored.cursor, stored.data))


@dataclass(slots=True)
class Draft:
    """An answer being written, in the parts it came in."""

    delivery: str
    attempt: str
    parts: list[str] = field(default_factory=list[str])

    def frame(self, sent: int) -> tuple[int, bytes]:
        """Everything after the first `sent` parts as one frame, and how many parts that makes."""
        seq = len(self.parts)
        body = {
            "delivery_id": self.delivery,
            "attempt": self.attempt,
            "seq": seq,
            "text": "".join(self.parts[sent:]),
        }
        return seq, b"event: draft\ndata: %b\n\n" % json.dumps(body).encode()


@dataclass(slots=True)
class Place:
    """Where a reader is: its cursor, and how much of which draft it has."""

    cursor: int
    attempt: str | None = None
    parts: int = 0


class BehindError(Exception):
    """The reader's cursor fell out of the ring; it must read the store again from its cursor."""


class Channel:
    """One conversation's ring and draft."""

    def __init__(self, ring: int) -> None:
        self._ring: deque[Frame] = deque(maxlen=ring)
        self._draft: Draft | None = None
        self._shared: dict[tuple[str, int], tuple[int, bytes]] = {}
        self._changed = asyncio.Event()
        self.readers = 0

    def append(self, frame: Frame) -> None:
        """Add a committed event; events come in order."""
        if self._ring and self._ring[-1].cursor + 1 != frame.cursor:
            # A commit between was one that nobody could tell of: readers find it in the store.
            self._ring.clear()
        self._ring.append(frame)

    def empty(self) -> None:
        """Keep no events; what comes next begins a new ring."""
        self._ring.clear()

    def write(self, delivery: str, attempt: str, text: str) -> None:
        """Add to the draft."""
        if self._draft is None or self._draft.attempt != attempt:
            self._draft = Draft(delivery, attempt)
        self._draft.parts.append(text)
        self._shared.clear()

    def end(self, attempt: str) -> bool:
        """Drop the draft of this attempt; whether there was one."""
        if self._draft is None or self._draft.attempt != attempt:
            return False
        self._draft = None
        self._shared.clear()
        return True

    @property
    def head(self) -> int:
        """Cursor of the last event it heard of, 0 before the first."""
        return self._ring[-1].cursor if self._ring else 0

    @property
    def idle(self) -> bool:
        """Nobody reads it and nothing is being written."""
        return self.readers == 0 and self._draft is None

    def wake(self) -> None:
        """Let every waiting reader look."""
        self._changed.set()
        self._changed = asyncio.Event()

    def waiter(self) -> asyncio.Event:
        """Set at the next change. Get it before `take` and wait on it after: nothing is missed."""
        return self._changed

    def take(self, place: Place) -> list[bytes]:
        """What is new for a reader since its place, which moves on.

        Raises:
            BehindError: events between its cursor and the ring are gone.
        """
        frames: list[bytes] = []
        if self._ring and self._ring[-1].cursor > place.cursor:
            if self._ring[0].cursor > place.cursor + 1:
                raise BehindError
            skip = place.cursor + 1 - self._ring[0].cursor
            frames = [self._ring[i].data for i in range(skip, len(self._ring))]
            place.cursor = self._ring[-1].cursor
        draft = self._draft
        if place.attempt is not None and (draft is None or draft.attempt != place.attempt):
            ended = json.dumps({"attempt": place.attempt}).encode()
            frames.append(b"event: draft_end\ndata: %b\n\n" % ended)
            place.attempt, place.parts = None, 0
        if draft is not None and (place.attempt is None or place.parts < len(draft.parts)):
            place.parts, data = self._draft_frame(draft, place.parts)
            place.attempt = draft.attempt
            frames.append(data)
        return frames

    def _draft_frame(self, draft: Draft, sent: int) -> tuple[int, bytes]:
        key = (draft.attempt, sent)
        if key not in self._shared:
            self._shared[key] = draft.frame(sent)
        return self._shared[key]


class Feed:
    """All channels, and the list of conversations that changed.

    `version` grows with every commit that changed one. `ring`: how many events new channels keep.
    """

    def __init__(self, ring: int = 1_024) -> None:
        self.ring = ring
        self._channels: dict[str, Channel] = {}
        self.version = 0
        self._touched: dict[str, int] = {}
        self._listed = asyncio.Event()

    def published(self, events: Sequence[Stored], touched: frozenset[str]) -> None:
        """The store committed these; called on the event loop in commit order."""
        spoken: set[str] = set()
        for stored in events:
            channel = self._channels.get(stored.conversation)
            if channel is not None:
                channel.append(event_frame(stored))
                spoken.add(stored.conversation)
        # A row that changed without an event (a reservation) is news for lists, not for readers.
        for conversation in spoken:
            self._channels[conversation].wake()
        self._list(touched)

    def draft(self, conversation: str, delivery: str, attempt: str, text: str) -> None:
        """More of an answer."""
        channel = self.channel(conversation)
        channel.write(delivery, attempt, text)
        channel.wake()

    def draft_end(self, conversation: str, attempt: str) -> None:
        """The answer is in the log, or there will be none."""
        channel = self._channels.get(conversation)
        if channel is not None and channel.end(attempt):
            channel.wake()
            self._drop_idle(conversation, channel)

    def channel(self, conversation: str) -> Channel:
        """The channel of a conversation; made when it is first asked for."""
        return self._channels.setdefault(conversation, Channel(self.ring))

    def join(self, conversation: str) -> Channel:
        """Become a reader; `leave` when done."""
        channel = self.channel(conversation)
        channel.readers += 1
        return channel

    def forget(self, conversation: str) -> None:
        """Its events were purged: whoever reads on reads the store."""
        channel = self._channels.get(conversation)
        if channel is not None:
            channel.empty()

    def leave(self, conversation: str) -> None:
        """Stop reading."""
        channel = self._channels[conversation]
        channel.readers -= 1
        self._drop_idle(conversation, channel)

    def _drop_idle(self, conversation: str, channel: Channel) -> None:
        if channel.idle:
            self._channels.pop(conversation, None)

    def _list(self, touched: frozenset[str]) -> None:
        if not touched:
            return
        self.version += 1
        for conversation in touched:
            self._touched[conversation] = self.version
        self._listed.set()
        self._listed = asyncio.Event()

    def changed(self, conversation: str, version: int) -> bool:
        """Whether that conversation changed after `version`."""
        return self._touched.get(conversation, 0) > version

    def listed(self) -> asyncio.Event:
        """Set when some conversation changed. Take it before `changed_since`."""
        return self._listed

    def changed_since(self, version: int) -> tuple[int, list[str]]:
        """The conversations that changed after `version`, and the version that is now."""
        return self.version, [c for c, at in self._touched.items() if at > version]

    def close(self) -> None:
        """Let every reader look once more, when the service goes down."""
        for channel in self._channels.values():
            channel.wake()
        self._listed.set()
