"""What the service lane adds to a turn, next to what the bare HTTP client needs for the same bytes.

A turn here: 34 messages of history, a new one, two tools declared, an answer in 20 chunks. The
"tool" rows ask the model twice and run one tool between. The server is another process on this
machine that answers at once. Milliseconds, median of the turns; CPU is this process's.

    python benchmarks/lane.py [--turns 300]
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import httpx2
import uvloop

from clankie.core.admission import Mode, Origin
from clankie.core.conversation import OPERATOR
from clankie.core.delivery import InputState
from clankie.core.projection import Projection
from clankie.core.receipt import Delivery
from clankie.core.settings import Models, Settings
from clankie.core.wake import Wake
from clankie.host.clock import SystemClock, SystemIds
from clankie.host.ports import Call, ToolReport, TurnRequest
from clankie.lanes.endpoint import endpoint
from clankie.lanes.messages import AssistantText, Message, ToolCall, UserText
from clankie.lanes.model import Finished, Model, ModelRequest, Part, TextDelta, ToolCallPart
from clankie.lanes.openai_chat import OpenAIChat, make_client
from clankie.lanes.openai_wire import body
from clankie.lanes.runner import Kit, Run
from clankie.lanes.session import Session
from clankie.lanes.tools import TOOLS

WARM = 30
TEXT = "Lorem ipsum dolor sit amet, consectetur adipiscing elit. " * 4
WORDS = [f"word{n} " for n in range(20)]
NOW = datetime(2026, 11, 30, tzinfo=UTC)
KIT = Kit(
    clock=SystemClock(),
    ids=SystemIds(),
    tools=TOOLS,
    specs=[tool.spec() for tool in TOOLS.values()],
)


# ── the server, in another process ───────────────────────────────────────────────────────────────


def event(payload: object) -> bytes:
    """One server-sent event as an HTTP chunk."""
    data = b"data: " + json.dumps(payload).encode() + b"\n\n"
    return b"%x\r\n%b\r\n" % (len(data), data)


def answer(*deltas: dict[str, Any], finish: str) -> list[bytes]:
    """A whole response, in the pieces it is written in."""
    head = (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "local"}
    said = [
        event({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        for delta in deltas
    ]
    end = event({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    usage = {"prompt_tokens": 900, "completion_tokens": 20, "total_tokens": 920}
    done = b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
    return [head, *said, end, event({**base, "choices": [], "usage": usage}), done]


SPEAKS = answer(*({"content": word} for word in WORDS), finish="stop")
CALLS = answer(
    {
        "tool_calls": [
            {"index": 0, "id": "c1", "type": "function", "function": {"name": "get_self_state"}}
        ]
    },
    {"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]},
    {"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]},
    finish="tool_calls",
)


class Server(asyncio.Protocol):
    """Answers every request at once; one that ends with the word TOOL gets a tool call first."""

    def __init__(self) -> None:
        self.data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody connected."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer once a request is complete."""
        self.data += data
        head, found, rest = self.data.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        if len(rest) < length:
            return
        self.data = rest[length:]
        wants = b'"TOOL"' in rest[:length] and b'"role":"tool"' not in rest[:length]
        for chunk in CALLS if wants else SPEAKS:
            self.transport.write(chunk)


async def serve() -> None:
    """Listen until the process is ended; the port goes to standard output."""
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


# ── the turn ─────────────────────────────────────────────────────────────────────────────────────


class NullHost:
    """A host that does nothing."""

    def progress(self) -> None:
        """Nothing."""

    def draft(self, text: str) -> None:
        """Nothing."""

    async def steered(self) -> Sequence[Delivery]:
        """Nobody steers."""
        return ()

    async def projection(self) -> Projection:
        """Nothing was said before."""
        return Projection((), 0)

    @asynccontextmanager
    async def tool(self, call: Call) -> AsyncIterator[ToolReport]:
        """Record nothing."""
        yield ToolReport(detail=call.detail)

    async def self_state(self) -> dict[str, object]:
        """Little."""
        return {"name": "Clankie"}

    async def schedule_wake(self, *, due_at: datetime, text: str, call_id: str) -> Wake:
        """A wake that nobody keeps."""
        return Wake(
            id=call_id,
            conversation="c",
            due_at=due_at,
            text=text,
            depth=1,
            created_at=NOW + timedelta(0),
        )


