"""The receipt of a delivery: what is known of it, and the sentence that says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_never

from clankie.core.admission import Reach
from clankie.core.conversation import timestamp
from clankie.core.delivery import AttemptState, InputState, SeatState, ServiceState

if TYPE_CHECKING:
    from datetime import datetime

    from clankie.core.admission import Mode, Origin
    from clankie.core.conversation import Attachment, Author, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call of an attempt. `state`: attempting, completed, failed or uncertain.

    `effect` says that it may have changed something outside the conversation.
    """

    call_id: str
    name: str
    effect: bool
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try at having an input answered. `n` counts from 1.

    `started_at` is the reservation, `asked_at` the moment from which the model may have been asked.
    `into` names the delivery whose run it joined, or with which it went to a seat. `seat` and
    `occupant` are set for an attempt at a seat; `acknowledged_at` and `proof` are its evidence.
    """

    n: int
    state: AttemptState
    started_at: datetime
    seat: str | None = None
    occupant: str | None = None
    acknowledged_at: datetime | None = None
    proof: str | None = None
    asked_at: datetime | None = None
    ended_at: datetime | None = None
    code: str | None = None
    into: str | None = None
    usage: Usage | None = None
    tools: tuple[ToolCall, ...] = ()

    def to_wire(self) -> dict[str, Any]:
        """As a receipt lists it."""
        wire: dict[str, Any] = {
            "n": self.n,
            "destination": self._destination(),
            "state": self.state,
            "started_at": timestamp(self.started_at),
        }
        if self.ended_at is not None:
            wire["ended_at"] = timestamp(self.ended_at)
        if self.code is not None:
            wire["code"] = self.code
        if self.into is not None:
            wire["into"] = self.into
        if self.usage is not None:
            wire["usage"] = self.usage.to_wire()
        evidence = self._evidence()
        if evidence:
            wire["evidence"] = evidence
        return wire

    def _destination(self) -> dict[str, Any]:
        if self.seat is None:
            return {"kind": "service"}
        return {"kind": "seat", "seat": self.seat, "occupant": self.occupant}

    def _evidence(self) -> dict[str, Any]:
        evidence: dict[str, Any] = {}
        if self.tools:
            evidence["tools"] = [
                {"call_id": t.call_id, "name": t.name, "effect": t.effect, "state": t.state}
                for t in self.tools
            ]
        if self.acknowledged_at is not None:
            evidence["acknowledged_at"] = timestamp(self.acknowledged_at)
        if self.proof is not None:
            evidence["proof"] = self.proof
        return evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """An input and everything known of it.

    `message_cursor` is where its words stand in the log, `reply_cursor` where the answer stands.
    `not_before` and `held` keep a failed wake back; `depth` counts the wakes that led to it;
    `tries` counts attempts since the last release, the present one included, released ones not.
    """

    id: str
    conversation: str
    origin: Origin
    author: Author
    text: str
    mode: Mode
    fingerprint: str
    state: InputState
    admitted_at: datetime
    message_cursor: int
    settled_at: datetime | None = None
    code: str | None = None
    detail: str | None = None
    reply_cursor: int | None = None
    reply_delivery_id: str | None = None
    absorbed_by: str | None = None
    retry_of: str | None = None
    attachments: tuple[Attachment, ...] = ()
    not_before: datetime | None = None
    held: str | None = None
    depth: int = 0
    reach: Reach = Reach.CONVERSATION
    occupant: str | None = None
    channel: str | None = None
    name: str = ""
    tries: int = 0
    attempts: tuple[Attempt, ...] = ()

    def to_wire(self) -> dict[str, Any]:
        """The receipt as the protocol shows it; the text itself stays in the log."""
        wire: dict[str, Any] = {
            "id": self.id,
            "fingerprint": self.fingerprint,
            "state": self.state,
            "mode": self.mode,
            "conversation": self.conversation,
            "origin": self.origin,
            "admitted_at": timestamp(self.admitted_at),
            "message_cursor": self.message_cursor,
            "settled_at": None if self.settled_at is None else timestamp(self.settled_at),
            "code": self.code,
            "detail": explain(self),
            "reply_cursor": self.reply_cursor,
            "reply_delivery_id": self.reply_delivery_id,
            "absorbed_by": self.absorbed_by,
            "retry_of": self.retry_of,
            "attachments": [one.to_wire() for one in self.attachments] or None,
            "not_before": None if self.not_before is None else timestamp(self.not_before),
            "held": self.held,
            "attempts": [attempt.to_wire() for attempt in self.attempts],
        }
        return {name: value for name, value in wire.items() if value is not None}


def tool_started(delivery: Delivery) -> bool:
    """Whether any attempt started a tool: sending it again may repeat what the tool did."""
    return any(attempt.tools for attempt in delivery.attempts)


def explain(delivery: Delivery) -> str | None:
    """What is known of an input that did not end well, or that a seat has, in one sentence."""
    match delivery.state:
        case InputState.UNCERTAIN | InputState.ABANDONED:
            return _uncertain(delivery)
        case InputState.FAILED | InputState.NOT_SENT | InputState.CANCELLED:
            return delivery.detail
        case InputState.QUEUED:
            return _at_seat(delivery) if delivery.held is None else f"It is held: {delivery.held}."
        case InputState.RUNNING:
            return _at_seat(delivery)
        case InputState.SETTLED | InputState.ABSORBED:
            return None
        case _:
            assert_never(delivery.state)


def _uncertain(delivery: Delivery) -> str:
    lost = next((a for a in reversed(delivery.attempts) if _is_lost(a)), None)
    if lost is None:
        return "Nothing is known of how it ended."
    closed = "; closed as unknown" if delivery.state is InputState.ABANDONED else ""
    if lost.seat is not None:
        cause = f"; {delivery.detail}" if delivery.detail else ""
        return f"{_given(lost)}; {_evidence(lost)}{cause}{closed}."
    tools = ", ".join(f"{tool.name} ({tool.state})" for tool in lost.tools) or "none"
    cause = delivery.detail or "the process died before an answer was stored"
    when = _clock(lost.asked_at or lost.started_at)
    return f"The model was asked at {when}; {cause}; tools run: {tools}{closed}."


def _is_lost(attempt: Attempt) -> bool:
    return attempt.state is ServiceState.UNCERTAIN or attempt.state is SeatState.UNCERTAIN


def _at_seat(delivery: Delivery) -> str | None:
    """Where an input stands whose last attempt is at a seat, or was given back by one."""
    last = delivery.attempts[-1] if delivery.attempts else None
    if last is None or last.seat is None:
        return None
    match last.state:
        case SeatState.OFFERED:
            return f"It waits at the seat {last.seat} for its next poll."
        case SeatState.REFUSED | SeatState.RELEASED:
            why = "" if last.code is None else f" ({last.code})"
            done = "refused it" if last.state is SeatState.REFUSED else "did not take it"
            return f"The seat {last.seat} {done}{why}; it waits again."
        case _:
            return f"{_given(last)}; {_evidence(last)}."


def _given(attempt: Attempt) -> str:
    when = _clock(attempt.asked_at or attempt.started_at)
    return f"It was given to the seat {attempt.seat} at {when}"


def _evidence(attempt: Attempt) -> str:
    """What the harness itself has shown of it."""
    if attempt.proof is not None:
        return "its transcript shows the words"
    if attempt.acknowledged_at is not None:
        return f"it was acknowledged at {_clock(attempt.acknowledged_at)}"
    return "no acknowledgement came"


def _clock(at: datetime) -> str:
    return f"{timestamp(at)[11:16]} UTC"
