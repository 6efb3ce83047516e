"""Everything a model server can do wrong: each has a code and a sentence that says what to do."""

import asyncio
import socket
from dataclasses import dataclass

import httpx2
import pytest

from clankie.core.settings import Models, Settings
from clankie.host.ports import LaneError
from clankie.lanes.endpoint import endpoint
from clankie.lanes.messages import UserText
from clankie.lanes.model import ModelRequest, ModelUnreachableError
from clankie.lanes.remote import RemoteModel
from clankie.lanes.service import ServiceLane
from fakes.clock import FakeClock, FakeIds
from fakes.credentials import FakeCredentials
from fakes.model_server import (
    Act,
    ModelServer,
    breaks_off,
    calls,
    delta,
    drops,
    event,
    falls_silent,
    never_ends,
    problem,
    says,
    status,
    stays_silent,
    streams,
    text_events,
)
from fakes.patience import through
from fakes.turn_host import FakeTurnHost, delivery, turn

SECRET = "sk-hunter2-0123456789"
SOON = 0.05
"""Seconds of silence that these tests put up with."""


@dataclass(frozen=True)
class Fault:
    """What the server does, and what must come of it: code, words, requests, and what was kept."""

    act: Act
    code: str
    words: str
    requests: int = 1
    partial: str = ""
    silence: float = 5.0


HALF = text_events("half")[:2]