class MemoryModel:
    """Answers like the server, without one."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Part, None]:
        """Twenty words, or a call first."""
        last = request.messages[-1]
        if isinstance(last, UserText) and last.text == "TOOL":
            yield ToolCallPart(ToolCall("c1", "get_self_state", "{}"))
        else:
            for word in WORDS:
                yield TextDelta(word)
        yield Finished(input_tokens=900, output_tokens=20)


def history(messages: int) -> list[Message]:
    """That many messages, questions and answers."""
    pair: list[Message] = [UserText(TEXT), AssistantText(TEXT)]
    return pair * (messages // 2)


def turn(
    model: Model, settings: Settings, text: str, before: int = 34
) -> Callable[[], Awaitable[None]]:
    """One turn after `before` messages; it fails when the answer is not the expected one."""
    delivery = Delivery(
        id="m-1",
        conversation="c",
        origin=Origin.OWNER,
        author=OPERATOR,
        text=text,
        mode=Mode.AUTO,
        fingerprint="",
        state=InputState.RUNNING,
        admitted_at=NOW,
        message_cursor=1,
    )
    request = TurnRequest(conversation="c", delivery=delivery, attempt="a", settings=settings)
    past, host = history(before), NullHost()

    async def run() -> None:
        result = await Run(KIT, model, request, host, Session(list(past))).result()
        if result.text != "".join(WORDS):
            raise RuntimeError(result.text)

    return run


def floor(client: httpx2.AsyncClient, url: str) -> Callable[[], Awaitable[None]]:
    """The same bytes to and fro, and nothing done with them."""
    messages = [*history(34), UserText("hi")]
    content = body("local", ModelRequest(system="x" * 1_200, messages=messages, tools=KIT.specs))
    headers = {"content-type": "application/json", "accept-encoding": "identity"}

    async def run() -> None:
        async with client.stream("POST", url, content=content, headers=headers) as response:
            async for _ in response.aiter_raw():
                pass

    return run


async def measured(name: str, once: Callable[[], Awaitable[None]], turns: int) -> None:
    """Print the medians of one row."""
    for _ in range(WARM):
        await once()
    gc.collect()
    cpu: list[float] = []
    wall: list[float] = []
    for _ in range(turns):
        c, w = time.process_time(), time.perf_counter()
        await once()
        cpu.append(time.process_time() - c)
        wall.append(time.perf_counter() - w)
    ms = [1_000 * statistics.median(cpu), 1_000 * statistics.median(wall)]
    print(f"{name:<52}{ms[0]:>9.3f}{ms[1]:>9.3f}", flush=True)


async def main(turns: int, port: int) -> None:
    """Print the table."""
    models = Models(model="openai-chat:local", base_url=f"http://127.0.0.1:{port}/v1")
    settings = Settings(models=models)
    print(f"{'a turn of the service lane, median of ' + str(turns):<52}{'CPU ms':>9}{'wall ms':>9}")
    async with make_client() as client:
        at = endpoint(models)
        remote = OpenAIChat(
            client=client, endpoint=at, secret=None, silence=60.0, clock=KIT.clock, quote=str
        )
        memory = MemoryModel()
        await measured("floor: bare HTTP client, same bytes", floor(client, at.url), turns)
        await measured("lane, model in memory", turn(memory, settings, "hi"), turns)
        await measured("lane, model in memory, a tool", turn(memory, settings, "TOOL"), turns)
        await measured("lane, model on a local server", turn(remote, settings, "hi"), turns)
        await measured(
            "lane, model on a local server, a tool", turn(remote, settings, "TOOL"), turns
        )
        fullest = turn(remote, settings, "hi", 180)
        await measured("lane, local server, session at its bound", fullest, turns)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        uvloop.run(serve())
        sys.exit()
    with subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None  # noqa: S101 - it was asked for
            uvloop.run(main(given.turns, int(other.stdout.readline())))
        finally:
            other.terminate()
