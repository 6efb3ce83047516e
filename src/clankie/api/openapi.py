"""/openapi.json: what the framework knows of its routes, and what it cannot know of ours."""

from __future__ import annotations

import copy
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec
from fastapi.openapi.utils import get_openapi

from clankie.api import seat_schemas
from clankie.api.problems import MEDIA_TYPE, STATUS
from clankie.api.replies import Reply
from clankie.api.rights import PUBLIC
from clankie.api.routing import plain
from clankie.api.schema_words import COUNT, NUMBER, TEXT, Schema, ref, shape
from clankie.api.schemas import COMPONENTS, DIGEST, FILE_NAME, UPLOADS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fastapi import FastAPI
    from starlette.routing import Route

    from clankie.api.routing import Hot

_HERE: Final = "/v1/conversations/{conversation}"
_JSON: Final = "application/json"
_SSE: Final = "text/event-stream"
_PATHS: Final = "paths"
_LOGIN: Final = "/v1/login"
_SEATS: Final = "/v1/seats"

ANSWERS: Final[Mapping[tuple[str, str], Mapping[int, str]]] = {
    ("GET", "/v1/health"): {200: "Health"},
    ("POST", "/v1/login"): {200: "LoggedIn", 303: ""},
    ("GET", "/openapi.json"): {200: "Any"},
    ("GET", "/v1/conversations"): {200: "Conversations"},
    ("POST", "/v1/conversations"): {200: "Conversation", 201: "Conversation"},
    ("GET", _HERE): {200: "Conversation"},
    ("PATCH", _HERE): {200: "Conversation"},
    ("DELETE", _HERE): {200: "Conversation"},
    ("POST", f"{_HERE}/reset"): {200: "Conversation"},
    ("POST", f"{_HERE}/inputs"): {200: "Admitted", 202: "Admitted"},
    ("POST", f"{_HERE}/cancel"): {200: "Cancelled"},
    ("GET", f"{_HERE}/events"): {200: "EventPage"},
    ("GET", f"{_HERE}/html"): {200: "Html"},
    ("GET", f"{_HERE}/search"): {200: "SearchPage"},
    ("GET", f"{_HERE}/export"): {200: "application/jsonl"},
    ("POST", f"{_HERE}/purge"): {200: "Conversation"},
    ("GET", f"{_HERE}/goal"): {200: "GoalOrNone"},
    ("PUT", f"{_HERE}/goal"): {200: "GoalOrNone"},
    ("DELETE", f"{_HERE}/goal"): {200: "GoalOrNone"},
    ("GET", f"{_HERE}/projection"): {200: "Projection"},
    ("GET", f"{_HERE}/prompt"): {200: "text/plain"},
    ("POST", "/v1/attachments"): {201: "Attachment"},
    ("GET", "/v1/attachments/{digest}"): {200: "*/*"},
    ("GET", "/v1/feed"): {200: _SSE},
    ("GET", "/v1/deliveries"): {200: "Deliveries"},
    ("GET", "/v1/deliveries/{delivery}"): {200: "Delivery"},
    ("POST", "/v1/deliveries/{delivery}/settle"): {200: "Delivery"},
    ("GET", "/v1/wakes"): {200: "Wakes"},
    ("DELETE", "/v1/wakes/{wake}"): {204: ""},
    ("POST", "/v1/wakes/release"): {200: "Released"},
    ("POST", "/v1/wakes/{wake}/release"): {200: "Released"},
    ("GET", "/v1/settings"): {200: "Settings"},
    ("GET", "/v1/settings/schema"): {200: "Any"},
    ("PATCH", "/v1/settings"): {200: "Settings"},
    ("GET", "/v1/tokens"): {200: "Tokens"},
    ("POST", "/v1/tokens"): {201: "NewToken"},
    ("DELETE", "/v1/tokens/{token}"): {204: ""},
    ("POST", "/v1/login-codes"): {201: "LoginCode"},
    ("POST", "/v1/logout"): {204: ""},
    ("GET", "/v1/models"): {200: "Models"},
    ("GET", "/v1/usage"): {200: "Usage"},
    ("GET", "/v1/mcp-servers"): {200: "McpServers"},
    ("POST", "/v1/mcp-servers/{name}/agree"): {204: ""},
    ("GET", "/v1/credentials"): {200: "Credentials"},
    ("PUT", "/v1/credentials/{name}"): {200: "Credential"},
    ("DELETE", "/v1/credentials/{name}"): {204: ""},
    ("POST", "/v1/backups"): {201: "Backup"},
    ("GET", "/v1/doctor"): {200: "Findings"},
    ("GET", "/v1/status"): {200: "Status"},
    ("GET", "/v1/metrics"): {200: "application/openmetrics-text"},
    **seat_schemas.ANSWERS,
}
"""What each route answers when all is well: a component, a media type, or nothing."""

