"""Opening a seat, registering it over the unix socket, attaching it, and the roster."""

import asyncio
import json
import os
from typing import Any

import pytest

from api.bridge import SESSION, Bridge, seated
from api.kit import HERE, Api
from api.sockets import Served
from clankie.core.conversation import Principal
from clankie.core.ids import HEAD

GRANTS = "/v1/seats/grants"


def offered(grant: str, session: str = SESSION, pid: int | None = None) -> dict[str, Any]:
    return {
        "grant": grant,
        "harness": "claude",
        "native": {"session_id": session, "pid": os.getpid() if pid is None else pid},
        "pane": "%3",
        "capabilities": {"kinds": ["turn", "wake"], "interrupt": True, "version": "2.1"},
    }


async def granted(api: Api, **how: Any) -> dict[str, Any]:
    answer = await api.post(GRANTS, {"harness": "claude", **how})
    assert answer.status == 201, answer.raw
    found: dict[str, Any] = answer.json
    return found


async def registered(served: Served, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Over the unix socket, without any bearer."""
    raw = json.dumps(body).encode()
    async with served.line(socket=True) as line:
        head = (
            "POST /v1/seats HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(raw)}\r\nConnection: close\r\n\r\n"
        )
        await line.say(head.encode() + raw)
        answer = await line.all()
    head_, _, rest = answer.partition(b"\r\n\r\n")
    return int(head_.split()[1]), json.loads(rest)


# ── grants and registration ──────────────────────────────────────────────────────────────────────


async def test_a_grant_makes_one_seat_that_is_attached_at_once(served: Served) -> None:
    # proves: SEAT-1
    api = served.api
    grant = await granted(api)
    assert grant["conversation"] == HEAD
    status, made = await registered(served, offered(grant["grant"]))
    assert (status, made["conversation"]) == (201, HEAD)
    [row] = (await api.get("/v1/seats")).json["seats"]
    assert row["seat"] == made["seat"]
    assert row["native"] == {"session_id": SESSION, "pid": os.getpid()}
    assert (row["harness"], row["conversation"], row["pane"]) == ("claude", HEAD, "%3")
    assert (row["waiting"], row["in_flight"]) == (0, 0)
    assert (await api.get(HERE, token=made["token"])).status == 200
    again = await registered(served, offered(grant["grant"], "session-2"))
    assert (again[0], again[1]["code"]) == (410, "grant_unknown")
    assert grant["grant"].encode() not in (await api.get("/v1/seats")).raw


async def test_the_same_occupant_again_is_the_same_seat_with_a_new_token(served: Served) -> None:
    api = served.api
    _, first = await registered(served, offered((await granted(api))["grant"]))
    grant = await granted(api, expected=first["seat"])
    _, second = await registered(served, offered(grant["grant"]))
    assert second["seat"] == first["seat"]
    assert second["token"] != first["token"]
    assert (await api.get(HERE, token=first["token"])).code == "token_unknown"
    assert (await api.get(HERE, token=second["token"])).status == 200


async def test_a_seat_registers_over_the_socket_only(served: Served) -> None:
    api = served.api
    grant = await granted(api)
    for token in (None, api.secret):
        answer = await api.post("/v1/seats", offered(grant["grant"]), token=token)
        assert (answer.status, answer.code) == (403, "not_allowed")
    raw = json.dumps(offered(grant["grant"])).encode()
    async with served.line() as line:
        head = f"POST /v1/seats HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
        await line.say(head.encode() + raw)
        assert (await line.until(b"\r\n")).startswith(b"HTTP/1.1 403")
    status, _ = await registered(served, offered(grant["grant"]))
    assert status == 201


async def test_a_process_that_is_no_relative_of_the_session_gets_no_seat(served: Served) -> None:
    grant = await granted(served.api)
    process = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE)
    try:
        status, _ = await registered(served, offered(grant["grant"], pid=process.pid))
        assert status == 201  # a child of ours
    finally:
        process.kill()
        await process.wait()
    grant = await granted(served.api, new=True, request_id="r-1")
    status, refused = await registered(served, offered(grant["grant"], pid=2**22 - 3))
    assert status in {403, 410}, refused


async def test_the_process_above_all_others_is_nobodys_harness(served: Served) -> None:
    grant = await granted(served.api)
    status, refused = await registered(served, offered(grant["grant"], pid=1))
    assert (status, refused["code"]) == (403, "not_allowed")
    assert "descends from process 1" in refused["detail"]


async def test_a_grant_lasts_minutes(served: Served) -> None:
    grant = await granted(served.api)
    await served.api.hall.clock.advance(301)
    status, refused = await registered(served, offered(grant["grant"]))
    assert (status, refused["code"]) == (410, "grant_unknown")


async def test_without_a_conversation_only_a_free_head_is_granted(api: Api) -> None:
    bridge = await seated(api)
    await bridge.poll()
    taken = await api.post(GRANTS, {"harness": "codex"})
    assert (taken.status, taken.code) == (409, "attachment_conflict")
    assert taken.json["current"] == bridge.seat
    assert (await granted(api, expected=bridge.seat))["conversation"] == HEAD
    await api.hall.clock.advance(60)
    left = await api.post(GRANTS, {"harness": "codex", "expected": None})
    assert (left.status, left.json["current"]) == (409, bridge.seat)
    assert (await granted(api))["conversation"] == HEAD  # it is silent, and gives way
    fresh = await granted(api, new=True, request_id="r-1")
    assert fresh["conversation"] != HEAD


async def test_asking_again_for_a_conversation_of_its_own_makes_no_second_one(
    served: Served,
) -> None:
    api = served.api
    first = await granted(api, new=True, request_id="r-1")
    await api.hall.clock.advance(90)  # its name says when it was made
    path = f"/v1/conversations/{first['conversation']}"
    await api.ask("PATCH", path, {"name": "mine", "expected_revision": 0})
    again = await granted(api, new=True, request_id="r-1")
    assert again["conversation"] == first["conversation"]
    assert again["grant"] != first["grant"]
    for how in ({"request_id": "r-2"}, {"request_id": "r-1", "harness": "codex"}):
        other = await granted(api, new=True, **how)
        assert other["conversation"] != first["conversation"]
    named = {"request_id": "r-1", "name": "another", "kind": "global"}
    assert (await api.post("/v1/conversations", named)).status == 201, "not a seat's request"
    status, made = await registered(served, offered(again["grant"]))
    assert (status, made["conversation"]) == (201, first["conversation"])


async def test_a_conversation_of_its_own_needs_a_request_id(api: Api) -> None:
    bodies: list[dict[str, Any]] = [{"new": True}, {"new": True, "request_id": None}]
    for body in bodies:
        refused = await api.post(GRANTS, {"harness": "claude", **body})
        assert (refused.status, refused.code) == (422, "invalid_field")
        assert refused.json["errors"][0]["path"] == "request_id"
    for name in ("", "a b", "a/b", "x" * 129):
        refused = await api.post(GRANTS, {"harness": "claude", "new": True, "request_id": name})
        assert refused.code == "invalid_field"


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"grant": ""}, "grant"),
        ({"harness": "Claude Code"}, "harness"),
        ({"native": {"session_id": "a b", "pid": 1}}, "native.session_id"),
        ({"native": {"session_id": "s", "pid": 0}}, "native.pid"),
        ({"native": {"session_id": "s", "pid": 1, "process_started_at": "now"}}, "native."),
        ({"capabilities": {"kinds": ["dance"]}}, "capabilities.kinds"),
    ],
)
async def test_a_registration_that_cannot_be_is_refused(
    served: Served, change: dict[str, Any], path: str
) -> None:
    status, refused = await registered(served, {**offered("x"), **change})
    assert (status, refused["code"]) == (422, "invalid_field")
    assert refused["errors"][0]["path"].startswith(path)


# ── attachment ───────────────────────────────────────────────────────────────────────────────────


async def attach(
    api: Api, bridge: Bridge, conversation: str, expected: str | None, token: str = ""
) -> tuple[int, dict[str, Any]]:
    body = {"conversation": conversation, "expected": expected}
    answer = await api.ask("PUT", f"{bridge.path}/attachment", body, token=token)
    return answer.status, answer.json


async def test_of_two_who_attach_at_once_one_wins_and_one_is_told(api: Api) -> None:
    # proves: SEAT-1
    one, two = await seated(api), await seated(api, await api.hall.make("side"), "session-2")
    place = await api.hall.make("third")
    async with asyncio.TaskGroup() as tasks:
        both = [tasks.create_task(attach(api, each, place, None)) for each in (one, two)]
    statuses = sorted(each.result()[0] for each in both)
    assert statuses == [200, 409]
    lost = next(each.result()[1] for each in both if each.result()[0] == 409)
    won = next(each.result()[1] for each in both if each.result()[0] == 200)
    assert (lost["code"], lost["current"]) == ("attachment_conflict", won["seat"])
    assert won["state"] == "bound"


async def test_a_seat_attaches_itself_only_where_its_grant_said(api: Api) -> None:
    # proves: SEAT-1
    bridge = await seated(api)
    side = await api.hall.make("side")
    status, refused = await attach(api, bridge, side, None, bridge.token)
    assert (status, refused["code"]) == (403, "not_allowed")
    gone = await api.ask("DELETE", f"{bridge.path}/attachment", token=bridge.token)
    assert (gone.status, gone.json["conversation"]) == (200, None)
    assert (await api.get(HERE, token=bridge.token)).code == "conversation_not_found"
    assert (await attach(api, bridge, HEAD, None, bridge.token))[0] == 200
    assert (await attach(api, bridge, side, None))[0] == 200
    assert (await api.get(HERE, token=bridge.token)).code == "conversation_not_found"
    assert (await api.get(f"/v1/conversations/{side}", token=bridge.token)).status == 200


@pytest.mark.parametrize("principal", [Principal.DEVICE, Principal.WORKER, Principal.METRICS])
async def test_nobody_else_attaches_a_seat_and_nothing_changes(
    api: Api, principal: Principal
) -> None:
    # proves: SEAT-1
    bridge, side = await seated(api), await api.hall.make("side")
    before = (await api.get("/v1/seats")).raw
    status, refused = await attach(api, bridge, side, None, await api.token(principal))
    assert (status, refused["code"]) == (403, "not_allowed")
    gone = await api.ask("DELETE", f"{bridge.path}/attachment", token=await api.token(principal))
    assert gone.status == 403
    assert (await api.get("/v1/seats")).raw == before


async def test_what_does_not_exist_is_attached_to_nothing(api: Api) -> None:
    bridge = await seated(api)
    assert (await attach(api, bridge, "nowhere", None))[1]["code"] == "conversation_not_found"
    nobody = Bridge(api, "s-nobody", bridge.token)
    assert (await attach(api, nobody, HEAD, None))[1]["code"] == "seat_not_found"
    lacking = await api.ask("PUT", f"{bridge.path}/attachment", {"conversation": HEAD})
    assert (lacking.status, lacking.json["errors"][0]["path"]) == (422, "expected")


# ── what a seat may reach ────────────────────────────────────────────────────────────────────────


async def test_for_a_seat_every_other_seat_is_none(api: Api) -> None:
    # proves: SEAT-2
    mine = await seated(api)
    other = await seated(api, await api.hall.make("side"), "session-2")
    taken = {"binding": mine.binding, "attempt": 1}
    asks: list[tuple[str, str, object]] = [
        ("GET", f"events?{mine.query()}", None),
        ("POST", "events/m-1/ack", taken),
        ("POST", "events/m-1/refuse", {**taken, "reason": "busy"}),
        ("POST", "events/m-1/reply", {**taken, "text": "hi"}),
        ("POST", "transcript", {"session_id": "s", "entries": []}),
        ("POST", "session-start", {"projection_id": "p"}),
        ("POST", "approvals", {"id": "q", "summary": "May I?"}),
        ("PUT", "attachment", {"conversation": HEAD, "expected": None}),
        ("DELETE", "attachment", None),
    ]
    for name in (other.seat, "s-nobody"):
        for method, path, body in asks:
            answer = await api.ask(method, f"/v1/seats/{name}/{path}", body, token=mine.token)
            assert (answer.status, answer.code) == (404, "seat_not_found"), (method, path)
    for method, path in (("GET", "/v1/seats"), ("DELETE", mine.path), ("GET", "/v1/approvals")):
        assert (await api.ask(method, path, token=mine.token)).status == 403


async def test_only_the_seat_itself_takes_acknowledges_refuses_and_answers(api: Api) -> None:
    bridge = await seated(api)
    taken = {"binding": bridge.binding, "attempt": 1}
    asks = [
        ("GET", f"events?{bridge.query()}", None),
        ("POST", "events/m-1/ack", taken),
        ("POST", "events/m-1/refuse", {**taken, "reason": "busy"}),
        ("POST", "events/m-1/reply", {**taken, "text": "hi"}),
    ]
    for principal in (Principal.OPERATOR, Principal.DEVICE, Principal.WORKER):
        secret = await api.token(principal)
        for method, path, body in asks:
            answer = await api.ask(method, f"{bridge.path}/{path}", body, token=secret)
            assert (answer.status, answer.code) == (403, "not_allowed")


async def test_a_retired_seat_opens_nothing(api: Api) -> None:
    bridge = await seated(api)
    assert (await api.ask("DELETE", bridge.path)).status == 204
    assert (await bridge.ask(wait=0)).code == "token_unknown"
    assert (await api.get("/v1/seats")).json == {"seats": []}
    again = await api.ask("DELETE", bridge.path)
    assert (again.status, again.code) == (404, "seat_not_found")


# ── what a session starts with, and who drives ───────────────────────────────────────────────────


async def test_a_session_starts_with_the_log_and_confirms_that_it_has_it(api: Api) -> None:
    # proves: HAND-2
    await api.send("remember the milk", "m-1")
    await api.settled("m-1")
    bridge = await seated(api)
    body = {"session_id": SESSION, "source": "startup", "sections": ["persona", "conversation"]}
    begun = await bridge.post("session-start", body)
    assert begun.status == 200
    assert "remember the milk" in begun.json["text"]
    confirmed = await bridge.post("session-start", {"projection_id": begun.json["projection_id"]})
    assert confirmed.json == {"confirmed": True}
    unknown = await bridge.post("session-start", {"projection_id": "p-never"})
    assert (unknown.status, unknown.code) == (404, "event_not_found")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "session_id"),
        ({"session_id": "s", "sections": ["persona"]}, "source"),
        ({"session_id": "s", "source": "startup"}, "sections"),
        ({"session_id": "s", "source": "startup", "sections": ["secrets"]}, "sections.0"),
        ({"session_id": "s", "source": "startup", "sections": []}, "sections"),
        ({"projection_id": ""}, "projection_id"),
    ],
)
async def test_a_session_that_does_not_say_what_it_wants_gets_nothing(
    api: Api, body: dict[str, Any], path: str
) -> None:
    bridge = await seated(api)
    answer = await bridge.post("session-start", body)
    assert (answer.status, answer.json["errors"][0]["path"]) == (422, path)


async def test_lists_say_who_drives(api: Api) -> None:
    bridge = await seated(api)

    async def driver() -> dict[str, Any]:
        [row] = (await api.get("/v1/conversations")).json["conversations"]
        one = (await api.get(HERE)).json
        assert row == one
        found: dict[str, Any] = row["driver"]
        return found

    assert await driver() == {"kind": "service"}
    async with asyncio.TaskGroup() as tasks:
        polling = tasks.create_task(bridge.ask(wait=5))
        await api.hall.clock.settle()
        found = await driver()
        assert (found["kind"], found["seat"], found["state"]) == ("seat", bridge.seat, "live")
        await api.hall.clock.advance(6)
        assert polling.done()
    assert (await driver())["hold_until"] > (await driver())["last_ask"]
    await api.hall.clock.advance(60)
    assert await driver() == {"kind": "service"}


async def test_the_feed_says_when_a_seat_begins_to_drive(api: Api) -> None:
    bridge = await seated(api)
    async with api.stream("/v1/feed") as feed:
        assert (await feed.event()).data["driver"] == {"kind": "service"}
        await bridge.poll()
        await api.hall.clock.advance(1)
        driver = (await feed.event()).data["driver"]
        assert (driver["kind"], driver["seat"], driver["harness"]) == (
            "seat",
            bridge.seat,
            "claude",
        )


async def test_a_seat_that_was_let_go_hears_no_more_of_the_conversation(api: Api) -> None:
    # proves: SEAT-1
    bridge = await seated(api)
    async with api.stream(f"{HERE}/events", token=bridge.token) as stream:
        assert (await stream.event()).data["code"] == "seat_attached"
        await api.ask("DELETE", f"{bridge.path}/attachment")
        await api.send("not for the seat", "m-1")
        await stream.end()
        heard = [one.data.get("text", "") for one in await stream.rest()]
    assert "not for the seat" not in heard
