"""JSON-RPC over a websocket on a unix socket: what an answer says, and what its absence does."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, unix_serve

from clankie.seats.codex import rpc as rpcs
from clankie.seats.codex.rpc import (
    Rpc,
    RpcBrokenError,
    RpcLostError,
    RpcRefusedError,
    RpcUnsentError,
    connected,
)

pytestmark = pytest.mark.anyio
Answer = Callable[[ServerConnection, dict[str, object]], Awaitable[None]]


@asynccontextmanager
async def talking(tmp_path: Path, answer: Answer) -> AsyncGenerator[Rpc]:
    async def serve(client: ServerConnection) -> None:
        async for frame in client:
            message = json.loads(frame)
            if message.get("method") == "initialize":
                await client.send(json.dumps({"id": message["id"], "result": {}}))
            elif "id" in message:
                await answer(client, message)

    async with unix_serve(serve, str(tmp_path / "s")), connected(tmp_path / "s") as rpc:
        yield rpc


async def test_an_error_is_a_refusal_with_its_words(tmp_path: Path) -> None:
    async def answer(client: ServerConnection, message: dict[str, object]) -> None:
        error = {"code": -32600, "message": "no active turn"}
        await client.send(json.dumps({"id": message["id"], "error": error}))

    async with talking(tmp_path, answer) as rpc:
        with pytest.raises(RpcRefusedError) as caught:
            await rpc.call("turn/steer", {})
        assert (caught.value.code, caught.value.message) == (-32600, "no active turn")


async def test_a_connection_that_ends_before_the_answer_says_nothing(tmp_path: Path) -> None:
    async def answer(client: ServerConnection, message: dict[str, object]) -> None:
        del message
        await client.close()

    async with talking(tmp_path, answer) as rpc:
        with pytest.raises(RpcLostError):
            await rpc.call("turn/start", {})
        with pytest.raises(RpcUnsentError):
            await rpc.call("turn/start", {})
        assert [said async for said in rpc.said()] == []


async def test_no_answer_in_time_says_nothing_and_a_late_one_is_dropped(tmp_path: Path) -> None:
    late: list[object] = []

    async def answer(client: ServerConnection, message: dict[str, object]) -> None:
        if message["method"] == "slow":
            late.append(message["id"])
            return
        for number in (*late, message["id"]):
            await client.send(json.dumps({"id": number, "result": {"of": number}}))

    async with talking(tmp_path, answer) as rpc:
        with pytest.raises(RpcLostError):
            await rpc.call("slow", {}, timeout=0.01)
        found = await rpc.call("quick", {})
        assert found["of"] != late[0]


async def test_what_the_server_says_comes_in_order_past_what_is_malformed(tmp_path: Path) -> None:
    async def answer(client: ServerConnection, message: dict[str, object]) -> None:
        for frame in ("{", "[]", '{"method":"a"}', '{"method":"b","params":[],"id":4}'):
            await client.send(frame)
        await client.send(json.dumps({"id": message["id"], "result": []}))

    async with talking(tmp_path, answer) as rpc:
        assert await rpc.call("x", {}) == {}
        said = rpc.said()
        first, second = await anext(said), await anext(said)
        assert (first.method, first.number) == ("a", None)
        assert (second.method, second.number, second.params) == ("b", 4, {})


async def test_who_falls_too_far_behind_loses_the_connection_and_no_single_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpcs, "BACKLOG", 5)

    async def answer(client: ServerConnection, message: dict[str, object]) -> None:
        del message
        for number in range(50):
            await client.send(json.dumps({"method": f"n{number}"}))

    async with talking(tmp_path, answer) as rpc:
        with pytest.raises(RpcLostError):
            await rpc.call("flood", {})
        heard: list[str] = []

        async def hear() -> None:
            async for said in rpc.said():
                heard.append(said.method)  # noqa: PERF401 - it ends with an error

        with pytest.raises(RpcBrokenError, match="more than 5 messages"):
            await hear()
        assert heard == [f"n{number}" for number in range(len(heard))]
        assert 0 < len(heard) < 50


@pytest.mark.parametrize("frame", ["[" * 200_000, b"\xff"])
async def test_what_cannot_be_read_ends_the_connection_with_its_reason(
    tmp_path: Path, frame: str | bytes
) -> None:
    async def answer(client: ServerConnection, message: dict[str, object]) -> None:
        del message
        await client.send('{"method":"before"}')
        await client.send(frame, text=True)

    async with talking(tmp_path, answer) as rpc:
        with pytest.raises(RpcLostError, match="cannot be read any more"):
            await rpc.call("turn/start", {})
        said = rpc.said()
        assert (await anext(said)).method == "before"
        with pytest.raises(RpcBrokenError, match="cannot be read any more"):
            await anext(said)
        with pytest.raises(RpcUnsentError):
            await rpc.call("turn/start", {})


async def test_no_socket_is_no_connection(tmp_path: Path) -> None:
    with pytest.raises(RpcUnsentError):
        async with connected(tmp_path / "none"):
            pass


async def test_calls_answer_each_their_own(tmp_path: Path) -> None:
    held: list[object] = []

    async def answer(client: ServerConnection, message: dict[str, object]) -> None:
        held.append(message["id"])
        if len(held) == 3:
            for number in reversed(held):
                await client.send(json.dumps({"id": number, "result": {"of": number}}))

    async with talking(tmp_path, answer) as rpc:
        found = await asyncio.gather(*(rpc.call("x", {}) for _ in range(3)))
        assert [one["of"] for one in found] == held
