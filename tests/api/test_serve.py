"""The door on real sockets."""

import asyncio
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from api.kit import BOUND, HERE, Api, until
from api.sockets import Line, Served
from clankie.api.guard import BODY_LIMIT, HEAD_LIMIT
from clankie.api.serve import Server, tcp, unix
from clankie.core.ids import HEAD
from fakes.lane import waits


async def test_both_sockets_answer(served: Served) -> None:
    async with served.line() as over_tcp:
        await over_tcp.say(served.get("/v1/status"))
        assert (await over_tcp.until(b"\r\n")).startswith(b"HTTP/1.1 200")
    async with served.line(socket=True) as over_unix:
        await over_unix.say(served.get("/v1/status", host="localhost"))
        assert (await over_unix.until(b"\r\n")).startswith(b"HTTP/1.1 200")
    mode = (served.api.home / "service.sock").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


async def test_the_guard_holds_on_both(served: Served) -> None:
    # proves: SEC-1
    for socket, host in ((False, "localhost:1"), (False, "evil.example"), (True, "evil.example")):
        async with served.line(socket=socket) as line:
            await line.say(served.get("/v1/health", host=host))
            assert (await line.until(b"\r\n")).startswith(b"HTTP/1.1 421")


async def test_a_hook_that_speaks_http_1_0_gets_its_text(served: Served) -> None:
    head = f"GET {HERE}/prompt HTTP/1.0\r\nHost: localhost\r\n"
    head += f"Authorization: Bearer {served.api.secret}\r\n\r\n"
    async with served.line(socket=True) as line:
        await line.say(head.encode())
        assert b"# Who you are" in await line.all()


async def test_a_head_that_never_ends_is_cut_off(served: Served) -> None:
    # proves: SEC-11
    async with served.line() as line:
        await line.say(b"GET / HTTP/1.1\r\nX-Long: " + b"x" * (3 * HEAD_LIMIT))
        assert (await line.until(b"\r\n")).startswith(b"HTTP/1.1 431")
        await line.all()


async def test_a_complete_head_beyond_the_bound_is_refused(served: Served) -> None:
    # proves: SEC-11
    async with served.line() as line:
        more = "".join(f"X-{n}: {'x' * 1_000}\r\n" for n in range(20))
        await line.say(served.get("/v1/health", more=more))
        assert (await line.until(b"\r\n")).startswith(b"HTTP/1.1 431")


