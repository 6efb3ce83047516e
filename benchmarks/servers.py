"""Servers beside the one that is measured: ``python servers.py model|mute|echo|accept [PORT]``.

model   a model server, told by the path how to speak: 20 chunks at once, before them a tool call
        when it reads TOOL
mute    one that never answers
echo    a bare Starlette route, the floor of anything over HTTP
accept  a bare durable accept plus the model call on PORT, the floor of a whole turn

Each prints ``{"port": n}`` when it listens.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import uvloop

from shape import scratch

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


def _chunk(event: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(event), event)


def _event(delta: dict[str, Any], reason: str | None = None, **more: object) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    base = {"id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 1, "model": "any"}
    return _chunk(b"data: %b\n\n" % json.dumps({**base, "choices": [choice], **more}).encode())


def _answer(*deltas: dict[str, Any], reason: str) -> list[bytes]:
    """A whole response in the pieces it is written in."""
    return [
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        *[_event(delta) for delta in deltas],
        _event({}, reason, usage={"prompt_tokens": 900, "completion_tokens": 20}),
        _chunk(b"data: [DONE]\n\n"),
        b"0\r\n\r\n",
    ]


def _call(**function: str) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}


WORDS = [f"word{number} " for number in range(20)]
SPEAKS = _answer(*({"content": word} for word in WORDS), reason="stop")
CALLS = _answer(
    _call(name="get_self_state"), _call(arguments="{"), _call(arguments="}"), reason="tool_calls"
)


def _typed(kind: str, **fields: object) -> bytes:
    data = json.dumps({"type": kind, **fields}).encode()
    return _chunk(b"event: %b\ndata: %b\n\n" % (kind.encode(), data))


def _whole(*events: bytes) -> list[bytes]:
    return [SPEAKS[0], *events, b"0\r\n\r\n"]


def _messages(block: dict[str, Any], deltas: list[dict[str, Any]], reason: str) -> list[bytes]:
    return _whole(
        _typed("message_start", message={"usage": {"input_tokens": 900, "output_tokens": 1}}),
        _typed("content_block_start", index=0, content_block=block),
        *(_typed("content_block_delta", index=0, delta=delta) for delta in deltas),
        _typed("content_block_stop", index=0),
        _typed("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 20}),
        _typed("message_stop"),
    )


def _responses(*events: bytes) -> list[bytes]:
    counts = {"input_tokens": 900, "output_tokens": 20}
    done = {"status": "completed", "usage": counts, "output": []}
    return _whole(*events, _typed("response.completed", response=done))


def _google(*parts: dict[str, Any]) -> list[bytes]:
    counts = {"promptTokenCount": 900, "candidatesTokenCount": 20}
    chunks: list[dict[str, Any]] = [
        {"candidates": [{"content": {"parts": [part]}}], "usageMetadata": counts} for part in parts
    ]
    chunks[-1]["candidates"][0]["finishReason"] = "STOP"
    return _whole(*(_chunk(b"data: %b\n\n" % json.dumps(chunk).encode()) for chunk in chunks))


_ITEM = {"type": "function_call", "call_id": "c1", "name": "get_self_state", "arguments": "{}"}
_USE = {"type": "tool_use", "id": "c1", "name": "get_self_state", "input": {}}
ANSWERS = {
    b"/chat/completions": (SPEAKS, CALLS),
    b"/messages": (
        _messages(
            {"type": "text", "text": ""},
            [{"type": "text_delta", "text": word} for word in WORDS],
            "end_turn",
        ),
        _messages(_USE, [{"type": "input_json_delta", "partial_json": "{}"}], "tool_use"),
    ),
    b"/responses": (
        _responses(*(_typed("response.output_text.delta", delta=word) for word in WORDS)),
        _responses(_typed("response.output_item.done", output_index=0, item=_ITEM)),
    ),
    b":streamgeneratecontent": (
        _google(*({"text": word} for word in WORDS)),
        _google({"functionCall": {"name": "get_self_state", "args": {}}}),
    ),
}
"""For the end of a path, in lower case: an answer in words, and one that calls a tool."""

TOLD = (b'"role":"tool"', b'"tool_result"', b'"function_call_output"', b'"functionResponse"')
"""What a request holds that comes after the tool."""


class Model(asyncio.Protocol):
    """Answers every request whose body is complete, each chunk in a write of its own."""

    def __init__(self, *, mute: bool = False) -> None:
        self._mute = mute
        self._data = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer what is complete."""
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = self._data[:end].lower()
            length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
            if len(self._data) < end + 4 + length:
                return
            asked = self._data[end + 4 : end + 4 + length]
            self._data = self._data[end + 4 + length :]
            if not self._mute:
                path = head.split(b" ", 2)[1].partition(b"?")[0]
                answers = next(found for ends, found in ANSWERS.items() if path.endswith(ends))
                calls = b'"TOOL"' in asked and not any(word in asked for word in TOLD)
                for piece in answers[calls]:
                    self._transport.write(piece)


async def _model(*, mute: bool) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Model(mute=mute), "127.0.0.1", 0)
    _ready(server.sockets[0].getsockname()[1])
    async with server:
        await server.serve_forever()


def _ready(port: int) -> None:
    sys.stdout.write(json.dumps({"port": port}) + "\n")
    sys.stdout.flush()


def _serve(endpoint: Any) -> None:  # noqa: ANN401 - a Starlette endpoint
    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import Route

    listening = socket.create_server(("127.0.0.1", 0))
    app = Starlette(routes=[Route("/{path:path}", endpoint, methods=["POST"])])
    config = uvicorn.Config(
        app, http="httptools", loop="uvloop", log_config=None, access_log=False, lifespan="off"
    )
    _ready(listening.getsockname()[1])
    uvicorn.Server(config).run([listening])


async def _echo(request: Request) -> Response:
    from starlette.responses import JSONResponse

    return JSONResponse(await request.json(), 202)


def _accept(directory: Path, model_port: int) -> None:
    import apsw
    import httpx2
    from starlette.responses import JSONResponse

    database = apsw.Connection(str(directory / "bare.db"))
    database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE input (id TEXT PRIMARY KEY, body TEXT) STRICT")
    client = httpx2.AsyncClient(trust_env=False)
    url = f"http://127.0.0.1:{model_port}/v1/chat/completions"

    async def accept(request: Request) -> Response:
        raw = (await request.body()).decode()
        database.execute("INSERT INTO input VALUES (?, ?)", (json.loads(raw)["delivery_id"], raw))
        async with client.stream("POST", url, content=raw) as answer:
            size = sum([len(data) async for data in answer.aiter_raw()])
        return JSONResponse({"size": size}, 202)

    _serve(accept)


def main(name: str, *arguments: str) -> None:
    """Run one until it is stopped."""
    match name:
        case "model" | "mute":
            uvloop.run(_model(mute=name == "mute"))
        case "echo":
            _serve(_echo)
        case "accept":
            with scratch() as directory:
                _accept(directory, int(arguments[0]))
        case _:
            sys.exit(f"no server {name!r}")


if __name__ == "__main__":
    main(*sys.argv[1:])
