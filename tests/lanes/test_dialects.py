"""What only one protocol has: seals, thoughts, schemas, caches, whole answers."""

import json
from typing import Any

import pytest

from clankie.core.settings import Models
from clankie.lanes import anthropic, google, responses
from clankie.lanes.dialect import Dialect
from clankie.lanes.endpoint import endpoint
from clankie.lanes.google_wire import narrowed
from clankie.lanes.messages import AssistantText, Message, ToolCall, ToolResult, UserText
from clankie.lanes.model import (
    Finished,
    ModelBadResponseError,
    ModelError,
    ModelRefusedError,
    ModelRequest,
    Part,
    Reason,
    Spent,
    TextDelta,
    ToolCallPart,
    ToolSpec,
)
from clankie.lanes.sight import sees
from clankie.lanes.tools import TOOLS

SPEC = ToolSpec(name="t", description="d", schema={"type": "object", "properties": {}})


def read(dialect: Dialect, *events: object) -> list[Part]:
    reader = dialect.reader(str)
    parts = [
        part
        for one in events
        for part in reader.take(one if isinstance(one, bytes) else json.dumps(one).encode())
    ]
    return [*parts, *reader.end()]


def sent(dialect: Dialect, model: str, *messages: Message, base_url: str = "") -> Any:
    request = ModelRequest(system="rules", messages=messages, tools=[SPEC])
    return json.loads(dialect.body(endpoint(Models(model=model, base_url=base_url)), request))


def called(part: Part) -> ToolCall:
    assert isinstance(part, ToolCallPart)
    return part.call


# ── Messages ─────────────────────────────────────────────────────────────────────────────────────


def test_what_was_thought_before_a_call_goes_back_with_it() -> None:
    thinks = {"type": "thinking", "thinking": "", "signature": ""}
    *_, call, _ = read(
        anthropic.DIALECT,
        {"type": "message_start", "message": {"usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": thinks},
        {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": "s1"}},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "redacted_thinking", "data": "zz"},
        },
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "id": "toolu_1", "name": "t", "input": {}},
        },
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
    )
    made = called(call)
    wire = sent(
        anthropic.DIALECT,
        "anthropic:c",
        UserText("hi"),
        AssistantText("", (made,)),
        ToolResult("toolu_1", "t", "done"),
        UserText("and"),
    )
    assert [m["role"] for m in wire["messages"]] == ["user", "assistant", "user"]
    assert wire["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "s1"},
        {"type": "redacted_thinking", "data": "zz"},
        {"type": "tool_use", "id": "toolu_1", "name": "t", "input": {}},
    ]
    assert [b["type"] for b in wire["messages"][2]["content"]] == ["tool_result", "text"]


def test_system_and_tools_are_cached_at_the_providers_own_address_only() -> None:
    own = sent(anthropic.DIALECT, "anthropic:c", UserText("hi"))
    other = sent(anthropic.DIALECT, "anthropic:c", UserText("hi"), base_url="http://127.0.0.1:1")
    assert own["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in json.dumps(other)


def test_blank_text_is_left_out() -> None:
    wire = sent(anthropic.DIALECT, "anthropic:c", UserText("hi"), AssistantText(" "), UserText("x"))
    assert [m["role"] for m in wire["messages"]] == ["user"]
    assert [b["text"] for b in wire["messages"][0]["content"]] == ["hi", "x"]


@pytest.mark.parametrize(
    ("model", "most"), [("claude-3-haiku", 4_096), ("claude-3-5-x", 8_192), ("claude-9", 32_000)]
)
def test_an_older_model_is_not_asked_for_more_than_it_can_write(model: str, most: int) -> None:
    assert sent(anthropic.DIALECT, f"anthropic:{model}", UserText("hi"))["max_tokens"] == most


def test_arguments_of_a_call_that_nobody_named_are_malformed() -> None:
    more = {"type": "input_json_delta", "partial_json": "{}"}
    with pytest.raises(ModelBadResponseError):
        read(anthropic.DIALECT, {"type": "content_block_delta", "index": 4, "delta": more})


def test_a_message_that_comes_whole_is_read() -> None:
    parts = read(
        anthropic.DIALECT,
        {
            "type": "message",
            "content": [
                {"type": "text", "text": "hello"},
                {"type": "tool_use", "id": "c", "name": "t", "input": {"a": 1}},
            ],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 2, "output_tokens": 1},
        },
    )
    assert TextDelta("hello") in parts
    assert Spent(input_tokens=2, output_tokens=1) in parts
    assert called(parts[-2]) == ToolCall("c", "t", '{"a":1}')


# ── Responses ────────────────────────────────────────────────────────────────────────────────────


def test_nothing_is_kept_at_the_provider() -> None:
    wire = sent(
        responses.DIALECT,
        "openai:g",
        UserText("hi"),
        AssistantText("ok", (ToolCall("c1", "t", ""),)),
        ToolResult("c1", "t", "done"),
        UserText(""),
    )
    assert wire["store"] is False
    assert wire["instructions"] == "rules"
    assert wire["tools"][0]["strict"] is False
    assert [item.get("type", item.get("role")) for item in wire["input"]] == [
        "user",
        "assistant",
        "function_call",
        "function_call_output",
    ]
    assert wire["input"][2]["arguments"] == "{}"


