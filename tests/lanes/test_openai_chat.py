"""A model over HTTP: what is sent, and the many ways a server may answer well."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from clankie.core.conversation import Usage
from clankie.core.settings import Models, Settings
from clankie.host.ports import LaneResult
from clankie.lanes.service import ServiceLane
from fakes.clock import FakeClock, FakeIds
from fakes.credentials import FakeCredentials
from fakes.model_server import (
    DONE,
    Act,
    ModelServer,
    breaks_off,
    call_events,
    calls,
    delta,
    event,
    falls_silent,
    says,
    status,
    streams,
    text_events,
    usage,
)
from fakes.turn_host import FakeTurnHost, delivery, turn

SECRET = "sk-hunter2-0123456789"


def counted(**counts: int) -> Usage:
    return Usage(model="openai-chat:any", **counts)


class Lane:
    """The service lane in front of a scripted server."""

    def __init__(self, server: ModelServer) -> None:
        self.server = server
        self.clock = FakeClock()
        self.credentials = FakeCredentials()
        self.service = ServiceLane(self.clock, FakeIds(), self.credentials)
        self.host = FakeTurnHost()

    def settings(self, **models: Any) -> Settings:
        given = {"model": "openai-chat:any", "base_url": self.server.base_url, **models}
        return Settings(models=Models(**given))

    async def run(self, text: str = "hi", n: int = 1, **models: Any) -> LaneResult:
        request = turn(delivery(text, n=n), settings=self.settings(**models))
        return await self.service.run(request, self.host)


@asynccontextmanager
async def lane(*script: Act) -> AsyncIterator[Lane]:
    server = ModelServer(script=list(script) or [says("Hello", " there")])
    async with server:
        made = Lane(server)
        async with made.service:
            yield made


async def test_an_answer_is_streamed_and_its_usage_counted() -> None:
    async with lane() as it:
        result = await it.run("hi")
        assert result.text == it.host.shown == "Hello there"
        assert it.host.drafts == ["Hello", " there"]
        assert result.usage == counted(input_tokens=9, output_tokens=3, requests=1)
        assert it.host.marks >= 3


async def test_the_request_is_what_such_servers_expect() -> None:
    async with lane() as it:
        await it.run("hi")
        [asked] = it.server.asked
        assert asked.path == "/v1/chat/completions"
        assert asked.body["model"] == "any"
        assert asked.body["stream"] is True
        assert asked.body["stream_options"] == {"include_usage": True}
        assert [m["role"] for m in asked.body["messages"]] == ["system", "user"]
        assert asked.body["messages"][1]["content"] == "hi"
        functions = [tool["function"] for tool in asked.body["tools"]]
        assert [one["name"] for one in functions] == ["get_self_state", "schedule_wake"]
        assert all(one["parameters"]["type"] == "object" for one in functions)
        assert "authorization" not in asked.headers


async def test_a_tool_round_echoes_the_servers_own_call_ids() -> None:
    wanted = ("schedule_wake", '{"in_seconds": 40, "text": "tea"}')
    async with lane(calls(wanted, ("get_self_state", "{}")), says("set")) as it:
        result = await it.run("remind me")
        assert result.text == "set"
        assert result.usage.requests == 2
        assert it.host.wakes[0].text == "tea"
        *_, said, first, second = it.server.asked[1].body["messages"]
        assert [call["id"] for call in said["tool_calls"]] == ["c0", "c1"]
        assert said["content"] is None
        assert (first["role"], first["tool_call_id"]) == ("tool", "c0")
        assert (second["role"], second["tool_call_id"]) == ("tool", "c1")


async def test_ten_calls_in_one_answer_all_run() -> None:
    async with lane(calls(*[("get_self_state", "{}")] * 10), says("done")) as it:
        await it.run()
        assert [call.call_id for call in it.host.calls] == [f"attempt-1-1-{n}" for n in range(10)]


async def test_broken_arguments_go_back_to_the_model() -> None:
    async with lane(calls(("get_self_state", '{"brok')), says("sorry")) as it:
        assert (await it.run()).text == "sorry"
        assert "do not fit" in it.server.asked[1].body["messages"][-1]["content"]
        assert not it.host.calls


async def test_turns_share_a_connection_and_a_session() -> None:
    async with lane() as it:
        await it.run("first", n=1)
        await it.run("second", n=2)
        assert it.server.connections == 1
        assert it.host.projections == 1
        contents = [m["content"] for m in it.server.asked[1].body["messages"][1:]]
        assert contents == ["first", "Hello there", "second"]


async def test_neighbours_of_one_role_are_sent_as_one_message() -> None:
    async with lane() as it:
        it.host.steering = [[delivery("also", n=2)], [delivery("and", n=3), delivery("so", n=4)]]
        await it.run("hi")
        roles = [m["role"] for m in it.server.asked[2].body["messages"]]
        assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
        assert it.server.asked[2].body["messages"][-1]["content"] == "and\n\nso"


def whole(message: dict[str, Any], finish: str | None = "stop") -> bytes:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    counts = {"prompt_tokens": 9, "completion_tokens": 3}
    return json.dumps({"choices": [choice], "usage": counts}).encode()


def crlf(chunks: Sequence[bytes]) -> list[bytes]:
    return [chunk.replace(b"\n", b"\r\n") for chunk in chunks]


GOOD = text_events("Hello", " there")


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(streams(*crlf(GOOD)), id="carriage returns"),
        pytest.param(streams(b": ping\n\n", *GOOD), id="comments"),
        pytest.param(streams(*GOOD[:-1]), id="no DONE after a finish reason"),
        pytest.param(
            streams(*[c for c in GOOD if b'"stop"' not in c]), id="DONE, no finish reason"
        ),
        pytest.param(streams(*GOOD[:-2], DONE), id="no usage"),
        pytest.param(streams(b"".join(GOOD)), id="all at once"),
        pytest.param(streams(*[bytes([b]) for b in b"".join(GOOD)]), id="byte by byte"),
        pytest.param(
            streams(event({}), event({"choices": []}), *GOOD), id="chunks without choices"
        ),
        pytest.param(streams(event({"choices": None, "usage": None}), *GOOD), id="null choices"),
        pytest.param(
            streams(delta(content=None), delta(content=None, reasoning="hm"), *GOOD),
            id="null content and reasoning",
        ),
        pytest.param(
            streams(
                delta(content=[{"type": "thinking", "thinking": []}]),
                delta(content=[{"type": "text", "text": "Hello there"}]),
                delta("stop"),
            ),
            id="content in parts",
        ),
        pytest.param(streams(delta(refusal="Hello there"), delta("stop")), id="words of refusal"),
        pytest.param(
            streams(
                whole({"role": "assistant", "content": "Hello there"}), kind="application/json"
            ),
            id="no stream at all",
        ),
        pytest.param(streams(whole({"content": "Hello there"}, None)), id="no stream, no reason"),
        pytest.param(streams(*GOOD, kind="text/plain"), id="wrong content type"),
        pytest.param(falls_silent(*GOOD), id="never closes after DONE"),
        pytest.param(streams(*GOOD, b": bye\n\n"), id="more after DONE"),
        pytest.param(streams(*GOOD[:-1], DONE.strip()), id="no line end after DONE"),
        pytest.param(streams(*GOOD[:-2], GOOD[-2].strip()), id="no line end after the last chunk"),
        pytest.param(breaks_off(*GOOD[:-2]), id="breaks after the finish reason"),
    ],
)
async def test_servers_may_differ_in_how_they_stream(act: Act) -> None:
    async with lane(act) as it:
        assert (await it.run()).text == "Hello there"


STATE = {"name": "get_self_state", "arguments": "{}"}


def call(index: int | None, call_id: str | None, function: dict[str, Any]) -> dict[str, Any]:
    found = {"index": index, "id": call_id, "function": function}
    return {name: value for name, value in found.items() if value is not None}


@pytest.mark.parametrize(
    ("events", "count"),
    [
        pytest.param(
            call_events(("get_self_state", "{}"), ("get_self_state", "{}")), 2, id="pieces"
        ),
        pytest.param(
            [delta("tool_calls", tool_calls=[call(0, "a", STATE), call(1, "b", STATE)])],
            2,
            id="whole calls in one chunk",
        ),
        pytest.param(
            [delta("stop", tool_calls=[call(0, "a", STATE), call(0, "b", STATE)])],
            2,
            id="every call has index 0",
        ),
        pytest.param(
            [delta("stop", tool_calls=[call(None, "a", STATE), call(None, "b", STATE)])],
            2,
            id="no index",
        ),
        pytest.param(
            [
                delta(tool_calls=[call(None, "a", {"name": "get_self_state"})]),
                delta("stop", tool_calls=[call(None, None, {"arguments": "{}"})]),
            ],
            1,
            id="no index and in pieces",
        ),
        pytest.param([delta("stop", tool_calls=[call(0, None, STATE)])], 1, id="no id"),
        pytest.param(
            [
                delta(tool_calls=[call(0, "a", STATE)]),
                delta("stop", tool_calls=[{"index": 0, "id": "a"}]),
            ],
            1,
            id="a piece without a function",
        ),
        pytest.param(
            [
                delta(tool_calls=[call(0, "a", {**STATE, "arguments": "{"})]),
                delta("stop", tool_calls=[call(0, "a", {**STATE, "arguments": "}"})]),
            ],
            1,
            id="id and name in every piece",
        ),
        pytest.param(
            [delta("stop", tool_calls=[call(0, "a", {**STATE, "arguments": {}})])],
            1,
            id="arguments as an object",
        ),
        pytest.param(
            [delta("stop", tool_calls=[call(0, "a", {"name": "get_self_state"})])],
            1,
            id="no arguments",
        ),
        pytest.param(
            [whole({"content": None, "tool_calls": [call(None, "a", STATE)]})], 1, id="whole"
        ),
    ],
)
async def test_servers_may_differ_in_how_they_call_tools(events: list[bytes], count: int) -> None:
    async with lane(streams(*events), says("ok")) as it:
        assert (await it.run()).text == "ok"
        assert [one.name for one in it.host.calls] == ["get_self_state"] * count
        asked = it.server.asked[1].body["messages"]
        ids = [m["tool_call_id"] for m in asked if m["role"] == "tool"]
        assert all(ids)
        assert len(set(ids)) == count


async def test_the_last_usage_counts_when_a_server_reports_as_it_goes() -> None:
    act = streams(usage(9, 1), delta(content="a"), usage(9, 2), delta("stop"), usage(9, 3), DONE)
    async with lane(act) as it:
        assert (await it.run()).usage == counted(input_tokens=9, output_tokens=3, requests=1)


# proves: SEC-3
async def test_a_credential_goes_to_its_own_origin_only() -> None:
    async with lane() as it, ModelServer() as other:
        it.credentials.put("openai-chat", f"{it.server.origin}", SECRET)
        await it.run("mine")
        assert it.server.asked[0].headers["authorization"] == f"Bearer {SECRET}"
        it.service.evict("global-default")
        await it.run("theirs", base_url=other.base_url)
        assert "authorization" not in other.asked[0].headers
        assert SECRET not in str(other.asked[0])


# proves: SEC-3
async def test_a_credential_of_another_name_is_not_used() -> None:
    async with lane() as it:
        it.credentials.put("ollama", it.server.origin, SECRET)
        await it.run()
        assert "authorization" not in it.server.asked[0].headers


# proves: SEC-3
async def test_a_redirect_is_not_followed_and_takes_no_credential_along() -> None:
    async with ModelServer() as other:
        away = status(307, headers={"location": f"{other.base_url}/chat/completions"})
        async with lane(away) as it:
            it.credentials.put("openai-chat", it.server.origin, SECRET)
            with pytest.raises(Exception, match="redirects are not followed"):
                await it.run()
            assert not other.asked


async def test_the_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1/")
    async with lane() as it:
        assert (await it.run()).text == "Hello there"
