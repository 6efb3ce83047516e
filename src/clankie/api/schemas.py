"""JSON Schemas of what the service says. A test holds real answers against them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from typing import Any, Final

from clankie.api import seat_schemas
from clankie.api.bodies import DELIVERY
from clankie.api.schema_words import (
    ANY_OBJECT,
    COUNT,
    CURSOR,
    FLAG,
    NULL,
    NUMBER,
    TEXT,
    TIME,
    Schema,
    many,
    one_of,
    ref,
    shape,
)
from clankie.core.admission import TEXT_LIMIT, Mode, Origin
from clankie.core.conversation import Kind, Principal, Role, State, ToolPhase, TurnPhase
from clankie.core.delivery import InputState, SeatState, ServiceState
from clankie.core.goal import GoalState
from clankie.core.handoff import SpanState
from clankie.core.pictures import TYPES
from clankie.core.settings import DEFAULTS
from clankie.host.attachments import DIGEST as FILE_DIGEST
from clankie.host.attachments import NAME_LIMIT, NAME_RULE
from clankie.host.cancel import CancelOutcome
from clankie.host.doctor import Level

WORDS: Final[Schema] = {
    "type": "string",
    "minLength": 1,
    "maxLength": TEXT_LIMIT,
    "pattern": r"[^\s\u001c-\u001f\u0085]",
}
DIGEST: Final[Schema] = {"type": "string", "pattern": f"^{FILE_DIGEST}$"}
FILE_NAME: Final[Schema] = {
    "type": "string",
    "minLength": 1,
    "maxLength": NAME_LIMIT,
    "description": NAME_RULE,
}
UPLOADS: Final = (*sorted(TYPES), "text/plain")
DELIVERY_ID: Final[Schema] = {"type": "string", "pattern": r"^[A-Za-z0-9._:-]{1,128}$"}


def _event(kind: str, doc: str, own: dict[str, Schema], optional: dict[str, Schema]) -> Schema:
    head = {"cursor": CURSOR, "kind": {"const": kind}, "author": ref("Author"), "at": TIME}
    return shape(doc, {**head, **own}, optional)


def _settings(value: object) -> Schema:
    """The tree of settings, with its bounds and its words, as the values themselves carry them."""
    members: dict[str, Schema] = {}
    for one in _members(value):
        default = getattr(value, one.name)
        members[one.name] = _settings(default) if is_dataclass(default) else _setting(one, default)
    doc = (type(value).__doc__ or "").partition("\n")[0]
    return shape(doc, members)


def _members(group: object) -> tuple[Field[Any], ...]:
    if not is_dataclass(group):
        message = "only groups of settings have members"
        raise TypeError(message)
    return fields(group)


def _setting(one: Field[Any], default: object) -> Schema:
    found: Schema = {"default": default, "description": one.metadata.get("doc", "")}
    if isinstance(default, Mapping):
        return {"type": "object", "additionalProperties": {"type": ["object", "null"]}}
    if isinstance(default, bool):
        return found | FLAG
    if isinstance(default, str):
        return found | {"type": "string", "maxLength": one.metadata["limit"]}
    kind = "integer" if isinstance(default, int) else "number"
    return found | {
        "type": kind,
        "minimum": one.metadata["low"],
        "maximum": one.metadata["high"],
    }


def _patch(value: object) -> Schema:
    """The merge patch of the tree: any part of it, and null for a default."""
    members: dict[str, Schema] = {}
    for one in _members(value):
        default = getattr(value, one.name)
        inner = _patch(default) if is_dataclass(default) else _setting(one, default)
        inner.pop("default", None)
        members[one.name] = {"anyOf": [inner, {"type": "null"}]}
    return {"type": "object", "properties": members, "additionalProperties": False}


_REVISION: Final[Schema] = {"type": "integer", "minimum": 0, "exclusiveMaximum": 2**53}
PATCH: Final[Schema] = _patch(DEFAULTS)
PATCH["properties"]["expected_revision"] = _REVISION

PROBLEM: Final = shape(
    "Why it was refused. `code` is stable, `detail` says what to do; further members are facts.",
    {
        "type": TEXT,
        "title": TEXT,
        "status": {"type": "integer"},
        "code": TEXT,
        "detail": TEXT,
    },
    {
        "errors": {
            "type": "array",
            "items": shape("A field that is wrong.", {"path": TEXT, "rule": TEXT}),
        }
    },
)

EVENTS: Final[dict[str, Schema]] = {
    "MessageEvent": _event(
        "message",
        "Words.",
        {"role": one_of(Role), "text": TEXT},
        {
            "delivery_id": TEXT,
            "source": TEXT,
            "attachments": {"type": "array", "items": ref("Attachment")},
        },
    ),
    "ToolEvent": _event(
        "tool",
        "A step of a tool call.",
        {
            "call_id": TEXT,
            "name": TEXT,
            "phase": one_of(ToolPhase),
            "delivery_id": TEXT,
            "detail": TEXT,
        },
        {},
    ),
    "TurnEvent": _event(
        "turn",
        "A step in the life of a delivery.",
        {"phase": one_of(TurnPhase), "delivery_id": TEXT},
        {
            "code": TEXT,
            "detail": TEXT,
            "partial": TEXT,
            "usage": shape(
                "Tokens, and model requests; what it cost where the price is known.",
                {"input_tokens": COUNT, "output_tokens": COUNT, "requests": COUNT},
                {"model": TEXT, "cost_usd": NUMBER},
            ),
            "routing_reason": TEXT,
        },
    ),
    "NoticeEvent": _event(
        "notice",
        "The service says something about the conversation.",
        {"code": TEXT, "text": TEXT},
        {"delivery_id": TEXT},
    ),
    "HandoffEvent": _event(
        "handoff",
        "A step in telling the harness what the service did while it was away.",
        {"span": TEXT, "phase": one_of(SpanState), "from_cursor": COUNT},
        {"to_cursor": COUNT},
    ),
    "ResetEvent": _event("reset", "Projections begin after this.", {}, {}),
}

_STREAM: Final[dict[str, Schema]] = {
    "Draft": shape(
        "`event: draft`: more of an answer that is being written.",
        {"delivery_id": TEXT, "attempt": TEXT, "seq": COUNT, "text": TEXT},
    ),
    "DraftEnd": shape("`event: draft_end`: there is no more of it.", {"attempt": TEXT}),
    "FeedRow": shape(
        "How a conversation stands.",
        {
            "conversation": TEXT,
            "cursor": COUNT,
            "revision": COUNT,
            "state": one_of(State),
            "driver": ref("Driver"),
            "unread_reports": COUNT,
            "uncertain": COUNT,
        },
    ),
}

_CONVERSATIONS: Final[dict[str, Schema]] = {
    "Author": shape(
        "Who, as the host established it.", {"principal": one_of(Principal), "id": TEXT}
    ),
    "Driver": shape(
        "What executes a conversation now; of a seat, which one and how it stands.",
        {"kind": one_of(("service", "seat"))},
        {
            "seat": TEXT,
            "harness": TEXT,
            "occupant": TEXT,
            "state": one_of(("live", "holding", "absent", "parked")),
            "since": TIME,
            "last_ask": TIME,
            "hold_until": TIME,
            "grace_until": TIME,
        },
    ),
    "Conversation": shape(
        "A conversation.",
        {
            "id": TEXT,
            "name": TEXT,
            "kind": one_of(Kind),
            "state": one_of(State),
            "revision": COUNT,
            "cursor": COUNT,
            "driver": ref("Driver"),
            "unread_reports": COUNT,
            "uncertain": COUNT,
            "created_at": TIME,
        },
        {"directory": TEXT, "model": TEXT},
    ),
    "Conversations": shape("A list.", {"conversations": many("Conversation")}),
    "Event": {
        "oneOf": [ref(name) for name in EVENTS],
        "discriminator": {
            "propertyName": "kind",
            "mapping": {
                schema["properties"]["kind"]["const"]: ref(name)["$ref"]
                for name, schema in EVENTS.items()
            },
        },
    },
    "EventPage": shape(
        "A page of a log. `next_cursor` goes on the way the page went.",
        {
            "events": many("Event"),
            "next_cursor": COUNT,
            "head_cursor": COUNT,
            "has_more": FLAG,
        },
    ),
    "Attachment": shape(
        "A picture or text file. The bytes are at `/v1/attachments/{digest}`.",
        {"digest": DIGEST, "name": TEXT, "media_type": TEXT, "size": COUNT},
    ),
    "Html": shape(
        "Messages by cursor, as sanitised HTML.",
        {"html": {"type": "object", "additionalProperties": TEXT}},
    ),
    "SearchPage": shape(
        "Hits, newest first. `indexed`: the cursor that the index has reached.",
        {
            "results": {
                "type": "array",
                "items": shape(
                    "A hit, with the text around it.",
                    {"cursor": CURSOR, "at": TIME, "role": TEXT, "kind": TEXT, "snippet": TEXT},
                    {"source": TEXT},
                ),
            },
            "has_more": FLAG,
            "indexed": COUNT,
        },
    ),
    "GoalOrNone": shape("The goal, if there is one.", {"goal": {"anyOf": [ref("Goal"), NULL]}}),
    "Goal": shape(
        "An objective, pursued step by step.",
        {
            "id": TEXT,
            "text": TEXT,
            "token_budget": COUNT,
            "spent": COUNT,
            "step": COUNT,
            "state": one_of(GoalState),
            "created_at": TIME,
        },
        {"reason": TEXT},
    ),
    "Projection": shape(
        "The bounded view of a log, oldest first.",
        {
            "text": TEXT,
            "omitted": COUNT,
            "through": COUNT,
            "entries": {"type": "array", "items": ANY_OBJECT},
        },
    ),
}

_DELIVERIES: Final[dict[str, Schema]] = {
    "Input": shape(
        "A message to admit.",
        {
            "delivery_id": DELIVERY_ID,
            "text": WORDS,
        },
        {
            "expected_revision": COUNT | {"exclusiveMaximum": 2**53},
            "mode": one_of(Mode),
            "retry_of": {"type": "string", **DELIVERY},
            "attachments": {
                "type": "array",
                "maxItems": 32,
                "items": shape("Uploaded before.", {"digest": DIGEST, "name": FILE_NAME}),
            },
        },
    ),
    "Attempt": shape(
        "One try at having an input answered.",
        {
            "n": {"type": "integer", "minimum": 1},
            "destination": ref("Driver"),
            "state": one_of(sorted({*ServiceState, *SeatState})),
            "started_at": TIME,
        },
        {"ended_at": TIME, "code": TEXT, "into": TEXT, "evidence": ANY_OBJECT},
    ),
    "Delivery": shape(
        "The receipt of an input.",
        {
            "id": TEXT,
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "state": one_of(InputState),
            "mode": one_of(Mode),
            "conversation": TEXT,
            "origin": one_of(Origin),
            "admitted_at": TIME,
            "message_cursor": CURSOR,
            "attempts": many("Attempt"),
        },
        {
            "settled_at": TIME,
            "code": TEXT,
            "detail": TEXT,
            "reply_cursor": CURSOR,
            "reply_delivery_id": TEXT,
            "absorbed_by": one_of(("reply", "steer")),
            "retry_of": TEXT,
            "attachments": many("Attachment"),
            "not_before": TIME,
            "held": TEXT,
        },
    ),
    "Admitted": shape(
        "It is on disk.", {"delivery": ref("Delivery"), "revision": COUNT, "cursor": COUNT}
    ),
    "Deliveries": shape("A page.", {"deliveries": many("Delivery"), "has_more": FLAG}),
    "Cancelled": shape(
        "What came of asking.", {"outcome": one_of(CancelOutcome)}, {"delivery": ref("Delivery")}
    ),
    "Wake": shape(
        "Something set to happen later.",
        {
            "id": TEXT,
            "conversation": TEXT,
            "due_at": TIME,
            "text": TEXT,
            "depth": COUNT,
            "created_at": TIME,
        },
        {"delivery_id": TEXT, "held": TEXT},
    ),
    "Wakes": shape("A list.", {"wakes": many("Wake")}),
    "Released": shape("How many may try again.", {"released": COUNT}),
}

_OWNER: Final[dict[str, Schema]] = {
    "SettingsTree": _settings(DEFAULTS),
    "Settings": shape(
        "The stored settings; `in_effect` where this run overrides some.",
        {"revision": COUNT, "settings": ref("SettingsTree")},
        {"in_effect": ref("SettingsTree")},
    ),
    "Token": shape(
        "A bearer's record.",
        {
            "id": TEXT,
            "principal": ref("Author"),
            "label": TEXT,
            "created_at": TIME,
            "revoked": FLAG,
        },
    ),
    "Tokens": shape("A list.", {"tokens": many("Token")}),
    "NewToken": shape("The secret is shown once.", {"token": ref("Token"), "secret": TEXT}),
    "Credential": shape("A secret's name.", {"name": TEXT, "origin": TEXT, "source": TEXT}),
    "Credentials": shape("A list.", {"credentials": many("Credential")}),
    "LoginCode": shape("It opens one session.", {"code": TEXT, "expires_at": TIME}),
    "LoggedIn": shape("The session is in the cookie.", {"csrf": TEXT}),
    "ModelChoice": shape(
        "A model that answers, or could.",
        {
            "provider": TEXT,
            "source": one_of(("settings", "credential", "environment", "local", "practice")),
            "ready": FLAG,
            "sentence": TEXT,
        },
        {"model": TEXT, "address": TEXT},
    ),
    "Models": shape(
        "What answers, and what there is.",
        {"current": ref("ModelChoice"), "choices": many("ModelChoice")},
    ),
    "DayUsage": shape(
        "One day (UTC).",
        {
            "day": {"type": "string", "format": "date"},
            "input_tokens": COUNT,
            "output_tokens": COUNT,
            "requests": COUNT,
            "cost_usd": {"anyOf": [NUMBER, NULL]},
        },
    ),
    "Usage": shape(
        "Oldest day first.",
        {"days": many("DayUsage"), "today": ref("DayUsage"), "daily_tokens": COUNT},
    ),
    "McpServers": {"type": "array", "items": ref("McpServer")},
    "McpServer": shape(
        "A server of further tools.",
        {
            "name": TEXT,
            "state": one_of(("ready", "starting", "failed", "changed", "off")),
            "tools": {"type": "array", "items": TEXT},
            "sentence": TEXT,
            "hash": TEXT,
        },
    ),
    "Backup": shape("The copy.", {"path": TEXT, "at": TIME}),
    "Finding": shape(
        "One thing that was looked at.",
        {"name": TEXT, "level": one_of(Level), "sentence": TEXT, "fix": TEXT},
    ),
    "Findings": shape("All of them.", {"ok": FLAG, "findings": many("Finding")}),
    "Status": shape(
        "One snapshot.",
        {
            "version": TEXT,
            "now": TIME,
            "started_at": TIME,
            "uptime_seconds": NUMBER,
            "stopping": FLAG,
            "settings_revision": COUNT,
            "lane": ANY_OBJECT,
            "running": {"type": "array", "items": ANY_OBJECT},
            "conversations": ANY_OBJECT,
            "deliveries": ANY_OBJECT,
            "writer_backlog": COUNT,
            "store": ANY_OBJECT,
        },
    ),
    "Health": shape("It answers.", {"ok": FLAG}),
}

COMPONENTS: Final[dict[str, Schema]] = {
    "Problem": PROBLEM,
    **_CONVERSATIONS,
    **EVENTS,
    **_STREAM,
    **_DELIVERIES,
    **_OWNER,
    **seat_schemas.COMPONENTS,
}
