"""The chat completions protocol as values: what is sent, and what may come back.

Reading is generous where servers are known to differ, and strict about types: what does not fit is
a malformed answer, never a guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never, cast

import msgspec

from clankie.lanes.album import looked_at
from clankie.lanes.messages import AssistantText, Message, ToolResult, UserText
from clankie.lanes.reading import encode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clankie.lanes.endpoint import Endpoint
    from clankie.lanes.model import ModelRequest, ToolSpec


_Content = str | list[dict[str, Any]]


class Function(msgspec.Struct):
    """A call's name and arguments, or a piece of them; some servers send the arguments as JSON."""

    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class CallDelta(msgspec.Struct):
    """A tool call, or a piece of one."""

    index: int | None = None
    id: str | None = None
    function: Function | None = None


class ContentPart(msgspec.Struct):
    """A piece of structured content; only text is read."""

    type: str = "text"
    text: str | None = None


class Delta(msgspec.Struct):
    """What a chunk adds, or what a whole answer says."""

    content: str | list[ContentPart] | None = None
    refusal: str | None = None
    tool_calls: list[CallDelta] | None = None

    def words(self) -> str:
        """Text to show: content, or the model's own words of refusal."""
        content = self.content
        if isinstance(content, list):
            content = "".join(part.text or "" for part in content if part.type == "text")
        return content or self.refusal or ""


class Choice(msgspec.Struct):
    """One of the answers; only the first is ever asked for."""

    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None


class Details(msgspec.Struct):
    """What of the input came from a cache."""

    cached_tokens: float | None = None


class UsageWire(msgspec.Struct):
    """Tokens, as counted so far."""

    prompt_tokens: float | None = None
    completion_tokens: float | None = None
    prompt_tokens_details: Details | None = None


class Chunk(msgspec.Struct):
    """One event of a stream, or a whole answer."""

    choices: list[Choice] | None = None
    usage: UsageWire | None = None
    error: Any = None


class Failure(msgspec.Struct):
    """The body of an error, in the shapes that servers use."""

    error: Any = None
    message: Any = None
    detail: Any = None


decoder = msgspec.json.Decoder(Chunk)
decode_failure = msgspec.json.Decoder(Failure).decode


def failure_words(error: Any) -> tuple[str, str]:  # noqa: ANN401 - whatever a server put there
    """The sentence and the code in an error object; both may be empty."""
    if isinstance(error, str):
        return error, ""
    if isinstance(error, dict):
        fields = cast("dict[str, Any]", error)
        words, code = fields.get("message"), fields.get("code") or fields.get("type")
        return (words if isinstance(words, str) else "", str(code or ""))
    return "", ""


def body(at: Endpoint, request: ModelRequest) -> bytes:
    """The request as JSON."""
    wire: dict[str, Any] = {
        "model": at.model,
        "messages": [{"role": "system", "content": request.system}, *_messages(request)],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        wire["tools"] = [_tool(tool) for tool in request.tools]
    return encode(wire)


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def _messages(request: ModelRequest) -> Iterator[dict[str, Any]]:
    """In order; neighbours of the same role become one, since some servers refuse two in a row."""
    last: dict[str, Any] | None = None
    for message in request.messages:
        wire = _message(message, request)
        if last is not None and _joins(last, wire):
            last["content"] = _joined(last["content"], wire["content"])
            continue
        if last is not None:
            yield last
        last = wire
    if last is not None:
        yield last


def _joins(last: dict[str, Any], wire: dict[str, Any]) -> bool:
    plain = last["role"] in {"user", "assistant"} and "tool_calls" not in last
    return plain and last["role"] == wire["role"] and "tool_calls" not in wire


def _joined(one: _Content, other: _Content) -> _Content:
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}"
    return [*_parts(one), *_parts(other)]


def _parts(content: _Content) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _message(message: Message, request: ModelRequest) -> dict[str, Any]:
    match message:
        case UserText():
            return {"role": "user", "content": _content(message, request)}
        case AssistantText(text=text, calls=()):
            return {"role": "assistant", "content": text}
        case AssistantText(text=text, calls=calls):
            wired = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in calls
            ]
            return {"role": "assistant", "content": text or None, "tool_calls": wired}
        case ToolResult(id=call_id, text=text):
            return {"role": "tool", "tool_call_id": call_id, "content": text}
        case _:
            assert_never(message)


def _content(message: UserText, request: ModelRequest) -> _Content:
    if not message.pictures:
        return message.text
    parts: list[dict[str, Any]] = []
    for seen in looked_at(message, request):
        if isinstance(seen, str):
            parts.append({"type": "text", "text": seen})
        else:
            parts.append({"type": "image_url", "image_url": {"url": seen.url}})
    return parts
