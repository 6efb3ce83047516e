"""The server of tools that a harness starts speaks the handshake only, and never fails it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.message import SessionMessage

from clankie.seats.bridge import Around, serve
from clankie.seats.folder import Folder
from clankie.seats.running import Tools
from fakes.clock import FakeClock, FakeIds

pytestmark = pytest.mark.anyio
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "a harness", "version": "1"},
}


class Harness:
    """The other end: sends requests, reads what comes."""

    def __init__(self, sending: Any, receiving: Any) -> None:
        self._sending, self._receiving = sending, receiving
        self._count = 0

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        self._count += 1
        request = types.JSONRPCRequest(jsonrpc="2.0", id=self._count, method=method, params=params)
        await self._sending.send(SessionMessage(request))
        while True:
            message = (await self._receiving.receive()).message
            if getattr(message, "id", None) == self._count:
                return message

    async def tell(self, method: str) -> None:
        note = types.JSONRPCNotification(jsonrpc="2.0", method=method)
        await self._sending.send(SessionMessage(note))

    async def begin(self) -> dict[str, Any]:
        answer = await self.ask("initialize", INITIALIZE)
        await self.tell("notifications/initialized")
        found: dict[str, Any] = answer.result
        return found


@asynccontextmanager
async def bridged(
    folder: Folder | None, log: list[str]
) -> AsyncIterator[tuple[Harness, FakeClock]]:
    clock = FakeClock()
    tools = Tools(clock=clock, ids=FakeIds(), jitter=lambda: 0.5, say=log.append, environment={})
    inward, reading = anyio.create_memory_object_stream[SessionMessage | Exception](8)
    writing, outward = anyio.create_memory_object_stream[SessionMessage](8)
    async with inward, reading, writing, outward, asyncio.TaskGroup() as group:
        task = group.create_task(serve(Around(folder=folder, tools=tools), reading, writing))
        yield Harness(inward, outward), clock
        await inward.aclose()
        await task


async def test_a_client_that_probes_for_a_later_era_gets_the_handshake_and_the_channel() -> None:
    async with bridged(None, []) as (harness, _):
        probed = await harness.ask("server/discover", {})
        assert isinstance(probed, types.JSONRPCError)
        begun = await harness.begin()
    assert begun["protocolVersion"] == "2025-11-25"
    assert begun["capabilities"]["experimental"] == {"claude/channel": {}}
    assert begun["serverInfo"]["name"] == "clankie"


async def test_a_client_of_the_later_era_falls_back_to_the_handshake() -> None:
    tools = Tools(clock=FakeClock(), ids=FakeIds(), jitter=lambda: 0.5, say=print, environment={})
    inward, reading = anyio.create_memory_object_stream[SessionMessage | Exception](8)
    writing, outward = anyio.create_memory_object_stream[SessionMessage | Exception](8)

    @asynccontextmanager
    async def transport() -> AsyncIterator[Any]:
        yield outward, inward

    async with inward, reading, writing, outward, asyncio.TaskGroup() as group:
        task = group.create_task(serve(Around(folder=None, tools=tools), reading, writing))
        # It first asks `server/discover`, as harnesses on a new SDK do.
        async with Client(transport(), mode="auto") as client:
            assert client.protocol_version == "2025-11-25"
            assert client.server_capabilities.experimental == {"claude/channel": {}}
        await inward.aclose()
        await task


async def test_a_session_in_no_seat_has_no_tools_and_no_instructions() -> None:
    async with bridged(None, []) as (harness, _):
        begun = await harness.begin()
        listed = await harness.ask("tools/list", {})
        called = await harness.ask("tools/call", {"name": "reply", "arguments": {}})
    assert "instructions" not in begun
    assert listed.result["tools"] == []
    assert called.result["isError"] is True


async def test_while_the_service_is_away_the_list_is_empty_and_a_call_says_so(
    granted: Folder,
) -> None:
    granted.write("place.json", {"harness": "claude", "driven": True})
    async with bridged(granted, []) as (harness, clock):
        begun = await harness.begin()
        async with asyncio.TaskGroup() as group:
            listing = group.create_task(harness.ask("tools/list", {}))
            while not listing.done():
                await clock.settle()
                await clock.advance_to_next()
        called = await harness.ask("tools/call", {"name": "reply", "arguments": {}})
    assert "seat of Clankie" in begun["instructions"]
    assert begun["capabilities"]["tools"]["listChanged"] is True
    assert listing.result().result["tools"] == []
    assert called.result["isError"] is True
    assert "not registered" in called.result["content"][0]["text"]


async def test_the_bridge_ends_with_its_harness(granted: Folder) -> None:
    log: list[str] = []
    async with bridged(granted, log) as (harness, _):
        await harness.begin()
    assert log == []
