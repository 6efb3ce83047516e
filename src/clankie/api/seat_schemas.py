"""JSON Schemas of what seats are told, and the routes that the framework knows nothing of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from clankie.api.schema_words import (
    ANY_OBJECT,
    COUNT,
    CURSOR,
    FLAG,
    NUMBER,
    TEXT,
    TIME,
    Schema,
    many,
    one_of,
    ref,
    shape,
)
from clankie.api.seat_bodies import BINDING, POLL_ID
from clankie.core.delivery import SeatState
from clankie.core.seat import Activity, EventKind

if TYPE_CHECKING:
    from collections.abc import Mapping

SEAT: Final = "/v1/seats/{seat}"
EVENT: Final = f"{SEAT}/events/{{event}}"
MCP: Final = "/v1/mcp"
_JSON: Final = "application/json"

ANSWERS: Final[Mapping[tuple[str, str], Mapping[int, str]]] = {
    ("POST", "/v1/seats/grants"): {201: "Grant"},
    ("POST", "/v1/seats"): {201: "Registered"},
    ("GET", "/v1/seats"): {200: "Seats"},
    ("DELETE", SEAT): {204: ""},
    ("PUT", f"{SEAT}/attachment"): {200: "SeatAttachment", 202: "SeatAttachment"},
    ("DELETE", f"{SEAT}/attachment"): {200: "SeatAttachment"},
    ("POST", f"{SEAT}/session-start"): {200: "SessionStart"},
    ("GET", f"{SEAT}/events"): {200: "SeatPage"},
    ("POST", f"{EVENT}/ack"): {200: "SeatEventState"},
    ("POST", f"{EVENT}/refuse"): {200: "SeatEventState"},
    ("POST", f"{EVENT}/reply"): {200: "SeatEventState"},
    ("POST", f"{SEAT}/transcript"): {200: "Synced"},
    ("POST", f"{SEAT}/approvals"): {201: "Approval"},
    ("DELETE", f"{SEAT}/approvals/{{approval}}"): {204: ""},
    ("GET", "/v1/approvals"): {200: "Approvals"},
    ("POST", "/v1/approvals/{approval}"): {200: "Approval"},
    ("POST", MCP): {200: "Any", 202: ""},
    ("DELETE", MCP): {204: ""},
}

COMPONENTS: Final[dict[str, Schema]] = {
    "Grant": shape(
        "Leave to register one seat, once.",
        {"grant": TEXT, "conversation": TEXT, "expires_at": TIME},
    ),
    "Registered": shape(
        "The seat and its token, which is shown once.",
        {"seat": TEXT, "token": TEXT, "conversation": {"type": ["string", "null"]}},
    ),
    "Seat": shape(
        "A seat, as it stands now.",
        {
            "seat": TEXT,
            "harness": TEXT,
            "state": one_of(("live", "holding", "absent", "parked", "unattached", "ended")),
            "registered_at": TIME,
            "native": shape("The session, and its process.", {"session_id": TEXT, "pid": COUNT}),
            "waiting": COUNT,
            "in_flight": COUNT,
        },
        {
            "conversation": TEXT,
            "since": TIME,
            "last_ask": TIME,
            "hold_until": TIME,
            "grace_until": TIME,
            "parked_until": TIME,
            "activity": one_of(Activity),
            "pane": TEXT,
            "version": TEXT,
            "steer": FLAG,
            "interrupt": FLAG,
        },
    ),
    "Seats": shape("All that are not retired.", {"seats": many("Seat")}),
    "SeatAttachment": shape(
        "Where it is attached.",
        {
            "seat": TEXT,
            "conversation": {"type": ["string", "null"]},
            "state": one_of(("bound", "waiting_for_run", "unattached")),
        },
    ),
    "SessionStart": {
        "anyOf": [
            shape("What the session begins with.", {"text": TEXT, "projection_id": TEXT}),
            shape("It has it.", {"confirmed": FLAG}),
        ]
    },
    "SeatEvent": shape(
        "One thing for the harness.",
        {
            "id": TEXT,
            "kind": one_of(EventKind),
            "source": TEXT,
            "steer": FLAG,
            "content": TEXT,
            "created_at": TIME,
            "deadline": TIME,
            "reply": FLAG,
            "conversation": TEXT,
            "attempt": COUNT,
            "generation": COUNT,
        },
        {
            "cursor": CURSOR,
            "members": {"type": "array", "items": TEXT},
            "attribution": ANY_OBJECT,
        },
    ),
    "SeatPage": shape(
        "What a poll brings. `superseded`: a newer poll of the same seat took its place. `renew`: "
        "the session of the harness can write nowhere here; let it begin another one.",
        {"events": many("SeatEvent")},
        {
            "superseded": FLAG,
            "interrupts": {
                "type": "array",
                "items": shape("Stop this turn.", {"event": TEXT, "attempt": COUNT}),
            },
            "decisions": {
                "type": "array",
                "items": shape(
                    "The owner's answer.",
                    {"approval": TEXT, "decision": one_of(("approve", "deny"))},
                ),
            },
            "renew": FLAG,
        },
    ),
    "SeatEventState": shape("How the attempt stands.", {"state": one_of(SeatState)}),
    "Synced": shape("What came of the rows.", {"accepted": COUNT, "duplicates": COUNT}),
    "Approval": shape(
        "A question of a harness; `detail` is its own words. `unwatched`: nobody listens at its "
        "seat, so it may have been answered there.",
        {
            "id": TEXT,
            "seat": TEXT,
            "conversation": {"type": ["string", "null"]},
            "summary": TEXT,
            "detail": TEXT,
            "state": one_of(("pending", "approved", "denied", "withdrawn")),
            "created_at": TIME,
        },
        {"unwatched": FLAG},
    ),
    "Approvals": {"type": "array", "items": ref("Approval")},
}


_MESSAGE: Final = shape(
    "A message of JSON-RPC 2.0; without an id it is answered by 202 alone.",
    {"jsonrpc": {"const": "2.0"}, "method": TEXT},
    {"id": {"type": ["integer", "string"]}, "params": ANY_OBJECT},
)


def hot() -> dict[str, dict[str, Any]]:
    """The poll, and the tools."""
    seat = {"name": "seat", "in": "path", "required": True, "schema": TEXT}
    message = {"content": {_JSON: {"schema": _MESSAGE}}, "required": True}
    session = {
        "name": "Mcp-Session-Id",
        "in": "header",
        "description": "the session that the answer to `initialize` named",
        "schema": TEXT,
    }
    return {
        f"{SEAT}/events": {
            "get": {
                **_operation("poll_seat", "What is for the harness now."),
                "parameters": [
                    seat,
                    _query("binding", BINDING, "a UUID made once by each bridge process"),
                    _query("poll_id", POLL_ID, "the same id again is the same page"),
                    {
                        "name": "wait",
                        "in": "query",
                        "description": "seconds, at most as the setting says; 0 never binds",
                        "schema": NUMBER,
                    },
                ],
            }
        },
        MCP: {
            "post": {
                **_operation("call_mcp", "The tools of a seat, over the Model Context Protocol."),
                "parameters": [session],
                "requestBody": message,
            },
            "delete": {
                **_operation("end_mcp", "End a session."),
                "parameters": [session],
            },
        },
    }


def _operation(name: str, doc: str) -> dict[str, Any]:
    return {"operationId": name, "summary": doc, "tags": ["seats"]}


def _query(name: str, pattern: str, doc: str) -> dict[str, Any]:
    schema = {"type": "string", "pattern": f"^{pattern}$"}
    return {"name": name, "in": "query", "description": doc, "required": True, "schema": schema}
