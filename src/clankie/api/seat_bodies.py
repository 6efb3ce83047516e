"""What bridges and pumps send: bodies of the routes of seats, and the values they stand for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field

from clankie.api.bodies import CONVERSATION, Body
from clankie.core.errors import InvalidFieldError
from clankie.core.seat import (
    ROW,
    Activity,
    Capabilities,
    Entry,
    EntryKind,
    EventKind,
    Evidence,
    Limited,
    Mishap,
    Native,
    Proof,
    cut,
)
from clankie.host.selfstate import SECTIONS

ENTRIES: Final = 100
REPLY_LIMIT: Final = 65_536
BINDING: Final = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
POLL_ID: Final = r"[A-Za-z0-9._:-]{1,128}"
_PROCESS: Final = r"^(linux:[0-9a-f-]{36}:[0-9]{1,20})?$"
_TIME_RULE: Final = "a time as RFC 3339 has it, with its offset"

Harness = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,31}$")]
Session = Annotated[str, Field(pattern=r"^[!-~]{1,200}$", description="the harness's own id")]
Word = Annotated[str, Field(pattern=r"^[a-z][a-z_-]{0,31}$")]
Binding = Annotated[
    str,
    Field(
        pattern=f"^{BINDING}$",
        description="a UUID made once by each bridge process",
    ),
]
Attempt = Annotated[int, Field(ge=1, lt=2**53, description="as the event said")]
Time = Annotated[str, Field(max_length=64, json_schema_extra={"format": "date-time"})]
Conversation = Annotated[str, Field(pattern=str(CONVERSATION["pattern"]))]
SeatName = Annotated[str, Field(min_length=1, max_length=128)]


class GrantBody(Body):
    """What a seat is opened for. Without a conversation: the head, if no live seat has it.

    `expected`: the seat that it may replace there; null: none. `new`: for a conversation made now;
    the same `request_id` again makes no second one, and gives another grant for it.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"properties": {"new": {"const": False}}},
                {"required": ["request_id"], "properties": {"request_id": {"type": "string"}}},
                {"required": ["conversation"], "properties": {"conversation": {"type": "string"}}},
            ]
        }
    )

    harness: Harness
    conversation: Conversation | None = None
    new: bool = False
    request_id: str | None = Field(default=None, pattern=r"^[A-Za-z0-9._:-]{1,128}$")
    expected: SeatName | None = None

    def checked(self) -> GrantBody:
        """This. Raises InvalidFieldError: a conversation is to be made, under no request id."""
        if self.new and self.conversation is None and self.request_id is None:
            raise InvalidFieldError("request_id", "given for a new conversation")
        return self


class NativeBody(Body):
    """The native session: its id, and the process that runs it."""

    session_id: Session
    pid: int = Field(ge=1, lt=2**31)
    process_started_at: str = Field(default="", pattern=_PROCESS)

    def value(self) -> Native:
        """As the law has it."""
        return Native(self.session_id, self.pid, self.process_started_at)


class CapabilitiesBody(Body):
    """What the adapter can do."""

    kinds: list[Literal["turn", "escalation", "wake", "watch", "message"]] | None = Field(
        default=None, max_length=16
    )
    transcript: bool = True
    steer: bool = True
    interrupt: bool = False
    version: str = Field(default="", max_length=64)

    def value(self) -> Capabilities:
        """As the law has it; kinds that are not named are all kinds."""
        kinds = (
            frozenset(EventKind) if self.kinds is None else frozenset(map(EventKind, self.kinds))
        )
        return Capabilities(
            kinds=kinds,
            transcript=self.transcript,
            steer=self.steer,
            interrupt=self.interrupt,
            version=self.version,
        )