_ALWAYS: Final = (400, 421, 422, 431, 500, 503)
_WITH_TOKEN: Final = (401, 403)
_WITH_BODY: Final = (413, 415)
_WITH_NAME: Final = (404, 409, 410)
_STREAMS: Final = (429,)


def routes(framework: FastAPI) -> list[Route]:
    """One; the document is made when it is first asked for."""

    @cache
    def document() -> bytes:
        return msgspec.json.encode(describe(framework))

    async def get_openapi_json(hot: Hot) -> None:
        hot.call.allow()
        await Reply(200, document()).send(hot.send)

    return [plain("GET", "/openapi.json", get_openapi_json)]


def describe(framework: FastAPI) -> dict[str, Any]:
    """The whole document."""
    made = get_openapi(
        title=framework.title,
        version=framework.version,
        description="One conversation log, many executors, nothing lost.",
        routes=framework.routes,
    )
    document = copy.deepcopy(made)
    for path, operations in _hot().items():
        document[_PATHS].setdefault(path, {}).update(operations)
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas.update(COMPONENTS)
    document["components"]["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "session": {"type": "apiKey", "in": "cookie", "name": "clankie_session"},
    }
    for path, operations in document[_PATHS].items():
        for method, operation in operations.items():
            _complete(operation, method.upper(), path)
    return document


def _complete(operation: dict[str, Any], method: str, path: str) -> None:
    route = (method, path)
    if path == _LOGIN:
        code = shape("The code.", {"code": {"type": "string", "minLength": 1, "maxLength": 64}})
        content = {_JSON: {"schema": code}, "application/x-www-form-urlencoded": {"schema": code}}
        operation["requestBody"] = {"required": True, "content": content}
    responses: dict[str, Any] = {}
    for status, said in ANSWERS[route].items():
        responses[str(status)] = _answer(said, operation.get("responses", {}), status)
    for status in _errors(operation, route):
        responses[str(status)] = _problem(status)
    if route == ("POST", seat_schemas.MCP):
        _in_its_own_words(responses)
    operation["responses"] = responses
    if route not in PUBLIC:
        operation["security"] = [{"bearer": []}, {"session": []}]


def _in_its_own_words(responses: dict[str, Any]) -> None:
    """What reached the protocol of tools is refused in the words of that protocol."""
    responses["406"] = {"description": "The answer is JSON.", "content": {}}
    for status in ("400", "404", "406"):
        responses[status]["content"][_JSON] = {"schema": {"type": "object"}}


def _answer(said: str, before: Mapping[str, Any], status: int) -> dict[str, Any]:
    doc = before.get(str(status), {}).get("description", "As asked.")
    if not said:
        return {"description": doc}
    if "/" in said:
        return {"description": doc, "content": {said: {"schema": TEXT}}}
    schema: Schema = {"type": "object"} if said == "Any" else ref(said)
    answer: dict[str, Any] = {"description": doc, "content": {_JSON: {"schema": schema}}}
    if said == "EventPage":
        answer["content"][_SSE] = {"schema": TEXT}
    return answer


