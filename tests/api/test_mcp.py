"""The tools of a seat, over real HTTP and with the real client."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from api.kit import Answer, Api
from api.sockets import Served
from clankie.api.bank_sessions import EACH
from clankie.core.conversation import Principal

PATH = "/v1/mcp"
TOOLS = {
    "get_self_state",
    "reply",
    "schedule_wake",
    "watch",
    "observe_room",
    "read_conversation",
}
BOTH = {"accept": "application/json, text/event-stream"}
NOTHING: tuple[object, ...] = ({}, [], {"jsonrpc": "2.0"}, 7)
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@asynccontextmanager
async def session(served: Served, token: str, mode: str = "legacy") -> AsyncIterator[Client]:
    head = {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=head, timeout=20) as http:
        transport = streamable_http_client(f"{served.url}{PATH}", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


def said(result: Any) -> str:
    return str(result.content[0].text)


async def call(api: Api, token: str, body: object, session: str | None = None) -> Answer:
    head = dict(BOTH) if session is None else {**BOTH, "mcp-session-id": session}
    return await api.post(PATH, body, token=token, headers=head)


async def begun(api: Api, token: str) -> str:
    answer = await call(api, token, HELLO)
    assert answer.status == 200
    return answer.headers["mcp-session-id"]


def asking(number: int, method: str, **params: Any) -> Mapping[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_seat_lists_its_tools_and_calls_them(served: Served, mode: str) -> None:
    # proves: SEAT-3
    token = await served.api.token(Principal.SEAT)
    async with session(served, token, mode) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        result = await client.call_tool("get_self_state", {})
        assert "conversation" in said(result) or "seat" in said(result)
        wrong = await client.call_tool("read_conversation", {"before": "never"})
        assert wrong.is_error
        assert "was not run" in said(wrong)
        unknown = await client.call_tool("run_command", {"command": "id"})
        assert unknown.is_error


async def test_a_session_opens_nothing_for_another_token(api: Api) -> None:
    mine = await api.token(Principal.SEAT)
    name = await begun(api, mine)
    assert (await call(api, mine, asking(2, "tools/list"), name)).status == 200
    for session_id in (name, "never-was"):
        head = {**BOTH, "mcp-session-id": session_id}
        api.secrets.pop(Principal.SEAT)
        other = await api.token(Principal.SEAT)
        for method in ("POST", "DELETE"):
            answer = await api.ask(method, PATH, asking(3, "tools/list"), token=other, headers=head)
            assert (answer.status, answer.code) == (404, "session_not_found")
    assert (await call(api, mine, asking(4, "tools/list"), name)).status == 200
    head = {**BOTH, "mcp-session-id": name}
    assert (await api.ask("DELETE", PATH, token=mine, headers=head)).status == 204
    gone = await call(api, mine, asking(5, "tools/list"), name)
    assert (gone.status, gone.code) == (404, "session_not_found")


async def test_a_token_has_a_bounded_number_of_sessions(api: Api) -> None:
    token = await api.token(Principal.SEAT)
    first = await begun(api, token)
    latest = [await begun(api, token) for _ in range(EACH)][-1]
    assert (await call(api, token, asking(2, "tools/list"), first)).status == 404
    assert (await call(api, token, asking(2, "tools/list"), latest)).status == 200


@pytest.mark.parametrize(
    "principal",
    [Principal.OPERATOR, Principal.DEVICE, Principal.WORKER, Principal.METRICS],
)
async def test_nobody_but_a_seat_reaches_the_tools(api: Api, principal: Principal) -> None:
    answer = await call(api, await api.token(principal), HELLO)
    assert (answer.status, answer.code) == (403, "not_allowed")
    assert "mcp-session-id" not in answer.headers


async def test_the_door_is_the_same_as_everywhere(api: Api) -> None:
    # proves: SEC-1, SEC-11
    token = await api.token(Principal.SEAT)
    foreign = await api.post(PATH, HELLO, token=token, headers={"origin": "http://evil.example"})
    assert (foreign.status, foreign.code) == (403, "foreign_origin")
    rebound = await api.post(PATH, HELLO, token=token, headers={"host": "evil.example"})
    assert (rebound.status, rebound.code) == (421, "unknown_host")
    large = await api.ask("POST", PATH, raw=b'"' + b"x" * 1_048_576 + b'"', token=token)
    assert (large.status, large.code) == (413, "body_too_large")
    text = await api.ask("POST", PATH, raw=b"{}", token=token, headers={"content-type": "text/a"})
    assert text.status == 415
    deep = await api.ask("POST", PATH, raw=b"[" * 40 + b"]" * 40, token=token, headers=BOTH)
    assert (deep.status, deep.code) == (400, "bad_json")
    nul = await call(api, token, asking(2, "tools/call", name="a\0b"))
    assert (nul.status, nul.code) == (422, "invalid_field")
    stream = await api.get(PATH, token=token, headers=BOTH)
    assert (stream.status, stream.headers["allow"]) == (405, "DELETE, POST")
    assert (await api.post(PATH, HELLO, token=None)).status == 401


async def test_what_is_no_message_of_the_protocol_is_said_to_be_none(api: Api) -> None:
    token = await api.token(Principal.SEAT)
    for body in NOTHING:
        answer = await call(api, token, body)
        assert answer.status == 400, body
        assert "mcp-session-id" not in answer.headers
    unknown = await call(api, token, asking(3, "resources/list"))
    assert json.loads(unknown.raw)["error"]["code"] == -32_601


def test_the_sdk_is_not_loaded_before_somebody_calls() -> None:
    names = "('mcp', 'mcp_types')"
    code = f"import sys, clankie.api.app\nprint([one for one in {names} if one in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert found.stdout.strip() == "[]"
