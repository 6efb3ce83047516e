"""The protocols that the scripted model server speaks, each as the bytes that its events are.

A `Wire` makes the same answers in every protocol, and reads back what a request said.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from fakes.model_server import (
    DONE,
    Act,
    Asked,
    call_events,
    delta,
    event,
    problem,
    streams,
    text_events,
    usage,
)

Call = tuple[str, str]
"""Name and arguments of a tool call."""


class Style(ABC):
    """One protocol. Every whole answer reports 9 tokens read and 3 written."""

    provider: ClassVar[str]
    path: ClassVar[str]
    key: ClassVar[tuple[str, str]]
    early_tokens: ClassVar[int] = 0  # what is known of an answer that only began

    @property
    def model(self) -> str:
        return f"{self.provider}:any"

    @abstractmethod
    def half(self, *words: str) -> list[bytes]:
        """An answer that began."""

    @abstractmethod
    def end(self, *, cut: bool = False) -> list[bytes]:
        """How it ends."""

    @abstractmethod
    def called(self, *wanted: Call) -> list[bytes]:
        """Calls, whole, without an end."""

    @abstractmethod
    def endless_call(self) -> tuple[list[bytes], bytes]:
        """How a call begins, and more of it to be sent for ever; 100,000 characters."""

    @abstractmethod
    def refused(self) -> list[bytes]:
        """The end of an answer that a filter stops."""

    @abstractmethod
    def broke(self, words: str) -> bytes:
        """The server fails in the middle."""

    @abstractmethod
    def thinks(self) -> list[bytes]:
        """Events that show nothing: thoughts, signs of life, kinds that nobody knows."""

    @abstractmethod
    def heard(self, asked: Asked) -> str:
        """All of a request's messages as JSON text."""

    @abstractmethod
    def told(self, asked: Asked) -> list[tuple[str, str]]:
        """Id (or name) and text of the results of calls in a request."""

    @abstractmethod
    def pictures(self, asked: Asked) -> list[str]:
        """The pictures in a request, as data URLs."""

    def problem(self, words: str) -> str:
        return problem(words)

    def says(self, *words: str) -> Act:
        return streams(*self.half(*words), *self.end())

    def calls(self, *wanted: Call) -> Act:
        return streams(*self.called(*wanted), *self.end())

    def words(self, text: str) -> bytes:
        """One event with more text."""
        return self.half(text)[-1]


class Chat(Style):
    provider = "openai-chat"
    path = "/v1/chat/completions"
    key = ("authorization", "Bearer ")

    def half(self, *words: str) -> list[bytes]:
        return text_events(*words)[: 1 + len(words)]

    def end(self, *, cut: bool = False) -> list[bytes]:
        return [delta("length" if cut else "stop"), usage(), DONE]

    def called(self, *wanted: Call) -> list[bytes]:
        return call_events(*wanted)[:-3]

    def endless_call(self) -> tuple[list[bytes], bytes]:
        return [], delta(tool_calls=[{"index": 0, "function": {"arguments": "x" * 100_000}}])

    def refused(self) -> list[bytes]:
        return [delta("content_filter")]

    def broke(self, words: str) -> bytes:
        return event({"error": {"message": words, "code": 503}})

    def thinks(self) -> list[bytes]:
        return [b": a comment\n\n", delta(reasoning_content="hm"), event({"choices": []})]

    def heard(self, asked: Asked) -> str:
        return json.dumps(asked.body["messages"])

    def told(self, asked: Asked) -> list[tuple[str, str]]:
        results = [m for m in asked.body["messages"] if m["role"] == "tool"]
        return [(m["tool_call_id"], m["content"]) for m in results]

    def pictures(self, asked: Asked) -> list[str]:
        return [
            part["image_url"]["url"]
            for part in _parts(asked.body["messages"], "content")
            if part["type"] == "image_url"
        ]


class Xai(Chat):
    provider = "xai"


def named(kind: str, **fields: object) -> bytes:
    """An event with its type on a line of its own and in the data."""
    return b"event: " + kind.encode() + b"\n" + event({"type": kind, **fields})


