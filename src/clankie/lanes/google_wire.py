"""Google's generateContent protocol as values: what is sent, and what may come back.

Rule 1: a call goes back as it came, with the seal that came with it: newer models refuse a history
        without it.
Rule 2: of a JSON Schema only those words are sent that the server knows; one it does not know makes
        it refuse the whole request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, assert_never, cast

import msgspec

from clankie.lanes.album import looked_at
from clankie.lanes.messages import AssistantText, Message, ToolResult, UserText
from clankie.lanes.reading import NAMELESS, encode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clankie.lanes.endpoint import Endpoint
    from clankie.lanes.messages import ToolCall
    from clankie.lanes.model import ModelRequest

_Part = dict[str, Any]
_KNOWN: Final = {
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "description",
    "enum",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "oneOf",
    "prefixItems",
    "properties",
    "required",
    "type",
}
_NAMES: Final = {"$defs", "properties"}  # maps whose keys are names, not words of the language
_VALUES: Final = {"enum", "required", "type"}
_WIDER: Final = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}


class FunctionCall(msgspec.Struct):
    """A whole call."""

    name: str = ""
    args: Any = None
    id: str = ""


class Piece(msgspec.Struct, rename="camel"):
    """A part of the content: words, thoughts, or a call."""

    text: str | None = None
    thought: bool = False
    thought_signature: str = ""
    function_call: FunctionCall | None = None


class Content(msgspec.Struct):
    """What the model says."""

    parts: list[Piece] | None = None


class Candidate(msgspec.Struct, rename="camel"):
    """One of the answers; only the first is ever asked for."""

    content: Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class UsageMetadata(msgspec.Struct, rename="camel"):
    """Tokens, as counted so far."""

    prompt_token_count: float | None = None
    tool_use_prompt_token_count: float | None = None
    cached_content_token_count: float | None = None
    candidates_token_count: float | None = None
    thoughts_token_count: float | None = None


class Feedback(msgspec.Struct, rename="camel"):
    """What the server thinks of the question."""

    block_reason: str | None = None


class Chunk(msgspec.Struct, rename="camel"):
    """One event of a stream."""

    candidates: list[Candidate] | None = None
    usage_metadata: UsageMetadata | None = None
    prompt_feedback: Feedback | None = None
    error: Any = None


decoder = msgspec.json.Decoder(Chunk)


def body(_at: Endpoint, request: ModelRequest) -> bytes:
    """The request as JSON; the model is named in the address."""
    wire: dict[str, Any] = {"contents": list(_contents(request))}
    if request.system:
        wire["systemInstruction"] = {"parts": [{"text": request.system}]}
    if request.tools:
        declared = [
            {
                "name": tool.name,
                "description": tool.description,
                "parametersJsonSchema": narrowed(tool.schema),
            }
            for tool in request.tools
        ]
        wire["tools"] = [{"functionDeclarations": declared}]
    return encode(wire)


def narrowed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON Schema in the words that Google's servers know; what it forbids may become wider.

    The tool itself checks its arguments against the whole schema, so nothing is lost by it.
    """
    found: dict[str, Any] = {}
    for word, value in schema.items():
        known = _WIDER.get(word, word)
        if known not in _KNOWN:
            continue
        if known in _NAMES:
            named = cast("Mapping[str, Any]", value)
            found[known] = {name: _inner(one) for name, one in named.items()}
        else:
            found[known] = value if known in _VALUES else _inner(value)
    form = schema.get("format")
    if isinstance(form, str):
        found["description"] = f"{found.get('description', '')} ({form})".strip()
    return found


def _inner(value: Any) -> Any:  # noqa: ANN401 - whatever stands in a schema
    if isinstance(value, dict):
        return narrowed(cast("dict[str, Any]", value))
    if isinstance(value, list):
        return [_inner(one) for one in cast("Sequence[Any]", value)]
    return value


def _contents(request: ModelRequest) -> Iterator[dict[str, Any]]:
    """In order; neighbours of the same role become one."""
    last: dict[str, Any] | None = None
    for message in request.messages:
        role = "model" if isinstance(message, AssistantText) else "user"
        parts = list(_parts(message, request))
        if not parts:
            continue
        if last is not None and last["role"] == role:
            last["parts"] += parts
            continue
        if last is not None:
            yield last
        last = {"role": role, "parts": parts}
    if last is not None:
        yield last


def _parts(message: Message, request: ModelRequest) -> Iterator[_Part]:
    match message:
        case UserText():
            yield from _seen(message, request)
        case AssistantText(text=text, calls=calls):
            if text:
                yield {"text": text}
            yield from map(_call, calls)
        case ToolResult(id=call_id, name=name, text=text):
            yield {
                "functionResponse": {**_named(call_id), "name": name, "response": {"result": text}}
            }
        case _:
            assert_never(message)


def _seen(message: UserText, request: ModelRequest) -> Iterator[_Part]:
    for one in looked_at(message, request):
        if isinstance(one, str):
            yield {"text": one}
        else:
            yield {"inlineData": {"mimeType": one.media_type, "data": one.base64}}


def _call(call: ToolCall) -> _Part:
    wire: _Part = {
        "functionCall": {**_named(call.id), "name": call.name, "args": _args(call.arguments)}
    }
    if call.seal:
        wire["thoughtSignature"] = call.seal
    return wire


def _named(call_id: str) -> dict[str, str]:
    """The id, where it was the server that gave it."""
    return {} if call_id.startswith(NAMELESS) else {"id": call_id}


def _args(arguments: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(arguments or "{}", type=dict[str, Any])
    except msgspec.DecodeError:
        return {"unreadable": arguments}
