"""The Messages protocol of Anthropic, as a scripted model speaks it."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from typing import Any, Final

from harnesses.script import Asked, Piece, Plan

_ERRORS: Final = {
    "rate": (429, "rate_limit_error", "This request would exceed the rate limit."),
    "overloaded": (529, "overloaded_error", "Overloaded"),
    "auth": (401, "authentication_error", "invalid x-api-key"),
    "bad": (400, "invalid_request_error", "a bad request, as the script says"),
}
_HOUR: Final = 3600
_COUNT: Final = itertools.count(1)


def _flat(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(one.get("text", "")) for one in content or [] if one.get("type") == "text")


def _pieces(message: dict[str, Any]) -> Iterator[Piece]:
    role, content = str(message.get("role")), message.get("content")
    if isinstance(content, str):
        yield Piece(role, "text", content)
        return
    for block in content or []:
        match block.get("type"):
            case "text":
                yield Piece(role, "text", str(block.get("text", "")))
            case "tool_use":
                yield Piece(role, "call", f"{block.get('name')} {json.dumps(block.get('input'))}")
            case "tool_result":
                yield Piece(role, "result", _flat(block.get("content")))
            case _:
                pass


def limit_headers(*, weekly: bool, resets_at: int) -> dict[str, str]:
    """What the vendor's server sends with a subscription's usage limit."""
    other = resets_at + (0 if weekly else 24 * _HOUR)
    return {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": str(resets_at),
        "anthropic-ratelimit-unified-representative-claim": (
            "seven_day" if weekly else "five_hour"
        ),
        "anthropic-ratelimit-unified-5h-status": "allowed" if weekly else "rejected",
        "anthropic-ratelimit-unified-5h-reset": str(resets_at),
        "anthropic-ratelimit-unified-5h-utilization": "0.3" if weekly else "1.0",
        "anthropic-ratelimit-unified-7d-status": "rejected" if weekly else "allowed",
        "anthropic-ratelimit-unified-7d-reset": str(other),
        "anthropic-ratelimit-unified-7d-utilization": "1.0" if weekly else "0.4",
        "anthropic-ratelimit-unified-overage-status": "rejected",
        "anthropic-ratelimit-unified-overage-disabled-reason": "out_of_credits",
        "retry-after": "3600",
        "x-should-retry": "false",
    }


class Messages:
    """`POST …/messages`."""

    paths: tuple[str, ...] = ("/messages",)

    def read(self, path: str, body: dict[str, Any]) -> Asked:
        """The request in the common shape."""
        del path
        return Asked(
            wire="messages",
            pieces=[one for message in body.get("messages", []) for one in _pieces(message)],
            tools=[str(one.get("name")) for one in body.get("tools") or []],
            stream=bool(body.get("stream")),
            system=_flat(body.get("system")),
            body=body,
        )

    def error(self, kind: str) -> tuple[int, dict[str, str], dict[str, Any]]:
        """Status, headers and body of a failure."""
        if kind in {"limit", "weekly"}:
            soon = int(time.time()) + _HOUR  # noqa: TID251 - the client compares it with its clock
            headers = limit_headers(weekly=kind == "weekly", resets_at=soon)
            words = "This request would exceed your account's rate limit. Please try again later."
            return 429, headers, _failure("rate_limit_error", words)
        status, name, words = _ERRORS[kind]
        return status, {}, _failure(name, words)

    def whole(self, asked: Asked, plan: Plan) -> dict[str, Any]:
        """The answer as one message."""
        blocks: list[dict[str, Any]] = [{"type": "text", "text": plan.say}] if plan.say else []
        number = next(_COUNT)
        blocks += [
            {"type": "tool_use", "id": f"toolu_{number:06}{n}", "name": name, "input": given}
            for n, (name, given) in enumerate(plan.tools)
        ]
        return {
            "id": f"msg_{number:06}",
            "type": "message",
            "role": "assistant",
            "model": asked.body.get("model"),
            "content": blocks,
            "stop_reason": "tool_use" if plan.tools else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 10},
        }

    def events(self, asked: Asked, plan: Plan) -> Iterator[tuple[str | None, dict[str, Any] | str]]:
        """The same as a stream."""
        message = self.whole(asked, plan)
        empty = {**message, "content": [], "stop_reason": None}
        yield _named("message_start", message=empty)
        for index, block in enumerate(message["content"]):
            yield from _block(index, block)
        stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield _named("message_delta", delta=stop, usage={"output_tokens": 10})
        yield _named("message_stop")


def _block(index: int, block: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    if block["type"] == "text":
        start: dict[str, Any] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield _named("content_block_start", index=index, content_block=start)
    yield _named("content_block_delta", index=index, delta=delta)
    yield _named("content_block_stop", index=index)


def _failure(name: str, words: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": name, "message": words}}


def _named(name: str, **data: Any) -> tuple[str, dict[str, Any]]:
    return name, {"type": name, **data}
