"""The poll of a seat over HTTP: parked, superseded, broken off, revoked, shut down."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from api.bridge import BINDING, OTHER, Bridge, seated
from api.kit import Answer, Api, until
from api.sockets import Line, Served
from clankie.core.conversation import Principal
from fakes.trouble import Trouble, pause_before


async def test_a_parked_poll_brings_what_arrives(api: Api) -> None:
    # proves: SEAT-3, SEAT-4, FENCE-2
    bridge = await seated(api)
    async with asyncio.TaskGroup() as tasks:
        polling = tasks.create_task(bridge.ask(wait=30))
        await api.hall.clock.settle()
        assert not polling.done()
        await api.send("hello", "m-1")
    [event] = polling.result().json["events"]
    assert (event["id"], event["kind"], event["content"]) == ("m-1", "turn", "hello")
    assert (event["reply"], event["steer"], event["attempt"]) == (False, False, 1)
    assert event["attribution"]["principal"] == "operator"
    assert set(event) >= {"source", "created_at", "deadline", "conversation", "generation"}
    receipt = (await api.get("/v1/deliveries/m-1")).json
    [attempt] = receipt["attempts"]
    assert attempt["destination"]["kind"] == "seat"
    assert (attempt["destination"]["seat"], attempt["state"]) == (bridge.seat, "attempting")
    assert api.hall.lane.asked == []


async def test_a_poll_waits_no_longer_than_the_setting_says(api: Api) -> None:
    # proves: SEAT-4
    bridge = await seated(api)
    async with asyncio.TaskGroup() as tasks:
        polling = tasks.create_task(bridge.ask(wait=99_999))
        await api.hall.clock.settle()
        await api.hall.clock.advance(29)
        assert not polling.done()
        await api.hall.clock.advance(2)
    assert polling.result().json == {"events": []}


async def test_the_same_poll_id_is_the_same_page(api: Api) -> None:
    # proves: FENCE-9
    bridge = await seated(api)
    await bridge.poll()
    await api.send("hello", "m-1")
    first = await bridge.poll("p-a")
    assert [one["id"] for one in first.json["events"]] == ["m-1"]
    assert (await bridge.poll("p-a")).raw == first.raw
    assert (await bridge.ask(wait=0, poll_id="p-b")).json == {"events": []}


async def test_a_newer_poll_takes_the_place_of_an_older_one(api: Api) -> None:
    # proves: SEAT-4
    bridge = await seated(api)
    newer = Bridge(api, bridge.seat, bridge.token, OTHER)
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(bridge.ask(wait=30))
        await api.hall.clock.settle()
        second = tasks.create_task(newer.ask(wait=30, poll_id="n-1"))
        await api.hall.clock.settle()
        assert first.done()
        await api.send("hello", "m-1")
    assert first.result().json == {"events": [], "superseded": True}
    [event] = second.result().json["events"]
    refused = await bridge.say(event, "ack")
    assert (refused.status, refused.code) == (409, "seat_superseded")
    assert (await newer.say(event, "ack")).json == {"state": "taken"}


@asynccontextmanager
async def parked(served: Served, bridge: Bridge, wait: float = 30) -> AsyncIterator[Line]:
    """A poll on a connection of its own, which the service has begun to serve."""
    async with served.line() as line:
        head = (
            f"GET {bridge.path}/events?{bridge.query(wait)} HTTP/1.1\r\n"
            f"Host: 127.0.0.1:{served.port}\r\nAuthorization: Bearer {bridge.token}\r\n\r\n"
        )
        await line.say(head.encode())
        desk = served.api.hall.house.desk
        await until(lambda: desk.chair(bridge.seat).asking.ask is not None)
        yield line


async def test_a_client_that_goes_away_breaks_its_poll_off(served: Served) -> None:
    # proves: SEAT-6
    bridge = await seated(served.api)
    chair = served.api.hall.house.desk.chair(bridge.seat)
    async with parked(served, bridge):
        pass
    await until(lambda: chair.asking.ask is None)
    [row] = (await served.api.get("/v1/seats")).json["seats"]
    # No binding, so no grace; the hold goes on from the last ask.
    assert "grace_until" not in row
    assert (row["state"], "hold_until" in row) == ("holding", True)


async def test_a_page_that_is_being_written_when_its_client_goes_is_kept_for_it(
    served: Served,
) -> None:
    # proves: FENCE-9
    api = served.api
    bridge = await seated(api)
    await bridge.poll()
    await api.send("hello", "m-1")
    reached, go = asyncio.Event(), asyncio.Event()
    trouble = Trouble(api.hall.house.store.mail)
    trouble.plan("take", pause_before(reached, go))
    api.hall.house.store.mail = trouble  # type: ignore[assignment]
    chair = api.hall.house.desk.chair(bridge.seat)
    async with parked(served, bridge):
        await reached.wait()
        lost = f"p-{bridge.polls}"
    await api.hall.clock.settle()
    go.set()
    await until(lambda: chair.asking.ask is None)
    [event] = await bridge.events(lost)
    assert event["id"] == "m-1"
    assert (await bridge.say(event, "ack")).json == {"state": "taken"}


async def test_a_completed_poll_leaves_its_binding_for_the_grace(api: Api) -> None:
    # proves: SEAT-6
    bridge = await seated(api)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(bridge.ask(wait=1))
        await api.hall.clock.settle()
        await api.hall.clock.advance(2)
    [row] = (await api.get("/v1/seats")).json["seats"]
    assert row["grace_until"] < row["hold_until"]


async def test_a_shutdown_ends_a_poll_and_its_connection(served: Served) -> None:
    bridge = await seated(served.api)
    async with parked(served, bridge) as line:
        await served.api.hall.house.captain.stop()
        answer = await line.all()  # to its end: the connection is closed
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503")
    assert b"retry-after: 5" in head
    assert b"connection: close" in head
    assert b'"code":"service_shutting_down"' in body


async def test_a_token_that_is_revoked_ends_the_poll_it_opened(api: Api) -> None:
    bridge = await seated(api)
    token = api.hall.house.tokens.who(bridge.token)
    assert token is not None
    async with asyncio.TaskGroup() as tasks:
        polling = tasks.create_task(bridge.ask(wait=30))
        await api.hall.clock.settle()
        assert (await api.ask("DELETE", f"/v1/tokens/{token.id}")).status == 204
    answer: Answer = polling.result()
    assert (answer.status, answer.code) == (401, "token_unknown")
    await api.send("hello", "m-1")
    # Within its hold the seat keeps what comes, but nothing was given out.
    [attempt] = (await api.get("/v1/deliveries/m-1")).json["attempts"]
    assert attempt["state"] == "offered"


async def test_a_retired_seat_ends_the_poll_that_waits(api: Api) -> None:
    bridge = await seated(api)
    async with asyncio.TaskGroup() as tasks:
        polling = tasks.create_task(bridge.ask(wait=30))
        await api.hall.clock.settle()
        assert (await api.ask("DELETE", bridge.path)).status == 204
    assert polling.result().status in {200, 401, 404}


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("poll_id=p-1", "binding"),
        ("binding=me&poll_id=p-1", "binding"),
        (f"binding={BINDING}", "poll_id"),
        (f"binding={BINDING}&poll_id=a%20b", "poll_id"),
        (f"binding={BINDING}&poll_id=p-1&wait=soon", "wait"),
        (f"binding={BINDING}&poll_id=p-1&wait=nan", "wait"),
    ],
)
async def test_a_poll_that_cannot_be_is_refused(api: Api, query: str, path: str) -> None:
    bridge = await seated(api)
    answer = await api.get(f"{bridge.path}/events?{query}", token=bridge.token)
    assert (answer.status, answer.json["errors"][0]["path"]) == (422, path)


async def test_nobody_polls_without_a_token_or_with_another(api: Api) -> None:
    bridge = await seated(api)
    path = f"{bridge.path}/events?{bridge.query()}"
    assert (await api.get(path, token=None)).status == 401
    for principal in (Principal.OPERATOR, Principal.DEVICE, Principal.WORKER):
        assert (await api.get(path, token=await api.token(principal))).status == 403


async def test_a_poll_that_does_not_wait_binds_nobody(api: Api) -> None:
    # proves: SEAT-5
    bridge = await seated(api)
    assert (await bridge.ask(wait=0)).json == {"events": []}
    [row] = (await api.get("/v1/seats")).json["seats"]
    assert row["state"] == "absent"
    await api.send("hello", "m-1")
    await api.settled("m-1")
    assert (await api.get("/v1/deliveries/m-1")).json["attempts"][0]["destination"] == {
        "kind": "service"
    }
