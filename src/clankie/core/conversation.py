"""Conversations and what their logs hold.

Rule 1: a log only grows. A cursor is 1, 2, 3 … without gaps, and is never reused.
Rule 2: the host stamps the author; nothing in a text can.
Rule 3: the revision counts what the owner did (messages, resets, renames, closing), nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, assert_never


class Kind(StrEnum):
    """What a conversation is for."""

    GLOBAL = "global"
    WORKSPACE = "workspace"
    ROOM = "room"
    LEAD = "lead"
    INBOX = "inbox"


class State(StrEnum):
    """What a conversation is doing, as lists show it."""

    IDLE = "idle"
    RUNNING = "running"
    WAITING_SEAT = "waiting_seat"
    HELD = "held"
    CLOSED = "closed"


class Principal(StrEnum):
    """Who may stand behind a request or an event."""

    OPERATOR = "operator"
    DEVICE = "device"
    SEAT = "seat"
    WORKER = "worker"
    CAPTAIN = "captain"
    ROOM = "room"
    FLEET = "fleet"
    WEBHOOK = "webhook"
    SYSTEM = "system"
    METRICS = "metrics"


@dataclass(frozen=True, slots=True)
class Author:
    """Who, as the host established it."""

    principal: Principal
    id: str

    def to_wire(self) -> dict[str, str]:
        """``{"principal": …, "id": …}``."""
        return {"principal": self.principal, "id": self.id}


OPERATOR: Final = Author(Principal.OPERATOR, "operator")
CAPTAIN: Final = Author(Principal.CAPTAIN, "captain")
SYSTEM: Final = Author(Principal.SYSTEM, "clankie")


class Role(StrEnum):
    """Whose words a message holds."""

    OWNER = "owner"
    AGENT = "agent"
    EXTERNAL = "external"
    ROOM = "room"


class ToolPhase(StrEnum):
    """Where a tool call is."""

    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"


class TurnPhase(StrEnum):
    """Where a turn is."""

    ADMITTED = "admitted"
    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNCERTAIN = "uncertain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a turn cost, in tokens, and how many model requests it took.

    `cost_usd` is worked out from a list of prices and is None where the model has none.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0
    model: str | None = None
    cost_usd: float | None = None

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.input_tokens + self.output_tokens

    def to_wire(self) -> dict[str, int | float | str]:
        """Whole numbers; model and cost only where they are known."""
        wire: dict[str, int | float | str] = {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "requests": self.requests,
        }
        if self.model is not None:
            wire["model"] = self.model
        if self.cost_usd is not None:
            wire["cost_usd"] = self.cost_usd
        return wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A picture or text file that came with a message. `digest` is the SHA-256 of its bytes."""

    digest: str
    name: str
    media_type: str
    size: int

    @property
    def image(self) -> bool:
        """Whether a model that sees can look at it."""
        return self.media_type.startswith("image/")

    def to_wire(self) -> dict[str, str | int]:
        """Its four fields; the bytes are fetched by digest."""
        return {
            "digest": self.digest,
            "name": self.name,
            "media_type": self.media_type,
            "size": self.size,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Words, with the delivery they came by or answer, and what was attached."""

    role: Role
    text: str
    delivery_id: str | None = None
    source: str | None = None
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool call as the log tells it; `detail` is one bounded line.

    `delivery_id`: the input it worked on, None where a harness did not say.
    """

    call_id: str
    name: str
    phase: ToolPhase
    delivery_id: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A step in the life of a delivery that a reader of the log wants to see."""

    phase: TurnPhase
    delivery_id: str
    code: str | None = None
    detail: str | None = None
    partial: str | None = None
    usage: Usage | None = None
    routing_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """The service says something about the conversation itself.

    `delivery_id`: the input that it is about, where it is about one.
    """

    code: str
    text: str
    delivery_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    """A step in telling a harness what the service did meanwhile; `phase` as in core.handoff.

    What is told are the turns that ended above `from_cursor` and, once it is sealed, not above
    `to_cursor`.
    """

    span: str
    phase: str
    from_cursor: int
    to_cursor: int | None = None


@dataclass(frozen=True, slots=True)
class Reset:
    """Projections begin after this."""


Body = Message | Tool | Turn | Notice | Handoff | Reset


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a log. `at` is UTC, whole milliseconds."""

    cursor: int
    at: datetime
    author: Author
    body: Body


def projectable(body: Body) -> bool:
    """Whether projections show it: messages and finished tool actions."""
    match body:
        case Message():
            return True
        case Tool(phase=phase):
            return phase is not ToolPhase.STARTED
        case Turn() | Notice() | Handoff() | Reset():
            return False
        case _:
            assert_never(body)


def kind_name(body: Body) -> str:
    """The ``kind`` on the wire and on disk."""
    match body:
        case Message():
            return "message"
        case Tool():
            return "tool"
        case Turn():
            return "turn"
        case Notice():
            return "notice"
        case Handoff():
            return "handoff"
        case Reset():
            return "reset"
        case _:
            assert_never(body)


def body_to_wire(body: Body) -> dict[str, Any]:
    """The fields of one kind; what is None is left out."""
    match body:
        case Message(role=role, text=text, delivery_id=delivery, source=source):
            wire: dict[str, Any] = {
                "role": role,
                "text": text,
                "delivery_id": delivery,
                "source": source,
                "attachments": [one.to_wire() for one in body.attachments] or None,
            }
        case Tool():
            wire = {
                "call_id": body.call_id,
                "name": body.name,
                "phase": body.phase,
                "delivery_id": body.delivery_id,
                "detail": body.detail,
            }
        case Turn():
            wire = {
                "phase": body.phase,
                "delivery_id": body.delivery_id,
                "code": body.code,
                "detail": body.detail,
                "partial": body.partial,
                "usage": None if body.usage is None else body.usage.to_wire(),
                "routing_reason": body.routing_reason,
            }
        case Notice(code=code, text=text, delivery_id=delivery):
            wire = {"code": code, "text": text, "delivery_id": delivery}
        case Handoff():
            wire = {
                "span": body.span,
                "phase": body.phase,
                "from_cursor": body.from_cursor,
                "to_cursor": body.to_cursor,
            }
        case Reset():
            wire = {}
        case _:
            assert_never(body)
    return {name: value for name, value in wire.items() if value is not None}


def timestamp(at: datetime) -> str:
    """RFC 3339, UTC, milliseconds: ``2026-11-30T12:00:00.000Z``."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def event_to_wire(event: Event) -> dict[str, Any]:
    """``{cursor, kind, author, at, …}``."""
    return {
        "cursor": event.cursor,
        "kind": kind_name(event.body),
        "author": event.author.to_wire(),
        "at": timestamp(event.at),
        **body_to_wire(event.body),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation as lists and rights need it. `model` answers here instead of the default.

    `cursor` is the last event's; `oldest` the first that is still kept. `running`, `waiting`,
    `held` and `uncertain` count inputs.
    """

    id: str
    name: str
    kind: Kind
    revision: int
    cursor: int
    created_at: datetime
    closed: bool = False
    oldest: int = 1
    directory: str | None = None
    model: str | None = None
    running: int = 0
    waiting: int = 0
    held: int = 0
    uncertain: int = 0
    unread_reports: int = 0

    @property
    def state(self) -> State:
        """What it is doing now."""
        if self.closed:
            return State.CLOSED
        if self.running or self.waiting > self.held:
            return State.RUNNING
        return State.HELD if self.held else State.IDLE

    @property
    def read_only(self) -> bool:
        """Rooms are run by their rooms, not by generic sends and resets."""
        return self.kind is Kind.ROOM


def may_read(reader: Conversation, other: Conversation) -> bool:
    """Whether turns in `reader` may look at `other`.

    What the owner alone reads may look everywhere. A room is read by others, so it sees itself.
    """
    return reader.id == other.id or reader.kind is not Kind.ROOM


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverView:
    """The seat that drives a conversation, as lists show it.

    `state`: live, holding, absent or parked. `since`: when it was attached. `hold_until` and
    `grace_until` are set while they run.
    """

    seat: str
    harness: str
    state: str
    since: datetime
    last_ask: datetime | None = None
    hold_until: datetime | None = None
    grace_until: datetime | None = None

    @property
    def listens(self) -> bool:
        """Whether what waits is this seat's to take."""
        return self.state in {"live", "holding"}

    def to_wire(self) -> dict[str, str]:
        """``{"kind": "seat", …}``; times that are not known are left out."""
        times = {
            "since": self.since,
            "last_ask": self.last_ask,
            "hold_until": self.hold_until,
            "grace_until": self.grace_until,
        }
        return {
            "kind": "seat",
            "seat": self.seat,
            "harness": self.harness,
            "state": self.state,
            **{name: timestamp(at) for name, at in times.items() if at is not None},
        }


def state_of(conversation: Conversation, driver: DriverView | None = None) -> State:
    """What it is doing, the seat that drives it considered: what waits for that one is not run."""
    state = conversation.state
    waits = state is State.RUNNING and not conversation.running
    return State.WAITING_SEAT if waits and driver is not None and driver.listens else state


def conversation_to_wire(
    conversation: Conversation, driver: DriverView | None = None
) -> dict[str, Any]:
    """As `/v1/conversations` lists it. The service lane drives what no seat is attached to."""
    wire: dict[str, Any] = {
        "id": conversation.id,
        "name": conversation.name,
        "kind": conversation.kind,
        "state": state_of(conversation, driver),
        "revision": conversation.revision,
        "cursor": conversation.cursor,
        "driver": {"kind": "service"} if driver is None else driver.to_wire(),
        "unread_reports": conversation.unread_reports,
        "uncertain": conversation.uncertain,
        "created_at": timestamp(conversation.created_at),
    }
    if conversation.directory is not None:
        wire["directory"] = conversation.directory
    if conversation.model is not None:
        wire["model"] = conversation.model
    return wire
