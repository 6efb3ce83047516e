"""What the service lane adds to a turn, next to what the bare HTTP client needs for the same bytes.

A turn here: 34 messages of history, a new one, two tools declared, an answer in 20 chunks. The
tool rows ask the model twice and run one tool between. The model server is another process.
"""

from __future__ import annotations

import gc
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import httpx2
import uvloop

from clankie.core.admission import Mode, Origin
from clankie.core.conversation import OPERATOR, Conversation, Kind, Usage
from clankie.core.delivery import InputState
from clankie.core.projection import Projection
from clankie.core.receipt import Delivery
from clankie.core.settings import Models, Settings
from clankie.core.wake import Wake
from clankie.host.clock import SystemClock, SystemIds
from clankie.host.ports import ToolReport, TurnRequest
from clankie.host.storage import Call, EventPage
from clankie.lanes.endpoint import Endpoint, endpoint
from clankie.lanes.messages import AssistantText, Message, ToolCall, UserText
from clankie.lanes.model import (
    Finished,
    Model,
    ModelRequest,
    Part,
    Spent,
    TextDelta,
    ToolCallPart,
)
from clankie.lanes.openai_wire import body
from clankie.lanes.remote import RemoteModel, make_client
from clankie.lanes.runner import Kit, Mind, Run
from clankie.lanes.session import Session
from clankie.lanes.tools import TOOLS
from processes import helper
from servers import WORDS
from shape import Rounds, Row

WARM = 30
TARGET = 10.0
TEXT = "Lorem ipsum dolor sit amet, consectetur adipiscing elit. " * 4
NOW = datetime(2026, 11, 30, tzinfo=UTC)
KIT = Kit(
    clock=SystemClock(),
    ids=SystemIds(),
    tools=TOOLS,
    specs=[tool.spec() for tool in TOOLS.values()],
)


class NullReach:
    """Nothing to reach."""

    async def self_state(self) -> dict[str, object]:
        """Little."""
        return {"name": "Clankie"}

    async def here(self) -> Conversation:
        """The conversation that always is."""
        now = KIT.clock.now()
        return Conversation(
            id="c", name="c", kind=Kind.GLOBAL, revision=0, cursor=0, created_at=now
        )

    async def attachment(self, digest: str) -> bytes:
        """Nothing is attached."""
        return digest.encode()

    async def workspace(self) -> str | None:
        """No directory."""

    async def read_conversation(
        self, conversation: str | None, *, before: int | None, limit: int
    ) -> EventPage:
        """Nothing was said anywhere."""
        del conversation, before, limit
        return EventPage([], head=0, oldest=1, has_more=False)

    async def finish_goal(self, *, reached: bool) -> None:
        """No goal."""

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


class NullHost(NullReach):
    """A host that does nothing."""

    def progress(self) -> None:
        """Nothing."""

    def spent(self, usage: Usage) -> None:
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
        yield Spent(input_tokens=900, output_tokens=20)
        yield Finished()


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
    past, host, mind = history(before), NullHost(), Mind(model=model)

    async def run() -> None:
        result = await Run(KIT, mind, request, host, Session(list(past))).result()
        if result.text != "".join(WORDS):
            raise RuntimeError(result.text)

    return run


def floor(client: httpx2.AsyncClient, at: Endpoint) -> Callable[[], Awaitable[None]]:
    """The same bytes to and fro, and nothing done with them."""
    messages = [*history(34), UserText("hi")]
    content = body(at, ModelRequest(system="x" * 1_200, messages=messages, tools=KIT.specs))
    headers = {"content-type": "application/json", "accept-encoding": "identity"}

    async def run() -> None:
        async with client.stream("POST", at.url, content=content, headers=headers) as response:
            async for _ in response.aiter_raw():
                pass

    return run


async def _median(once: Callable[[], Awaitable[None]], turns: int) -> Rounds:
    """Milliseconds of processor of each turn."""
    for _ in range(WARM):
        await once()
    gc.collect()
    found: list[float] = []
    for _ in range(turns):
        began = time.process_time()
        await once()
        found.append((time.process_time() - began) * 1_000)
    return Rounds.of(found)


def remote(client: httpx2.AsyncClient, provider: str, port: int) -> RemoteModel:
    """A provider whose server is the local one; a host without a path is its usual address."""
    path = "/v1" if provider in {"openai-chat", "openai"} else ""
    address = f"http://127.0.0.1:{port}{path}"
    return RemoteModel(
        client=client,
        endpoint=endpoint(Models(model=f"{provider}:local", base_url=address)),
        secret="none",  # noqa: S106 - the local server asks for no key, but a header costs time
        silence=60.0,
        clock=KIT.clock,
        quote=str,
    )


async def _measure(turns: int, port: int) -> list[Row]:
    settings = Settings()
    async with make_client() as client:
        chat = remote(client, "openai-chat", port)
        memory = MemoryModel()
        bare = await _median(floor(client, chat.endpoint), turns)
        parts = {
            "model in memory": turn(memory, settings, "hi"),
            "model in memory, a tool": turn(memory, settings, "TOOL"),
            "local server": turn(chat, settings, "hi"),
            "local server, a tool": turn(chat, settings, "TOOL"),
            "local server, session at its bound": turn(chat, settings, "hi", 180),
        }
        for provider in ("xai", "anthropic", "openai", "google"):
            other = remote(client, provider, port)
            parts[f"{provider} server"] = turn(other, settings, "hi")
            parts[f"{provider} server, a tool"] = turn(other, settings, "TOOL")
        found = {name: await _median(once, turns) for name, once in parts.items()}
    return [
        Row(
            name=f"lane, {name}, processor of a turn",
            figure=took.median,
            unit="ms",
            floor=bare.median if "server" in name else None,
            floor_is="bare HTTP client, same bytes" if "server" in name else "",
            target=TARGET if "server" in name else None,
            spread=took.spread,
        )
        for name, took in found.items()
    ]


def rows(*, quick: bool) -> list[Row]:
    """The lane alone, over a model in memory and over one on a local server."""
    with helper("model") as model:
        return uvloop.run(_measure(60 if quick else 200, model.port))