class Messages(Style):
    provider = "anthropic"
    path = "/v1/messages"
    key = ("x-api-key", "")
    early_tokens = 9

    def half(self, *words: str) -> list[bytes]:
        block = {"type": "text", "text": ""}
        return [
            self._start(),
            named("ping"),
            named("content_block_start", index=0, content_block=block),
            *(
                named("content_block_delta", index=0, delta={"type": "text_delta", "text": word})
                for word in words
            ),
        ]

    def _start(self) -> bytes:
        counts = {
            "input_tokens": 4,
            "output_tokens": 0,
            "cache_read_input_tokens": 3,
            "cache_creation_input_tokens": 2,
        }
        message = {"id": "msg_1", "role": "assistant", "content": [], "usage": counts}
        return named("message_start", message=message)

    def _stop(self, reason: str) -> list[bytes]:
        said = {"stop_reason": reason, "stop_sequence": None}
        return [
            named("content_block_stop", index=0),
            named("message_delta", delta=said, usage={"output_tokens": 3}),
        ]

    def end(self, *, cut: bool = False) -> list[bytes]:
        return [*self._stop("max_tokens" if cut else "end_turn"), named("message_stop")]

    def called(self, *wanted: Call) -> list[bytes]:
        found = [self._start()]
        for index, (name, arguments) in enumerate(wanted):
            half = len(arguments) // 2
            block = {"type": "tool_use", "id": f"c{index}", "name": name, "input": {}}
            found.append(named("content_block_start", index=index, content_block=block))
            found += [self._json(part, index) for part in (arguments[:half], arguments[half:])]
            found.append(named("content_block_stop", index=index))
        return found

    def _json(self, part: str, index: int = 0) -> bytes:
        more = {"type": "input_json_delta", "partial_json": part}
        return named("content_block_delta", index=index, delta=more)

    def endless_call(self) -> tuple[list[bytes], bytes]:
        return self.called(("get_self_state", ""))[:2], self._json("x" * 100_000)

    def refused(self) -> list[bytes]:
        return self._stop("refusal")

    def broke(self, words: str) -> bytes:
        return named("error", error={"type": "overloaded_error", "message": words})

    def thinks(self) -> list[bytes]:
        block = {"type": "thinking", "thinking": "", "signature": ""}
        return [
            named("ping"),
            named("content_block_start", index=9, content_block=block),
            named(
                "content_block_delta", index=9, delta={"type": "thinking_delta", "thinking": "hm"}
            ),
            named(
                "content_block_delta", index=9, delta={"type": "signature_delta", "signature": "s"}
            ),
            named("content_block_stop", index=9),
            named("news_of_next_year", index=9),
        ]

    def heard(self, asked: Asked) -> str:
        return json.dumps(asked.body["messages"])

    def told(self, asked: Asked) -> list[tuple[str, str]]:
        return [
            (part["tool_use_id"], part["content"])
            for part in _parts(asked.body["messages"], "content")
            if part["type"] == "tool_result"
        ]

    def pictures(self, asked: Asked) -> list[str]:
        return [
            f"data:{part['source']['media_type']};base64,{part['source']['data']}"
            for part in _parts(asked.body["messages"], "content")
            if part["type"] == "image"
        ]

    def problem(self, words: str) -> str:
        return json.dumps({"type": "error", "error": {"type": "some_error", "message": words}})


