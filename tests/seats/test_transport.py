"""A request on a connection of its own: cancelled, it closes it; late or cut off, it says so."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx2
import pytest

from clankie.seats.transport import UnixTransport

pytestmark = pytest.mark.anyio
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(state: Path, serve: Serve) -> AsyncIterator[httpx2.AsyncClient]:
    path, ended = str(state / "service.sock"), list[asyncio.Event]()

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ended.append(asyncio.Event())
        this = ended[-1]
        try:
            await serve(reader, writer)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
        finally:
            this.set()

    async with await asyncio.start_unix_server(one, path):
        client = httpx2.AsyncClient(
            transport=UnixTransport(path), base_url="http://localhost", timeout=30
        )
        async with client:
            yield client
        for this in ended:
            await this.wait()


async def head(reader: asyncio.StreamReader) -> str:
    return (await reader.readuntil(b"\r\n\r\n")).decode()


# proves: SEAT-6
async def test_a_poll_that_is_cancelled_closes_its_connection(state: Path) -> None:
    asked, left = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await head(reader)
        asked.set()
        assert await reader.read() == b""
        left.set()

    async with serving(state, serve) as client, asyncio.TaskGroup() as group:
        poll = group.create_task(client.get("/v1/seats/s-1/events"))
        await asked.wait()
        poll.cancel()
        await left.wait()


async def test_a_request_is_sent_as_it_was_made_and_its_answer_read_whole(state: Path) -> None:
    heads: list[str] = []
    bodies: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await head(reader))
        bodies.append(await reader.readexactly(8))
        answer = b"HTTP/1.1 503 Later\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\n{}"
        for piece in (answer[:20], answer[20:]):
            writer.write(piece)
            await writer.drain()

    async with serving(state, serve) as client:
        own = {"X-Own": "yes"}
        answer = await client.post("/v1/a%2Fb?c=d", content=b'{"a": 1}', headers=own)
    first, *lines = heads[0].split("\r\n")
    assert first == "POST /v1/a%2Fb?c=d HTTP/1.0"
    assert "x-own: yes" in lines
    assert [line for line in lines if line.lower().startswith("host:")] == ["Host: localhost"]
    assert bodies == [b'{"a": 1}']
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "7")


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", b"nonsense\r\n\r\n"]
)
async def test_an_answer_that_was_cut_off_is_none(state: Path, answer: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head(reader)
        writer.write(answer)

    async with serving(state, serve) as client:
        with pytest.raises(httpx2.NetworkError, match="cut off"):
            await client.get("/")


async def test_an_answer_that_never_comes_is_given_up(state: Path) -> None:
    async def serve(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(state, serve) as client:
        with pytest.raises(httpx2.ReadTimeout):
            await client.get("/", timeout=0.01)


async def test_an_answer_without_end_is_cut_at_a_bound(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clankie.seats.unix.LIMIT", 1_000)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 5_000)
        with suppress(ConnectionError):
            await reader.read()

    async with serving(state, serve) as client:
        with pytest.raises(httpx2.NetworkError, match="longer"):
            await client.get("/")


async def test_where_nobody_listens_it_says_so(state: Path) -> None:
    client = httpx2.AsyncClient(transport=UnixTransport(str(state / "service.sock")))
    async with client:
        with pytest.raises(httpx2.NetworkError):
            await client.get("http://localhost/")