FAULTS = {
    "hangs up before the first byte": Fault(drops, "model_bad_response", "Send the message again"),
    "hangs up in the middle": Fault(
        breaks_off(*HALF),
        "model_bad_response",
        "broke before the answer was complete",
        partial="half",
    ),
    "ends the stream in the middle": Fault(
        streams(*HALF), "model_bad_response", "in the middle of the answer", partial="half"
    ),
    "never answers": Fault(stays_silent, "model_timeout", "models.request_timeout", silence=SOON),
    "falls silent in the middle": Fault(
        falls_silent(*HALF), "model_timeout", "models.request_timeout", partial="half", silence=SOON
    ),
    "401": Fault(
        status(401, problem(f"Incorrect API key provided: {SECRET}")),
        "model_credential_rejected",
        "clankie credentials set openai-chat --origin http://127.0.0.1:",
    ),
    "403": Fault(status(403), "model_credential_rejected", "clankie credentials set"),
    "429 without a time": Fault(
        status(429, problem("You exceeded your quota")), "model_rate_limited", "your quota"
    ),
    "429 with a long time": Fault(
        status(429, "", {"retry-after": "3600"}), "model_rate_limited", "in 3600 seconds"
    ),
    "429 with a short time, for ever": Fault(
        status(429, "", {"retry-after": "2"}), "model_rate_limited", "in 2 seconds", requests=3
    ),
    "500 for ever": Fault(
        status(500, problem("out of memory")), "model_server_error", "out of memory", requests=3
    ),
    "502 with a web page": Fault(
        status(502, "<html>Bad gateway</html>"), "model_server_error", "status 502", requests=3
    ),
    "500 with a book": Fault(
        status(500, "x" * 300_000), "model_server_error", "status 500", requests=3
    ),
    "400 without words": Fault(status(400, "{}"), "model_request_refused", "status 400"),
    "503 that wants an hour": Fault(
        status(503, "", {"retry-after": "3600"}), "model_server_error", "status 503"
    ),
    "404": Fault(
        status(404, problem("model 'any' not found")),
        "model_request_refused",
        "model 'any' not found",
    ),
    "404, the error is a string": Fault(
        status(404, '{"error": "no such model"}'), "model_request_refused", "no such model"
    ),
    "422, the error is a detail": Fault(
        status(422, '{"detail": "too long"}'), "model_request_refused", "too long"
    ),
    "400 of a content filter": Fault(
        status(400, problem("bad words", "content_filter")), "model_refused", "other words"
    ),
    "content filter in the middle": Fault(
        streams(*HALF, delta("content_filter")), "model_refused", "other words", partial="half"
    ),
    "302": Fault(status(302, "", {"location": "http://x/"}), "model_bad_response", "base_url"),
    "a web page": Fault(
        streams(b"<!doctype html><html>", kind="text/html"), "model_bad_response", "base_url"
    ),
    "garbage": Fault(
        streams(b"data: \x00\xff{{{\n\n"), "model_bad_response", "no part of an answer"
    ),
    "garbage in the middle": Fault(
        streams(*HALF, b"data: nonsense\n\n"), "model_bad_response", "no part", partial="half"
    ),
    "wrong types": Fault(
        streams(event({"choices": "many"})), "model_bad_response", "no part of an answer"
    ),
    "a lone surrogate": Fault(
        streams(b'data: {"choices": [{"delta": {"content": "\\ud800"}}]}\n\n'),
        "model_bad_response",
        "no part of an answer",
    ),
    "nesting without end": Fault(
        streams(b'data: {"error": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n\n"),
        "model_bad_response",
        "no part of an answer",
    ),
    "JSON of something else": Fault(
        streams(b'{"foo": 1}'), "model_bad_response", "Send the message"
    ),
    "nothing at all": Fault(streams(), "model_bad_response", "Send the message again"),
    "compressed": Fault(
        streams(b"\x1f\x8b", headers={"content-encoding": "gzip"}),
        "model_bad_response",
        "compressed",
    ),
    "an error in the middle": Fault(
        streams(*HALF, event({"error": {"message": f"overloaded {SECRET}", "code": 503}})),
        "model_server_error",
        "overloaded [secret]",
        partial="half",
    ),
    "a bare error in the middle": Fault(
        streams(*HALF, b'{"error": "model crashed"}\n'),
        "model_server_error",
        "model crashed",
        partial="half",
    ),
    "a status 200 that is an error": Fault(
        streams(b'{"error": {"message": "no GPU"}}'), "model_server_error", "no GPU"
    ),
    "an answer without end": Fault(
        never_ends([], delta(content="words " * 1_000)),
        "model_answer_too_long",
        "models.answer_chars",
        partial="words " * 33_333 + "wo",
    ),
    "a stream without an answer": Fault(
        never_ends([], b": still here, still here, still here\n" * 100_000),
        "model_bad_response",
        "64 MiB",
    ),
    "a huge line": Fault(streams(b"data: " + b"x" * 2_000_000), "model_bad_response", "1 MiB"),
    "calls without end": Fault(
        never_ends([], delta(tool_calls=[{"index": 0, "function": {"arguments": "x" * 100_000}}])),
        "model_bad_response",
        "too many tools",
    ),
    "tool calls for ever": Fault(
        calls(("get_self_state", "{}")), "tool_rounds_exhausted", "models.tool_rounds", requests=4
    ),
}


async def failed(
    server: ModelServer, lane: ServiceLane, host: FakeTurnHost, silence: float
) -> LaneError:
    models = Models(
        model="openai-chat:any",
        base_url=server.base_url,
        request_timeout=silence,
        tool_rounds=4,
    )
    with pytest.raises(LaneError) as caught:
        await lane.run(turn("hi", settings=Settings(models=models)), host)
    return caught.value


# proves: SERV-7, BASE-2
@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_of_the_server_has_a_code_and_a_sentence(name: str) -> None:
    fault = FAULTS[name]
    clock, credentials, host = FakeClock(), FakeCredentials(), FakeTurnHost()
    async with ModelServer(script=[fault.act]) as server:
        credentials.put("openai-chat", server.origin, SECRET)
        async with ServiceLane(clock, FakeIds(), credentials) as lane:
            error = await through(clock, failed(server, lane, host, fault.silence))
            assert lane.status()["last_error"] == error.code
            assert lane.status()["sessions"] == 0
        assert len(server.asked) == fault.requests
    assert error.code == fault.code
    assert fault.words in error.detail
    assert error.partial == host.shown == fault.partial
    assert SECRET not in error.detail
    assert "\n" not in error.detail


async def test_a_server_that_is_not_there_is_asked_three_times() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    server = ModelServer()
    server.port = port
    clock = FakeClock()
    async with ServiceLane(clock, FakeIds(), FakeCredentials()) as lane:
        error = await through(clock, failed(server, lane, FakeTurnHost(), 5.0))
    assert clock.monotonic() > 0
    assert error.code == "model_unreachable"
    assert f"http://127.0.0.1:{port}" in error.detail
    assert "clankie settings set models.base_url" in error.detail


async def test_a_server_that_cannot_be_reached_in_time_is_not_asked_again() -> None:
    asked = 0

    async def out_of_reach(_request: httpx2.Request) -> httpx2.Response:
        nonlocal asked
        asked += 1
        raise httpx2.ConnectTimeout("")

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(out_of_reach)) as client:
        model = RemoteModel(
            client=client,
            endpoint=endpoint(Models(model="openai-chat:any", base_url="http://192.0.2.1/v1")),
            secret=None,
            silence=5.0,
            clock=FakeClock(),
            quote=str,
        )
        request = ModelRequest(system="", messages=[UserText("hi")])
        with pytest.raises(ModelUnreachableError) as caught:
            await anext(model.stream(request))
    assert not caught.value.repeatable
    assert "http://192.0.2.1:80 within 10 seconds" in caught.value.detail
    assert asked == 1


