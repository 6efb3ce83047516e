"""Seats: who sits there, what the harness can do, and what stands for exact evidence.

Rule 1: an occupant is one native session in one process. Another process is another occupant.
Rule 2: evidence names delivery, attempt and occupant. Equal words are none, but for one case:
        words that we typed, found in exactly one new row within seconds.
Rule 3: what a harness writes is the seat's word, never the owner's.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from clankie.core.conversation import Author

_DELIVERIES: Final = bytes.fromhex("5f0c9a525f615d0e9f0b5a8f0d6d1c3e")
"""The namespace of `delivery_uuid`."""

ROW: Final = 16_384
"""Characters of one row of a transcript; what is longer is cut, and says so."""


class Activity(StrEnum):
    """What the native session is doing."""

    RESPONDING = "responding"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Report:
    """That a native session came to do something.

    `at`: up to which moment of the harness it counts; what was said to the session later is not
    meant. None: whoever says it knows of nothing that could stand behind it.
    """

    activity: Activity
    at: datetime | None = None


class EventKind(StrEnum):
    """What kind of event a seat is given."""

    TURN = "turn"
    ESCALATION = "escalation"
    WAKE = "wake"
    WATCH = "watch"
    MESSAGE = "message"


class EntryKind(StrEnum):
    """What a row of a harness's transcript holds."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    LIMIT = "limit"
    ERROR = "error"


class Mishap(StrEnum):
    """How a turn ended without an answer, as the harness itself reports it."""

    INTERRUPTED = "interrupted"
    API_ERROR = "api_error"


class Proof(StrEnum):
    """How a transcript row names the delivery it holds."""

    UUID = "uuid"  # the row's own id, or its source's, is the one we derived
    CLIENT_ID = "client_id"  # the harness keeps our id beside the row
    TEXT = "text"  # typed by us; the same words, in one new row, within seconds
    SOCKET = "socket"  # the harness answered our request on its own socket


@dataclass(frozen=True, slots=True)
class Native:
    """A native session: its id, and the process that runs it.

    `process_started_at` is ``linux:<boot id>:<ticks>``, or empty where nothing proves it.
    """

    session_id: str
    pid: int
    process_started_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupant:
    """The exact native session in a seat."""

    fleet: str = "local"
    pane: str | None = None
    harness: str
    native: Native

    @property
    def id(self) -> str:
        """``o-`` and 26 hexadecimal digits of what makes it this one and no other."""
        native = self.native
        parts = (self.fleet, self.harness, native.session_id, str(native.pid))
        whole = "\0".join((*parts, native.process_started_at, self.pane or ""))
        return f"o-{hashlib.sha256(whole.encode(errors='surrogatepass')).hexdigest()[:26]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an adapter declared. `kinds` are the events that it can hand over.

    `transcript`: it syncs what the harness writes. `steer`: words can join a running turn.
    `interrupt`: a running turn can be stopped.
    """

    kinds: frozenset[EventKind] = frozenset(EventKind)
    transcript: bool = True
    steer: bool = True
    interrupt: bool = False
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limited:
    """A usage limit that the harness reported. Without `resets_at` it counts for an hour."""

    window: str
    occurred_at: datetime
    resets_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a transcript row says of the delivery whose words it holds."""

    event: str
    attempt: int
    proof: Proof
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A row of a harness's transcript as its adapter read it. `id` is the harness's own."""

    id: str
    kind: EntryKind
    at: datetime
    text: str = ""
    native_parent: str | None = None
    tool: dict[str, Any] | None = None
    evidence: Evidence | None = None
    limit: Limited | None = None
    error: Mishap | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One message within an event. `omitted` counts characters that stand only at `cursor`."""

    delivery: str
    author: Author
    source: str
    cursor: int
    text: str
    name: str = ""
    omitted: int = 0

    @property
    def note(self) -> str | None:
        """Says where the rest stands, when something was cut."""
        if not self.omitted:
            return None
        return (
            f"[{self.omitted} more characters: read_conversation shows the whole message "
            f"at cursor {self.cursor}]"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatEvent:
    """One event of a poll's page. `id` is the delivery's, or a handoff's.

    `attempt` counts the attempts of the delivery, `generation` the starts of the service.
    `cursor` is where the words stand in the log; `members` are older deliveries that one reply
    answers together with this one. `pieces` are its messages, oldest first and unframed, none for a
    handoff: whoever writes the page makes the `content` that a harness reads of them.
    """

    id: str
    kind: EventKind
    source: str
    content: str
    created_at: datetime
    deadline: datetime
    conversation: str
    attempt: int
    generation: int
    reply: bool = False
    steer: bool = False
    cursor: int | None = None
    members: tuple[str, ...] = ()
    attribution: dict[str, str] = field(default_factory=dict[str, str])
    pieces: tuple[Piece, ...] = ()


_REFUSALS: Final = {
    "app_server_gone": "its server had ended",
    "not_now": "it takes nothing now",
    "pi_cannot_reply": "it has no tool to answer this with",
    "session_ended": "its session had ended",
    "socket_silent": "its session gave no sign of life",
    "stale_generation": "another driver had taken its place",
    "too_late": "it came too late to be handed over",
    "turns_change_too_fast": "its turns changed too fast to join one",
    "unreadable_event": "it came in a form that it cannot read",
    "usage_limited": "its usage limit is reached",
}
"""What the pump and its adapters say when nothing was handed over, in plain words."""
_UNNAMED: Final = "the reason is on its receipt"
"""Whatever else a harness says is its own word and may be anything: it stands on the receipt."""


def refusal(harness: str, reason: str) -> str:
    """What the owner is told when a harness refused a message that goes on without it."""
    why = _REFUSALS.get(reason, _UNNAMED)
    return f"{harness} did not take this message, so it goes on without it: {why}."


def cut(text: str, limit: int = ROW) -> str:
    """At most `limit` characters; what was cut off is said at the end. The same on both sides."""
    if len(text) <= limit:
        return text
    note = f"\n[cut here: {len(text)} characters in the harness]"
    return text[: limit - len(note)] + note


def delivery_uuid(event: str, attempt: int) -> str:
    """The id under which a harness is given an attempt of a delivery; the same on both sides.

    A UUID of version 5 (RFC 9562), by hand: core does not import what can also make random ones.
    """
    name = f"{event}#{attempt}".encode()
    digest = bytearray(hashlib.sha1(_DELIVERIES + name, usedforsecurity=False).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x50
    digest[8] = digest[8] & 0x3F | 0x80
    text = digest.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