async def test_a_chunked_body_beyond_the_bound_is_refused_and_the_line_closed(
    served: Served,
) -> None:
    # proves: SEC-11
    async with served.line() as line:
        await line.say(chunked(served))
        for _ in range(BODY_LIMIT // 65_536):
            await line.say(CHUNK)
        await line.say(b"1\r\nx\r\n")
        answer = await line.until(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 413")
        assert b"connection: close" in answer
        await line.all()


async def test_a_chunked_body_that_never_ends_is_cut_off(served: Served) -> None:
    # proves: SEC-11
    async with served.line() as line:
        await line.say(chunked(served))
        # Who goes on pouring is reset, and may lose the answer with what it had not read.
        with pytest.raises(ConnectionError):
            await pour(line)


async def pour(line: Line) -> None:
    async with asyncio.timeout(BOUND):
        while True:
            await line.say(CHUNK)


CHUNK = b"10000\r\n" + b"x" * 65_536 + b"\r\n"


def chunked(served: Served) -> bytes:
    return (
        f"POST {HERE}/inputs HTTP/1.1\r\nHost: localhost:{served.port}\r\n"
        f"Authorization: Bearer {served.api.secret}\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    ).encode()


async def test_the_longest_text_comes_through_in_one_piece(served: Served) -> None:
    body = b'{"delivery_id":"m-1","text":"' + b"x" * 65_536 + b'"}'
    head = served.get(f"{HERE}/inputs").replace(b"GET", b"POST")[:-2]
    kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    async with served.line() as line:
        for status in (b"202", b"200"):
            await line.say(head + kind + body)
            assert (await line.until(b"\r\n")).startswith(b"HTTP/1.1 " + status)
            await line.until(b'"cursor":2}' if status == b"202" else b"}]}")


async def test_expecting_to_be_asked_for_too_large_a_body_is_refused_without_it(
    served: Served,
) -> None:
    # proves: SEC-11
    head = (
        f"POST {HERE}/inputs HTTP/1.1\r\nHost: localhost:{served.port}\r\n"
        f"Authorization: Bearer {served.api.secret}\r\nContent-Type: application/json\r\n"
        "Content-Length: 2000000\r\nExpect: 100-continue\r\n\r\n"
    )
    async with served.line() as line:
        await line.say(head.encode())
        assert (await line.until(b"\r\n")).startswith(b"HTTP/1.1 413")
        assert b"body_too_large" in await line.all()


async def test_requests_may_follow_one_another_on_a_line(served: Served) -> None:
    async with served.line() as line:
        await line.say(served.get("/v1/health") * 3)
        for _ in range(3):
            assert await line.until(b'{"ok":true}')


async def test_a_stream_arrives_event_by_event(served: Served) -> None:
    # proves: CONV-4
    async with served.line() as line:
        await line.say(served.get(f"{HERE}/events", more="Accept: text/event-stream\r\n"))
        await line.until(b"retry: 2000\n\n")
        await served.api.hall.send("hello")
        assert b'"text":"hello"' in await line.until(b"\n\n")
        await served.api.hall.ended("m-1")
        assert b'"text":"re: hello"' in await line.until(b're: hello"')


async def test_a_connection_that_does_not_read_is_dropped(served: Served) -> None:
    house = served.api.hall.house
    short = replace(house.settings.streams, heartbeat=0.01)
    house.settings = replace(house.settings, streams=short)
    async with served.line() as stuck:
        stuck.reader._transport.pause_reading()  # type: ignore[attr-defined]
        await stuck.say(served.get(f"{HERE}/events", more="Accept: text/event-stream\r\n"))
        await until(lambda: house.feed.channel(HEAD).readers == 1)
        for number in range(200):
            house.feed.draft(HEAD, "m-1", f"a-{number}", "x" * 65_000)
            await asyncio.sleep(0)
            if house.feed.channel(HEAD).readers == 0:
                break
        await until(lambda: house.feed.channel(HEAD).readers == 0)


async def test_streams_and_polls_end_in_an_orderly_way_at_the_end(api: Api) -> None:
    server = Server(api.hall.house)
    url = await server.start(host="127.0.0.1", port=0, socket=api.home / "service.sock")
    served = Served(api, server, url)
    async with served.line() as stream, served.line() as poll, served.line() as late:
        await stream.say(served.get(f"{HERE}/events", more="Accept: text/event-stream\r\n"))
        await stream.until(b"retry: 2000\n\n")
        await poll.say(served.get(f"{HERE}/events?wait=30"))
        await until(lambda: api.hall.house.feed.channel(HEAD).readers == 2)
        api.hall.house.stopping = True
        api.hall.house.feed.close()
        await server.drain()
        await stream.until(b"0\r\n\r\n")
        assert b'"events":[]' in await poll.until(b"}")
        body = b'{"delivery_id":"m-1","text":"late"}'
        head = served.get(f"{HERE}/inputs").replace(b"GET", b"POST")[:-2]
        length = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        await late.say(head + length.encode() + body)
        assert (await late.until(b"\r\n")).startswith(b"HTTP/1.1 503")
        await server.close()
    with pytest.raises(OSError, match="Connect call failed"):
        await asyncio.open_connection("127.0.0.1", served.port)


async def test_a_turn_that_goes_on_does_not_hold_up_the_door(api: Api) -> None:
    server = Server(api.hall.house)
    await server.start(host="127.0.0.1", port=0, socket=api.home / "service.sock")
    held = asyncio.Event()
    api.hall.lane.plays(waits(held))
    await api.hall.send("hello")
    await server.drain()
    await server.close()
    held.set()


def test_a_taken_port_is_said_at_once() -> None:
    with tcp("127.0.0.1", 0) as taken, pytest.raises(OSError, match="in use"):
        tcp("127.0.0.1", taken.getsockname()[1])


def test_a_socket_left_behind_gives_way(tmp_path: Path) -> None:
    path = tmp_path / "service.sock"
    unix(path).close()
    with unix(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_path_that_is_too_long_for_a_socket_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="long"):
        unix(tmp_path / ("x" * 120))


@pytest.mark.parametrize(
    ("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::1", "[::1]")]
)
async def test_the_address_is_one_that_people_can_use(api: Api, host: str, shown: str) -> None:
    server = Server(api.hall.house, config_names=("clankie.example",))
    url = await server.start(host=host, port=0, socket=api.home / "service.sock")
    assert url.startswith(f"http://{shown}:")
    await server.close()