# proves: SERV-7
@pytest.mark.parametrize(
    "act",
    [
        status(500),
        status(503, "", {"retry-after": "1"}),
        status(429, "", {"retry-after": "7"}),
        status(429, "", {"retry-after": "Mon, 30 Nov 2026 12:00:09 GMT"}),
    ],
)
async def test_a_fault_that_passes_is_not_seen(act: Act) -> None:
    clock, host = FakeClock(), FakeTurnHost()
    async with (
        ModelServer(script=[act, says("well")]) as server,
        ServiceLane(clock, FakeIds(), FakeCredentials()) as lane,
    ):
        models = Models(model="openai-chat:any", base_url=server.base_url)
        request = turn("hi", settings=Settings(models=models))
        result = await through(clock, lane.run(request, host))
    assert result.text == "well"
    assert result.usage.requests == 1
    assert host.marks > 0


# proves: SEC-3
@pytest.mark.parametrize("base_url", ["http://192.0.2.1:9/v1", "http://model.example.com/v1"])
async def test_a_credential_is_never_sent_in_the_clear_to_another_machine(base_url: str) -> None:
    credentials = FakeCredentials()
    credentials.put("openai-chat", base_url.removesuffix("/v1"), SECRET)
    credentials.put("openai-chat", "http://192.0.2.1:9", SECRET)
    if "example" in base_url:
        credentials.put("openai-chat", "http://model.example.com:80", SECRET)
    models = Models(model="openai-chat:any", base_url=base_url)
    async with ServiceLane(FakeClock(), FakeIds(), credentials) as lane:
        with pytest.raises(LaneError) as caught:
            await lane.run(turn("hi", settings=Settings(models=models)), FakeTurnHost())
    assert caught.value.code == "model_insecure_url"
    assert "https" in caught.value.detail
    assert SECRET not in caught.value.detail


@pytest.mark.parametrize("secret", ["hunter2\r\nx-evil: 1", "hunter2 x", "hünter2"])
async def test_a_credential_that_cannot_stand_in_a_header_is_not_sent(secret: str) -> None:
    credentials = FakeCredentials()
    async with (
        ModelServer() as server,
        ServiceLane(FakeClock(), FakeIds(), credentials) as lane,
    ):
        credentials.put("openai-chat", server.origin, secret)
        error = await failed(server, lane, FakeTurnHost(), 5.0)
        assert not server.asked
    assert error.code == "model_credential_rejected"
    assert "nter2" not in error.detail


async def test_cancelling_a_turn_hangs_up_on_the_server() -> None:
    hung_up = asyncio.Event()
    begun = asyncio.Event()

    class Host(FakeTurnHost):
        def draft(self, text: str) -> None:
            super().draft(text)
            begun.set()

    half = falls_silent(*HALF)

    async with (
        ModelServer(script=[half]) as server,
        ServiceLane(FakeClock(), FakeIds(), FakeCredentials()) as lane,
    ):

        async def act(wire: object) -> None:
            await half(wire)  # type: ignore[arg-type]  # the wire is the server's own
            hung_up.set()

        server.script = [act]
        models = Models(model="openai-chat:any", base_url=server.base_url)
        async with asyncio.TaskGroup() as group:
            before = len(asyncio.all_tasks())
            task = group.create_task(lane.run(turn("hi", settings=Settings(models=models)), Host()))
            await begun.wait()
            task.cancel()
            await hung_up.wait()
        assert task.cancelled()
        assert len(asyncio.all_tasks()) <= before + 1  # the server's own
        assert lane.status()["sessions"] == 0


async def test_after_a_failed_turn_the_next_starts_from_the_log() -> None:
    host = FakeTurnHost()
    async with (
        ModelServer(script=[says("one"), status(404), says("three")]) as server,
        ServiceLane(FakeClock(), FakeIds(), FakeCredentials()) as lane,
    ):
        models = Models(model="openai-chat:any", base_url=server.base_url)
        settings = Settings(models=models)
        await lane.run(turn(delivery("first", n=1), settings=settings), host)
        with pytest.raises(LaneError):
            await lane.run(turn(delivery("second", n=2), settings=settings), host)
        await lane.run(turn(delivery("third", n=3), settings=settings), host)
        assert host.projections == 2
        last = server.asked[-1].body["messages"]
        assert [m["content"] for m in last[1:]] == ["third"]