def _errors(operation: Mapping[str, Any], route: tuple[str, str]) -> Iterable[int]:
    found = set[int](_ALWAYS)
    if route not in PUBLIC or route[1] in {_LOGIN, _SEATS}:
        found.update(_WITH_TOKEN)
    if "requestBody" in operation:
        found.update(_WITH_BODY)
    if "{" in route[1] or operation.get("parameters") or route[0] == "POST":
        found.update(_WITH_NAME)
    if route[0] == "PATCH":
        found.add(409)
    if route[1] in {"/v1/feed", f"{_HERE}/events"}:
        found.update(_STREAMS)
    return sorted(found)


@cache
def _codes() -> Mapping[int, str]:
    codes: dict[int, set[str]] = {}
    for kind, status in STATUS.items():
        codes.setdefault(status, set()).update(
            one.code for one in (kind, *kind.__subclasses__()) if one.code != "error"
        )
    codes[500] = {"internal_error"}
    return {status: ", ".join(sorted(found)) for status, found in codes.items()}


def _problem(status: int) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "description": f"Codes: {_codes()[status]}.",
        "content": {MEDIA_TYPE: {"schema": ref("Problem")}},
    }
    if status == 503:  # noqa: PLR2004 - the one status that says when to come back
        answer["headers"] = {"Retry-After": {"schema": COUNT}}
    return answer


def _hot() -> dict[str, dict[str, Any]]:
    """The routes the framework has never heard of."""
    here = {"name": "conversation", "in": "path", "required": True, "schema": _ID}
    return {
        "/openapi.json": {"get": _operation("openapi", "This document.", "service")},
        f"{_HERE}/inputs": {
            "post": {
                **_operation("admit_input", "Admit a message.", "conversations"),
                "parameters": [here],
                "requestBody": {
                    "required": True,
                    "content": {_JSON: {"schema": ref("Input")}},
                },
            }
        },
        f"{_HERE}/events": {
            "get": {
                **_operation("read_events", "The log: a page, or a stream.", "conversations"),
                "parameters": [
                    here,
                    _query(
                        "after", {**COUNT, "exclusiveMaximum": 2**53}, "go on after this cursor"
                    ),
                    _query(
                        "before",
                        {"type": "integer", "minimum": 1, "exclusiveMaximum": 2**53},
                        "the page that ends below this cursor; not beside `after`",
                    ),
                    _query("limit", {"type": "integer", "minimum": 1, "maximum": 500}, "events"),
                    _query("wait", NUMBER, "seconds to wait for one, at most 30"),
                    {
                        "name": "Last-Event-ID",
                        "in": "header",
                        "description": "wins over `after`, for streams",
                        "schema": {**COUNT, "exclusiveMaximum": 2**53},
                    },
                ],
            }
        },
        f"{_HERE}/export": {
            "get": {
                **_operation(
                    "export_conversation", "Everything, an event a line.", "conversations"
                ),
                "parameters": [here],
            }
        },
        **_attachments(),
        **seat_schemas.hot(),
        "/v1/feed": {"get": _operation("read_feed", "One stream for lists of FeedRow.", "feed")},
    }


def _attachments() -> dict[str, dict[str, Any]]:
    digest = {"name": "digest", "in": "path", "required": True, "schema": DIGEST}
    name = {**_query("name", FILE_NAME, "what the file is called"), "required": True}
    content = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in UPLOADS}
    return {
        "/v1/attachments": {
            "post": {
                **_operation("keep_attachment", "Keep a picture or a text file.", "attachments"),
                "parameters": [name],
                "requestBody": {"required": True, "content": content},
            }
        },
        "/v1/attachments/{digest}": {
            "get": {
                **_operation("read_attachment", "The bytes.", "attachments"),
                "parameters": [digest],
            }
        },
    }


_ID: Final[Schema] = {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,63}$"}


def _operation(name: str, doc: str, tag: str) -> dict[str, Any]:
    return {"operationId": name, "summary": doc, "tags": [tag]}


def _query(name: str, schema: Schema, doc: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": doc, "schema": schema}
