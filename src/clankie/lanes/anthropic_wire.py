"""The Messages protocol as values: what is sent, and what may come back.

Rule 1: after a message with calls comes one with all their results first, then anything else.
Rule 2: no text is blank, since the server refuses that.
Rule 3: what a model thought before it called a tool goes back to it with the call, unread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, assert_never

import msgspec

from clankie.lanes.album import looked_at
from clankie.lanes.messages import AssistantText, Message, ToolResult, UserText
from clankie.lanes.reading import encode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clankie.lanes.endpoint import Endpoint
    from clankie.lanes.messages import ToolCall
    from clankie.lanes.model import ModelRequest

LONGEST: Final = 32_000
"""Tokens that an answer may have; the protocol wants a number. Older models refuse that many."""

_OLDER: Final = {"claude-3-5": 8_192, "claude-3-7": 32_000, "claude-3": 4_096}
_CACHED: Final = {"type": "ephemeral"}
_Block = dict[str, Any]


class Block(msgspec.Struct):
    """A piece of an answer as it begins."""

    type: str = ""
    id: str = ""
    name: str = ""
    text: str = ""
    input: dict[str, Any] | None = None
    thinking: str = ""
    signature: str = ""
    data: str = ""


class Delta(msgspec.Struct):
    """More of a block, or of the message."""

    type: str = ""
    text: str = ""
    partial_json: str = ""
    thinking: str = ""
    signature: str = ""
    stop_reason: str | None = None


class Usage(msgspec.Struct):
    """Tokens, as counted so far; what an event leaves out has not changed."""

    input_tokens: float | None = None
    output_tokens: float | None = None
    cache_read_input_tokens: float | None = None
    cache_creation_input_tokens: float | None = None


class Whole(msgspec.Struct):
    """A message: its head in a stream, or all of it from a server that does not stream."""

    usage: Usage | None = None


class Event(msgspec.Struct):
    """One event of a stream, or a whole answer (type ``message``)."""

    type: str = ""
    index: int = 0
    message: Whole | None = None
    content_block: Block | None = None
    delta: Delta | None = None
    usage: Usage | None = None
    error: Any = None
    content: list[Block] | None = None
    stop_reason: str | None = None


decoder = msgspec.json.Decoder(Event)


def body(at: Endpoint, request: ModelRequest) -> bytes:
    """The request as JSON.

    Tools and system prompt stand first and are the same from turn to turn. At the provider's own
    address they are marked to be cached; a server that only speaks the protocol may refuse that.
    """
    system: _Block = {"type": "text", "text": request.system}
    if at.own:
        system["cache_control"] = _CACHED
    wire: dict[str, Any] = {
        "model": at.model,
        "max_tokens": _longest(at.model),
        "messages": list(_messages(request)),
        "stream": True,
    }
    if request.system:
        wire["system"] = [system]
    if request.tools:
        wire["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
            for tool in request.tools
        ]
    return encode(wire)


def _longest(model: str) -> int:
    return next((most for start, most in _OLDER.items() if model.startswith(start)), LONGEST)


def _messages(request: ModelRequest) -> Iterator[dict[str, Any]]:
    """In order; neighbours of the same role become one."""
    last: dict[str, Any] | None = None
    for message in request.messages:
        role = "assistant" if isinstance(message, AssistantText) else "user"
        blocks = list(_blocks(message, request))
        if not blocks:
            continue
        if last is not None and last["role"] == role:
            last["content"] += blocks
            continue
        if last is not None:
            yield last
        last = {"role": role, "content": blocks}
    if last is not None:
        yield last


def _blocks(message: Message, request: ModelRequest) -> Iterator[_Block]:
    match message:
        case UserText():
            yield from _seen(message, request)
        case AssistantText(text=text, calls=calls):
            for call in calls:
                if call.seal:
                    yield from msgspec.json.decode(call.seal, type=list[_Block])
            if text.strip():
                yield {"type": "text", "text": text}
            yield from map(_call, calls)
        case ToolResult(id=call_id, text=text):
            yield {"type": "tool_result", "tool_use_id": call_id, "content": text}
        case _:
            assert_never(message)


def _seen(message: UserText, request: ModelRequest) -> Iterator[_Block]:
    for one in looked_at(message, request):
        if isinstance(one, str):
            yield {"type": "text", "text": one}
        else:
            source = {"type": "base64", "media_type": one.media_type, "data": one.base64}
            yield {"type": "image", "source": source}


def _call(call: ToolCall) -> _Block:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call.arguments)}


def _input(arguments: str) -> dict[str, Any]:
    """Arguments as an object, which the protocol wants even where the model wrote none."""
    try:
        return msgspec.json.decode(arguments or "{}", type=dict[str, Any])
    except msgspec.DecodeError:
        return {"unreadable": arguments}