class RegisterBody(Body):
    """A grant, and who sits there."""

    grant: str = Field(min_length=1, max_length=256)
    harness: Harness
    native: NativeBody
    pane: str | None = Field(default=None, min_length=1, max_length=200)
    fleet: str = Field(default="local", pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")
    capabilities: CapabilitiesBody = CapabilitiesBody()


class AttachBody(Body):
    """Where to attach, and what is attached there as far as the caller knows."""

    conversation: Conversation
    expected: SeatName | None


class StartBody(Body):
    """A session begins and asks for its context; or it says that it has been given it."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": ["projection_id"]},
                {"required": ["session_id", "source", "sections"]},
            ]
        }
    )

    session_id: Session = Field(default="", validate_default=False)
    source: Word = Field(default="", validate_default=False)
    sections: list[Literal["persona", "reach", "conversation"]] = Field(
        default_factory=list, min_length=1, max_length=len(SECTIONS), validate_default=False
    )
    projection_id: str | None = Field(default=None, min_length=1, max_length=128)

    def checked(self) -> StartBody:
        """This. Raises InvalidFieldError where a start lacks one of its three members."""
        if self.projection_id is None:
            for name in ("session_id", "source", "sections"):
                if name not in self.model_fields_set:
                    raise InvalidFieldError(name, "given, or a projection_id alone")
        return self


class AckBody(Body):
    """Which binding took it, and which attempt."""

    binding: Binding
    attempt: Attempt


class RefuseBody(AckBody):
    """Nothing was handed over, and why."""

    reason: str = Field(min_length=1, max_length=500)


class ReplyBody(AckBody):
    """The answer."""

    text: str = Field(
        min_length=1,
        max_length=REPLY_LIMIT,
        json_schema_extra={"pattern": r"[^\s\u001c-\u001f\u0085]"},
    )

    def checked(self) -> str:
        """The text. Raises InvalidFieldError when it is blank."""
        if self.text.isspace():
            raise InvalidFieldError("text", "not blank")
        return self.text


class EvidenceBody(Body):
    """Which delivery the row's words are, and how that is known."""

    event: str = Field(min_length=1, max_length=200)
    attempt: Attempt
    proof: Literal["uuid", "client_id", "text", "socket"]
    value: str | None = Field(default=None, max_length=200)

    def value_of(self) -> Evidence:
        """As the law has it."""
        return Evidence(
            event=self.event, attempt=self.attempt, proof=Proof(self.proof), value=self.value
        )


class ToolBody(Body):
    """A step of a tool call."""

    name: str = Field(min_length=1, max_length=200)
    call_id: str = Field(default="", max_length=200)
    phase: Literal["started", "completed", "failed"]
    detail: str = ""

    def value(self) -> dict[str, Any]:
        """As the log has it."""
        return {
            "name": self.name,
            "call_id": self.call_id,
            "phase": self.phase,
            "detail": cut(self.detail),
        }


class LimitBody(Body):
    """A usage limit."""

    window: str = Field(min_length=1, max_length=64)
    occurred_at: Time
    resets_at: Time | None = None

    def value(self, path: str) -> Limited:
        """As the law has it. Raises InvalidFieldError."""
        return Limited(
            window=self.window,
            occurred_at=_time(self.occurred_at, f"{path}.occurred_at"),
            resets_at=None
            if self.resets_at is None
            else _time(self.resets_at, f"{path}.resets_at"),
        )


class EntryBody(Body):
    """A row of a harness's transcript."""

    id: str = Field(min_length=1, max_length=200)
    kind: Literal["user", "assistant", "tool", "limit", "error"]
    at: Time
    text: str = ""
    native_parent: str | None = Field(default=None, max_length=200)
    tool: ToolBody | None = None
    delivery_evidence: EvidenceBody | None = None
    limit: LimitBody | None = None
    code: Literal["interrupted", "api_error"] | None = None

    def value(self, path: str) -> Entry:
        """As the law has it. Raises InvalidFieldError."""
        evidence, limit = self.delivery_evidence, self.limit
        return Entry(
            id=self.id,
            kind=EntryKind(self.kind),
            at=_time(self.at, f"{path}.at"),
            text=cut(self.text),
            native_parent=self.native_parent,
            tool=None if self.tool is None else self.tool.value(),
            evidence=None if evidence is None else evidence.value_of(),
            limit=None if limit is None else limit.value(f"{path}.limit"),
            error=None if self.code is None else Mishap(self.code),
        )


class TranscriptBody(Body):
    """Rows in order, and what the session does now.

    `activity_at` is up to which moment of the harness that counts: `waiting` ends nothing that was
    said to the session later. Without it, it is the end of whatever stands there.
    """

    session_id: Session
    entries: list[EntryBody] = Field(max_length=ENTRIES)
    activity: Literal["responding", "waiting"] | None = None
    activity_at: Time | None = None

    def values(self) -> tuple[list[Entry], Activity | None, datetime | None]:
        """As the law has them. Raises InvalidFieldError."""
        rows = [one.value(f"entries.{n}") for n, one in enumerate(self.entries)]
        at = None if self.activity_at is None else _time(self.activity_at, "activity_at")
        return rows, None if self.activity is None else Activity(self.activity), at


class QuestionBody(Body):
    """The harness asks for leave; the same id again is the same question."""

    id: str = Field(pattern=r"^[A-Za-z0-9._:-]{1,128}$")
    summary: str = Field(min_length=1, max_length=500)
    detail: str = Field(default="", max_length=ROW)
    event: str | None = Field(default=None, min_length=1, max_length=200)


class DecisionBody(Body):
    """The owner's answer to a question that is still open."""

    decision: Literal["approve", "deny"]
    expected_state: Literal["pending"]


def _time(given: str, path: str) -> datetime:
    try:
        at = datetime.fromisoformat(given)
        if at.tzinfo is None:
            raise InvalidFieldError(path, _TIME_RULE)
        at = at.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidFieldError(path, _TIME_RULE) from error
    return at.replace(microsecond=at.microsecond // 1000 * 1000)
