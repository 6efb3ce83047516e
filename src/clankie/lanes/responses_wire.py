"""The Responses protocol as values: what is sent, and what may come back.

Nothing is kept at the provider (``store`` is false), so every request says all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

import msgspec

from clankie.lanes.album import looked_at
from clankie.lanes.messages import AssistantText, Message, ToolResult, UserText
from clankie.lanes.reading import encode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clankie.lanes.endpoint import Endpoint
    from clankie.lanes.model import ModelRequest

_Item = dict[str, Any]


class Content(msgspec.Struct):
    """A piece of a message."""

    type: str = ""
    text: str = ""
    refusal: str = ""


class Item(msgspec.Struct):
    """A piece of an answer: a message, a call, or thoughts."""

    type: str = ""
    call_id: str = ""
    name: str = ""
    arguments: str | None = None
    content: list[Content] | None = None


class InputDetails(msgspec.Struct):
    """What of the input came from a cache."""

    cached_tokens: float | None = None


class Usage(msgspec.Struct):
    """Tokens of the whole response."""

    input_tokens: float | None = None
    output_tokens: float | None = None
    input_tokens_details: InputDetails | None = None


class Incomplete(msgspec.Struct):
    """Why it stopped early."""

    reason: str = ""


class Response(msgspec.Struct):
    """The response as it stands at an event."""

    status: str | None = None
    usage: Usage | None = None
    incomplete_details: Incomplete | None = None
    error: Any = None
    output: list[Item] | None = None


class Event(msgspec.Struct):
    """One event of a stream."""

    type: str = ""
    output_index: int = 0
    delta: str | None = None
    arguments: str | None = None
    item: Item | None = None
    response: Response | None = None
    error: Any = None
    message: str | None = None
    code: str | int | None = None


decoder = msgspec.json.Decoder(Event)
whole_decoder = msgspec.json.Decoder(Response)


def body(at: Endpoint, request: ModelRequest) -> bytes:
    """The request as JSON."""
    wire: dict[str, Any] = {
        "model": at.model,
        "instructions": request.system,
        "input": [item for message in request.messages for item in _items(message, request)],
        "stream": True,
        "store": False,
    }
    if request.tools:
        wire["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.schema,
                "strict": False,
            }
            for tool in request.tools
        ]
    return encode(wire)


def _items(message: Message, request: ModelRequest) -> Iterator[_Item]:
    match message:
        case UserText():
            seen = list(_seen(message, request))
            if seen:
                yield {"role": "user", "content": seen}
        case AssistantText(text=text, calls=calls):
            if text:
                yield {"role": "assistant", "content": text}
            for call in calls:
                yield {
                    "type": "function_call",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": call.arguments or "{}",
                }
        case ToolResult(id=call_id, text=text):
            yield {"type": "function_call_output", "call_id": call_id, "output": text}
        case _:
            assert_never(message)


def _seen(message: UserText, request: ModelRequest) -> Iterator[_Item]:
    for one in looked_at(message, request):
        if isinstance(one, str):
            yield {"type": "input_text", "text": one}
        else:
            yield {"type": "input_image", "image_url": one.url, "detail": "auto"}
