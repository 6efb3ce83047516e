"""The Responses and the chat protocol of OpenAI, as a scripted model speaks them."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from typing import Any, Final

from harnesses.script import Asked, Piece, Plan

_ERRORS: Final = {
    "rate": (429, "rate_limit_exceeded", "Rate limit reached."),
    "overloaded": (503, "server_error", "The server is overloaded."),
    "auth": (401, "invalid_api_key", "Incorrect API key provided."),
    "bad": (400, "invalid_request_error", "a bad request, as the script says"),
}
_HOUR: Final = 3600
_COUNT: Final = itertools.count(1)
_USAGE: Final = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 10,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 20,
}

Events = Iterator[tuple[str | None, dict[str, Any] | str]]


def _flat(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(one.get("text", "")) for one in content or [] if "text" in one)


def _name(item: dict[str, Any]) -> str:
    """A tool as a directive names it: those of a server of tools stand in a namespace."""
    space = item.get("namespace")
    return f"{space}::{item.get('name')}" if space else str(item.get("name"))


def _item(item: dict[str, Any]) -> Piece | None:
    match item.get("type", "message"):
        case "message":
            return Piece(str(item.get("role")), "text", _flat(item.get("content")))
        case "function_call":
            return Piece("assistant", "call", f"{_name(item)} {item.get('arguments')}")
        case "function_call_output":
            return Piece("tool", "result", _flat(item.get("output")))
        case _:
            return None


def _tools(tools: list[dict[str, Any]]) -> Iterator[str]:
    for one in tools:
        if one.get("type") == "namespace":
            for inner in one.get("tools") or []:
                yield f"{one.get('name')}::{inner.get('name')}"
        else:
            yield str(one.get("name") or one.get("type"))


def limit_headers(*, weekly: bool, resets_at: int) -> dict[str, str]:
    """What the vendor's server sends with a subscription's usage limit."""
    return {
        "x-codex-primary-used-percent": "30" if weekly else "100",
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-at": str(resets_at),
        "x-codex-secondary-used-percent": "100" if weekly else "40",
        "x-codex-secondary-window-minutes": "10080",
        "x-codex-secondary-reset-at": str(resets_at + (0 if weekly else 24 * _HOUR)),
    }


def _error(kind: str) -> tuple[int, dict[str, str], dict[str, Any]]:
    if kind in {"limit", "weekly"}:
        soon = int(time.time()) + _HOUR  # noqa: TID251 - the client compares it with its clock
        headers = limit_headers(weekly=kind == "weekly", resets_at=soon)
        words = "The usage limit has been reached"
        failure = {"type": "usage_limit_reached", "message": words, "resets_at": soon}
        return 429, headers, {"error": {**failure, "plan_type": "plus"}}
    status, name, words = _ERRORS[kind]
    return status, {}, {"error": {"type": name, "code": name, "message": words}}


class Responses:
    """`POST …/responses`."""

    paths: tuple[str, ...] = ("/responses",)

    def read(self, path: str, body: dict[str, Any]) -> Asked:
        """The request in the common shape."""
        del path
        given = body.get("input") or []
        items: list[dict[str, Any]] = (
            [{"role": "user", "content": given}] if isinstance(given, str) else given
        )
        return Asked(
            wire="responses",
            pieces=[piece for piece in map(_item, items) if piece is not None],
            tools=list(_tools(body.get("tools") or [])),
            stream=bool(body.get("stream")),
            system=_flat(body.get("instructions")),
            body=body,
        )

    def error(self, kind: str) -> tuple[int, dict[str, str], dict[str, Any]]:
        """Status, headers and body of a failure."""
        return _error(kind)

    def whole(self, asked: Asked, plan: Plan) -> dict[str, Any]:
        """The answer as one response."""
        number = next(_COUNT)
        return {
            "id": f"resp_{number:06}",
            "object": "response",
            "created_at": 0,
            "status": "completed",
            "model": asked.body.get("model"),
            "output": list(_output(number, plan)),
            "usage": _USAGE,
        }

    def events(self, asked: Asked, plan: Plan) -> Events:
        """The same as a stream."""
        response = self.whole(asked, plan)
        yield _typed("response.created", response={**response, "output": [], "usage": None})
        for index, item in enumerate(response["output"]):
            yield from _streamed(index, item)
        yield _typed("response.completed", response=response)


def _output(number: int, plan: Plan) -> Iterator[dict[str, Any]]:
    if plan.say:
        yield {
            "type": "message",
            "id": f"msg_{number:06}",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": plan.say, "annotations": []}],
        }
    for index, (name, given) in enumerate(plan.tools):
        space, _, short = name.rpartition("::")
        yield {
            "type": "function_call",
            "id": f"fc_{number:06}{index}",
            "status": "completed",
            "call_id": f"call_{number:06}{index}",
            "name": short,
            "arguments": json.dumps(given),
            **({"namespace": space} if space else {}),
        }


def _streamed(index: int, item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    if item["type"] == "message":
        started: dict[str, Any] = {**item, "status": "in_progress", "content": []}
    else:
        started = {**item, "arguments": ""}
    yield _typed("response.output_item.added", output_index=index, item=started)
    where = {"item_id": item["id"], "output_index": index}
    if item["type"] == "message":
        part = item["content"][0]
        empty = {**part, "text": ""}
        yield _typed("response.content_part.added", **where, content_index=0, part=empty)
        text = part["text"]
        yield _typed("response.output_text.delta", **where, content_index=0, delta=text)
        yield _typed("response.output_text.done", **where, content_index=0, text=text)
        yield _typed("response.content_part.done", **where, content_index=0, part=part)
    else:
        given = item["arguments"]
        yield _typed("response.function_call_arguments.delta", **where, delta=given)
        yield _typed("response.function_call_arguments.done", **where, arguments=given)
    yield _typed("response.output_item.done", output_index=index, item=item)


def _typed(name: str, **data: Any) -> tuple[str, dict[str, Any]]:
    return name, {"type": name, **data}


# ── chat completions ─────────────────────────────────────────────────────────────────────────────


def _chat_pieces(message: dict[str, Any]) -> Iterator[Piece]:
    role = str(message.get("role"))
    kind = "result" if role == "tool" else "text"
    if message.get("content"):
        yield Piece(role, kind, _flat(message["content"]))
    for call in message.get("tool_calls") or []:
        function = call.get("function") or {}
        yield Piece(role, "call", f"{function.get('name')} {function.get('arguments')}")


class Chat:
    """`POST …/chat/completions`."""

    paths: tuple[str, ...] = ("/chat/completions",)

    def read(self, path: str, body: dict[str, Any]) -> Asked:
        """The request in the common shape."""
        del path
        messages: list[dict[str, Any]] = body.get("messages") or []
        said = [one for one in messages if one.get("role") not in {"system", "developer"}]
        system = [one for one in messages if one.get("role") in {"system", "developer"}]
        functions = [one.get("function") or {} for one in body.get("tools") or []]
        return Asked(
            wire="chat",
            pieces=[piece for message in said for piece in _chat_pieces(message)],
            tools=[str(one.get("name")) for one in functions],
            stream=bool(body.get("stream")),
            system="\n".join(_flat(one.get("content")) for one in system),
            body=body,
        )

    def error(self, kind: str) -> tuple[int, dict[str, str], dict[str, Any]]:
        """Status, headers and body of a failure."""
        return _error(kind)

    def whole(self, asked: Asked, plan: Plan) -> dict[str, Any]:
        """The answer as one completion."""
        calls = list(_calls(plan))
        message = {"role": "assistant", "content": plan.say or None, "tool_calls": calls}
        reason = "tool_calls" if calls else "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return {**_completion(asked, "chat.completion"), "choices": [choice], "usage": _SPENT}

    def events(self, asked: Asked, plan: Plan) -> Events:
        """The same as a stream."""
        head = _completion(asked, "chat.completion.chunk")
        yield None, {**head, "choices": [_choice({"role": "assistant", "content": plan.say})]}
        if plan.tools:
            yield None, {**head, "choices": [_choice({"tool_calls": [*_calls(plan)]})]}
        last = _choice({}, "tool_calls" if plan.tools else "stop")
        yield None, {**head, "choices": [last], "usage": _SPENT}
        yield None, "[DONE]"


_SPENT: Final = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}


def _choice(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": reason}


def _completion(asked: Asked, kind: str) -> dict[str, Any]:
    name = f"chatcmpl-{next(_COUNT):06}"
    return {"id": name, "object": kind, "created": 0, "model": asked.body.get("model")}


def _calls(plan: Plan) -> Iterator[dict[str, Any]]:
    for index, (name, given) in enumerate(plan.tools):
        function = {"name": name, "arguments": json.dumps(given)}
        yield {
            "index": index,
            "id": f"call_{next(_COUNT):06}",
            "type": "function",
            "function": function,
        }