class Responses(Style):
    provider = "openai"
    path = "/v1/responses"
    key = ("authorization", "Bearer ")

    def half(self, *words: str) -> list[bytes]:
        return [
            named("response.created", response={"id": "r", "status": "in_progress", "output": []}),
            named("response.output_item.added", output_index=0, item={"type": "message"}),
            *(named("response.output_text.delta", output_index=0, delta=word) for word in words),
        ]

    def _last(self, kind: str, **fields: object) -> bytes:
        counts = {
            "input_tokens": 9,
            "input_tokens_details": {"cached_tokens": 3},
            "output_tokens": 3,
        }
        response = {"id": "r", "status": kind, "output": [], "usage": counts, **fields}
        return named(f"response.{kind}", response=response)

    def end(self, *, cut: bool = False) -> list[bytes]:
        if cut:
            return [self._last("incomplete", incomplete_details={"reason": "max_output_tokens"})]
        return [self._last("completed")]

    def called(self, *wanted: Call) -> list[bytes]:
        found: list[bytes] = []
        for index, (name, arguments) in enumerate(wanted):
            half = len(arguments) // 2
            item = {"type": "function_call", "id": f"fc_{index}", "call_id": f"c{index}"}
            item |= {"name": name, "arguments": ""}
            found.append(named("response.output_item.added", output_index=index, item=item))
            found += [
                named("response.function_call_arguments.delta", output_index=index, delta=part)
                for part in (arguments[:half], arguments[half:])
            ]
            done = {"output_index": index, "arguments": arguments}
            found.append(named("response.function_call_arguments.done", **done))
            whole = {**item, "arguments": arguments}
            found.append(named("response.output_item.done", output_index=index, item=whole))
        return found

    def endless_call(self) -> tuple[list[bytes], bytes]:
        more = {"output_index": 0, "delta": "x" * 100_000}
        return [], named("response.function_call_arguments.delta", **more)

    def refused(self) -> list[bytes]:
        return [self._last("incomplete", incomplete_details={"reason": "content_filter"})]

    def broke(self, words: str) -> bytes:
        return self._last("failed", error={"code": "server_error", "message": words})

    def thinks(self) -> list[bytes]:
        return [
            named("response.reasoning_summary_text.delta", output_index=9, delta="hm"),
            named("response.news_of_next_year"),
        ]

    def heard(self, asked: Asked) -> str:
        return json.dumps(asked.body["input"])

    def told(self, asked: Asked) -> list[tuple[str, str]]:
        items = asked.body["input"]
        results = [i for i in items if i.get("type") == "function_call_output"]
        return [(i["call_id"], i["output"]) for i in results]

    def pictures(self, asked: Asked) -> list[str]:
        return [
            part["image_url"]
            for part in _parts(asked.body["input"], "content")
            if part["type"] == "input_image"
        ]


class Google(Style):
    provider = "google"
    path = "/v1beta/models/any:streamGenerateContent?alt=sse"
    key = ("x-goog-api-key", "")
    early_tokens = 9

    def half(self, *words: str) -> list[bytes]:
        return [self._chunk({"text": word}) for word in words]

    def _chunk(self, *parts: object, reason: str | None = None, **counts: int) -> bytes:
        content = {"role": "model", "parts": list(parts)}
        candidate = {"index": 0, "content": content} | ({"finishReason": reason} if reason else {})
        metadata = {"promptTokenCount": 9, "cachedContentTokenCount": 3, **counts}
        return event({"candidates": [candidate], "usageMetadata": metadata})

    def end(self, *, cut: bool = False) -> list[bytes]:
        reason = "MAX_TOKENS" if cut else "STOP"
        return [
            self._chunk({"text": ""}, reason=reason, candidatesTokenCount=1, thoughtsTokenCount=2)
        ]

    def called(self, *wanted: Call) -> list[bytes]:
        return [
            self._chunk(
                {
                    "functionCall": {"name": name, "args": _args(arguments), "id": f"c{index}"},
                    "thoughtSignature": f"seal{index}",
                }
            )
            for index, (name, arguments) in enumerate(wanted)
        ]

    def endless_call(self) -> tuple[list[bytes], bytes]:
        return [], self._chunk({"functionCall": {"name": "x", "args": {"y": "x" * 100_000}}})

    def refused(self) -> list[bytes]:
        return [self._chunk(reason="SAFETY")]

    def broke(self, words: str) -> bytes:
        return event({"error": {"code": 503, "message": words, "status": "UNAVAILABLE"}})

    def thinks(self) -> list[bytes]:
        return [
            self._chunk({"text": "hm", "thought": True}),
            self._chunk({"text": "", "thoughtSignature": "s"}),
            event({"newsOfNextYear": {}}),
        ]

    def heard(self, asked: Asked) -> str:
        return json.dumps(asked.body["contents"])

    def told(self, asked: Asked) -> list[tuple[str, str]]:
        parts = _parts(asked.body["contents"], "parts")
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        return [(one["id"], one["response"]["result"]) for one in results]

    def pictures(self, asked: Asked) -> list[str]:
        parts = _parts(asked.body["contents"], "parts")
        found = [part["inlineData"] for part in parts if "inlineData" in part]
        return [f"data:{one['mimeType']};base64,{one['data']}" for one in found]

    def problem(self, words: str) -> str:
        return json.dumps({"error": {"code": 400, "message": words, "status": "SOMETHING"}})


def _args(arguments: str) -> object:
    """Arguments as this protocol has them: no text, but a value in the event itself."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def _parts(messages: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    contents = [message.get(name) for message in messages]
    return [part for content in contents if isinstance(content, list) for part in content]


STYLES: Sequence[Style] = (Chat(), Xai(), Messages(), Responses(), Google())
