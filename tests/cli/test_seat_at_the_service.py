"""A pump at the real service: a harness of a test drives a conversation from end to end."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from clankie.cli.client import Client
from clankie.cli.wire import find
from clankie.core.seat import Activity, Entry, EntryKind, Evidence, Proof, delivery_uuid
from clankie.host.clock import SystemClock, SystemIds
from clankie.seats import registration
from clankie.seats.folder import Folder, made
from clankie.seats.journal import Journal
from clankie.seats.port import Observation, Seen
from clankie.seats.registration import Arrival, register
from clankie.seats.relay import Relay
from clankie.seats.running import Tools, pumped
from clankie.seats.wire import capabilities_to_json
from cli.conftest import Run
from fakes.harness import FakeHarness

pytestmark = pytest.mark.anyio


@pytest.fixture
def client(home: Path) -> Client:
    assert home.exists()
    return Client(find(None))


@pytest.fixture
def conversation(client: Client) -> str:
    name = os.urandom(4).hex()
    body = {"request_id": name, "name": f"seat {name}", "kind": "global"}
    return str(client.post("/v1/conversations", body)["id"])


@pytest.fixture
def folder(home: Path, client: Client, conversation: str) -> Iterator[Folder]:
    """A seat of this process, registered."""
    body = {"harness": "claude", "conversation": conversation}
    grant = client.post("/v1/seats/grants", body)
    found = made(str(home), f"seat-{conversation}")
    harness = FakeHarness()
    capabilities = capabilities_to_json(harness.declaration.capabilities)
    found.write("grant.json", {**grant, "harness": "claude", "capabilities": capabilities})
    register(found, Arrival(session_id=f"native-{conversation}", pid=os.getpid()))
    yield found
    seated = registration.seated(found)
    assert seated is not None
    client.delete(f"/v1/seats/{seated.seat}")


@asynccontextmanager
async def pumping(folder: Folder, harness: FakeHarness, log: list[str]) -> AsyncIterator[None]:
    tools = Tools(
        clock=SystemClock(), ids=SystemIds(), jitter=lambda: 0.5, say=log.append, environment={}
    )
    async with asyncio.TaskGroup() as group:
        task = group.create_task(pumped(folder, harness, Journal(folder, tools.clock), tools))
        yield
        task.cancel()


async def asked(client: Client, path: str, **query: Any) -> Any:
    return await asyncio.to_thread(client.get, path, **query)


async def live(client: Client, conversation: str) -> dict[str, Any]:
    """The conversation, once its seat listens."""
    while True:
        found = await asked(client, f"/v1/conversations/{conversation}")
        if found["driver"]["kind"] == "seat" and found["driver"]["state"] == "live":
            return dict(found)


# proves: SEAT-3, SEAT-4
async def test_a_message_reaches_the_harness_and_its_answer_the_log(
    client: Client, conversation: str, folder: Folder
) -> None:
    harness, log = FakeHarness(), list[str]()
    delivery = f"m-{conversation}"
    async with pumping(folder, harness, log):
        await live(client, conversation)
        body = {"delivery_id": delivery, "text": "What time is it?"}
        path = f"/v1/conversations/{conversation}/inputs"
        await asyncio.to_thread(client.post, path, body)
        while not harness.given:
            await asked(client, "/v1/health")
        session, at = f"native-{conversation}", SystemClock().now()
        uuid = delivery_uuid(delivery, 1)
        proof = Evidence(event=delivery, attempt=1, proof=Proof.UUID, value=uuid)
        rows = [
            Entry(id=uuid, kind=EntryKind.USER, at=at, text="What time is it?", evidence=proof),
            Entry(id="a-1", kind=EntryKind.ASSISTANT, at=at, text="Noon."),
        ]
        seen = Observation(session_id=session, entries=rows, activity=Activity.WAITING)
        harness.show(Seen(observation=seen))
        receipt = await asked(client, f"/v1/deliveries/{delivery}", wait=20)
    assert harness.given == [(delivery, 1)]
    receipt = receipt.get("delivery", receipt)
    assert receipt["state"] == "settled", (receipt, log)
    [attempt] = receipt["attempts"]
    assert attempt["destination"]["kind"] == "seat"
    events = (await asked(client, f"/v1/conversations/{conversation}/events"))["events"]
    said = [(one["role"], one["text"]) for one in events if one["kind"] == "message"]
    assert said == [("owner", "What time is it?"), ("agent", "Noon.")]


async def test_a_seats_tools_are_reached_through_the_bridges_relay(
    client: Client, conversation: str, folder: Folder
) -> None:
    relay = Relay(folder)
    names = {one.name for one in await relay.tools()}
    assert {"reply", "get_self_state", "read_conversation", "schedule_wake", "watch"} <= names
    answer = await relay.call("get_self_state", {})
    assert not answer.is_error
    assert conversation in json.dumps(answer.model_dump(mode="json"))
    assert client.address.token not in json.dumps(answer.model_dump(mode="json"))


def test_seats_are_listed_attached_and_detached(
    run: Run, client: Client, conversation: str, folder: Folder
) -> None:
    seated = registration.seated(folder)
    assert seated is not None
    listed = [one["seat"] for one in run("seat", "list", "--json").json["seats"]]
    assert seated.seat in listed
    assert seated.seat in run("seat", "list").out
    other = client.post(
        "/v1/conversations",
        {"request_id": f"o-{conversation}", "name": f"other {conversation}", "kind": "global"},
    )["id"]
    moved = run("seat", "attach", seated.seat, other, "--json")
    assert (moved.code, moved.json["conversation"]) == (0, other)
    afresh = " ".join(run("conversations", "reset", other).out.split())
    assert "/clear in Claude Code, /new in Codex" in afresh
    left = run("seat", "detach", seated.seat)
    assert (left.code, "drives nothing" in left.out) == (0, True)
    assert "/clear" not in run("conversations", "reset", other).out
    gone = run("seat", "attach", "s-nobody", other)
    assert gone.code == 1
    assert "seat_not_found" in gone.err


def test_a_seat_whose_session_belongs_to_another_conversation_needs_a_new_one(
    run: Run, client: Client, conversation: str, folder: Folder
) -> None:
    seated = registration.seated(folder)
    assert seated is not None
    row = {"id": "r-1", "kind": "assistant", "text": "I was here.", "at": "2026-11-30T12:00:00Z"}
    body = {"session_id": seated.session_id, "entries": [row]}
    registration.post(folder, f"/v1/seats/{seated.seat}/transcript", body, token=seated.token)
    asked = {"request_id": f"n-{conversation}", "name": f"next {conversation}", "kind": "global"}
    other = client.post("/v1/conversations", asked)["id"]
    assert run("seat", "attach", seated.seat, other).code == 0
    shown = run("seat", "list").out
    assert "needs a new session" in " ".join(shown.split())
    assert "usage limit" not in shown
    begun = {"session_id": f"{seated.session_id}-2", "source": "clear", "sections": ["persona"]}
    registration.post(folder, f"/v1/seats/{seated.seat}/session-start", begun, token=seated.token)
    assert "needs a new session" not in " ".join(run("seat", "list").out.split())