CALL = {"type": "function_call", "call_id": "c", "name": "t", "arguments": '{"a":1}'}
SAID = {"type": "message", "content": [{"type": "output_text", "text": "hello"}]}


def test_a_response_that_comes_whole_is_read() -> None:
    parts = read(responses.DIALECT, {"status": "completed", "output": [SAID, CALL]})
    assert TextDelta("hello") in parts
    assert called(parts[-2]) == ToolCall("c", "t", '{"a":1}')


# proves: SERV-7
def test_a_call_that_is_told_twice_is_one_call() -> None:
    parts = read(
        responses.DIALECT,
        {"type": "response.output_item.done", "output_index": 3, "item": CALL},
        {"type": "response.completed", "response": {"status": "completed", "output": [CALL]}},
    )
    assert [one for one in parts if isinstance(one, ToolCallPart)] == [
        ToolCallPart(ToolCall("c", "t", '{"a":1}'))
    ]


def test_a_refusal_in_words_is_the_answer() -> None:
    parts = read(
        responses.DIALECT,
        {"type": "response.refusal.delta", "delta": "I will not."},
        {"type": "response.completed", "response": {"status": "completed"}},
    )
    assert parts == [TextDelta("I will not."), Finished(Reason.DONE)]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "message": "boom", "code": "server_error"},
        {"type": "error", "error": {"message": "boom"}},
        {"error": {"message": "boom"}},
        {"type": "response.failed", "response": {"status": "failed", "error": {"message": "boom"}}},
    ],
)
def test_an_error_in_any_shape_is_quoted(event: object) -> None:
    with pytest.raises(ModelError, match="boom") as caught:
        read(responses.DIALECT, event)
    assert caught.value.code == "model_server_error"


def test_an_end_for_other_servers_is_no_end_of_the_answer() -> None:
    with pytest.raises(ModelBadResponseError):
        read(responses.DIALECT, b"[DONE]")


# ── generateContent ──────────────────────────────────────────────────────────────────────────────


def piece(*parts: object, **more: object) -> object:
    return {"candidates": [{"content": {"parts": list(parts)}, **more}]}


def test_a_seal_goes_back_with_its_call_and_an_id_only_where_there_was_one() -> None:
    parts = read(
        google.DIALECT,
        piece({"functionCall": {"name": "t", "args": {"a": 1}}, "thoughtSignature": "sig"}),
        piece({"functionCall": {"name": "t", "id": "x"}}, finishReason="STOP"),
    )
    first, second = (called(part) for part in parts if isinstance(part, ToolCallPart))
    wire = sent(
        google.DIALECT,
        "google:g",
        UserText("hi"),
        AssistantText("I look", (first, second)),
        ToolResult(first.id, "t", "one"),
        ToolResult(second.id, "t", "two"),
    )
    assert [c["role"] for c in wire["contents"]] == ["user", "model", "user"]
    assert wire["contents"][1]["parts"] == [
        {"text": "I look"},
        {"functionCall": {"name": "t", "args": {"a": 1}}, "thoughtSignature": "sig"},
        {"functionCall": {"id": "x", "name": "t", "args": {}}},
    ]
    assert wire["contents"][2]["parts"] == [
        {"functionResponse": {"name": "t", "response": {"result": "one"}}},
        {"functionResponse": {"id": "x", "name": "t", "response": {"result": "two"}}},
    ]


@pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "NEW_FILTER"])
def test_a_filters_end_is_a_refusal(reason: str) -> None:
    with pytest.raises(ModelRefusedError, match=reason):
        read(google.DIALECT, piece(finishReason=reason))


def test_a_question_that_is_blocked_is_a_refusal() -> None:
    with pytest.raises(ModelRefusedError, match="BLOCKLIST"):
        read(google.DIALECT, {"promptFeedback": {"blockReason": "BLOCKLIST"}})


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "OTHER"])
def test_a_models_own_failure_is_no_refusal(reason: str) -> None:
    with pytest.raises(ModelBadResponseError, match="Send the message again"):
        read(google.DIALECT, piece(finishReason=reason))


def test_a_schema_keeps_only_the_words_that_the_server_knows() -> None:
    schema = {
        "type": "object",
        "title": "T",
        "properties": {
            "title": {"type": "string", "minLength": 1, "format": "date-time"},
            "n": {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "null"}]},
        },
        "required": ["title"],
        "additionalProperties": False,
    }
    assert narrowed(schema) == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "(date-time)"},
            "n": {"anyOf": [{"type": "number", "minimum": 0}, {"type": "null"}]},
        },
        "required": ["title"],
        "additionalProperties": False,
    }
    for tool in TOOLS.values():
        assert "exclusive" not in json.dumps(narrowed(tool.spec().schema))


# ── pictures ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "seeing"),
    [
        ("gpt-4o", True),
        ("gpt-4", False),
        ("gpt-4-vision-preview", True),
        ("gpt-3.5-turbo", False),
        ("claude-sonnet-4-5", True),
        ("gemma3:4b", True),
        ("gemma-3-27b", True),
        ("gemma2:9b", False),
        ("llama3.2-vision:11b", True),
        ("meta/llama3:8b", False),
        ("qwen2.5vl:7b", True),
        ("qwen3:8b", False),
        ("grok-4.7", True),
        ("grok-3", False),
        ("something-new", True),
    ],
)
def test_families_known_to_be_blind_are_told_in_words(name: str, seeing: bool) -> None:
    assert sees(name) is seeing
