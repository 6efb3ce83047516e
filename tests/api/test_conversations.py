"""Conversations over HTTP."""

import asyncio

import pytest

from api.kit import HERE, Api
from clankie.core.conversation import Principal
from clankie.core.ids import HEAD
from clankie.host.ports import LaneResult, TurnHost, TurnRequest
from fakes.lane import waits

LIST = "/v1/conversations"


async def make(api: Api, name: str = "side", request: str = "r-1") -> str:
    body = {"request_id": request, "name": name, "kind": "global"}
    answer = await api.post(LIST, body)
    assert answer.status in {200, 201}
    return str(answer.json["id"])


async def running(api: Api, name: str = "m-1") -> asyncio.Event:
    """Start a turn that goes on until the event is set."""
    begun, held = asyncio.Event(), asyncio.Event()

    async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
        begun.set()
        return await waits(held)(request, host)

    api.hall.lane.plays(play)
    await api.send("go", name)
    await begun.wait()
    return held


async def test_the_head_is_there_from_the_start(api: Api) -> None:
    # proves: CONV-1
    found = (await api.get(LIST)).json["conversations"]
    assert [one["id"] for one in found] == [HEAD]
    assert found[0]["driver"] == {"kind": "service"}
    assert (found[0]["revision"], found[0]["cursor"], found[0]["state"]) == (0, 0, "idle")
    assert (await api.get(HERE)).json == found[0]


async def test_a_conversation_is_made_once_for_each_request(api: Api) -> None:
    # proves: CONV-1
    body = {"request_id": "r-1", "name": "side", "kind": "global"}
    first, again = await api.post(LIST, body), await api.post(LIST, body)
    assert (first.status, again.status) == (201, 200)
    assert first.json["id"] == again.json["id"]
    other = await api.post(LIST, {**body, "name": "other"})
    assert (other.status, other.code) == (409, "delivery_conflict")


async def test_a_workspace_has_a_directory_and_nothing_else_has(api: Api) -> None:
    body = {"request_id": "r-1", "name": "code", "kind": "workspace", "directory": str(api.home)}
    made = await api.post(LIST, body)
    assert made.status == 201
    assert made.json["directory"] == str(api.home)
    for wrong in ({"directory": None}, {"directory": "code"}, {"kind": "global"}):
        answer = await api.post(LIST, {**body, "request_id": "r-2", **wrong})
        assert (answer.status, answer.json["errors"][0]["path"]) == (422, "directory")


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"name": "x" * 81},
        {"name": "a\nb"},
        {"name": "   "},
        {"kind": "room"},
        {"kind": "lead"},
        {"request_id": "a b"},
        {"request_id": ""},
    ],
)
async def test_a_new_conversation_that_is_wrong_is_not_made(
    api: Api, change: dict[str, str]
) -> None:
    body = {"request_id": "r-1", "name": "side", "kind": "global", **change}
    answer = await api.post(LIST, body)
    assert (answer.status, answer.code) == (422, "invalid_field")
    assert answer.json["errors"][0]["path"] == next(iter(change))
    assert len((await api.get(LIST)).json["conversations"]) == 1


async def test_a_name_is_changed_by_who_saw_the_latest_revision(api: Api) -> None:
    side = await make(api)
    path = f"{LIST}/{side}"
    renamed = await api.ask("PATCH", path, {"name": "new", "expected_revision": 0})
    assert (renamed.json["name"], renamed.json["revision"]) == ("new", 1)
    stale = await api.ask("PATCH", path, {"name": "newer", "expected_revision": 0})
    assert (stale.status, stale.code, stale.json["revision"]) == (409, "revision_conflict", 1)


async def test_a_closed_conversation_can_be_read_and_nothing_else(api: Api) -> None:
    # proves: CONV-2
    side = await make(api)
    path = f"{LIST}/{side}"
    assert (await api.ask("DELETE", path)).json["state"] == "closed"
    assert (await api.get(path)).json["state"] == "closed"
    assert (await api.get(f"{path}/events")).status == 200
    for state, there in (("open", False), ("closed", True), ("all", True)):
        found = (await api.get(f"{LIST}?state={state}")).json["conversations"]
        assert (side in [one["id"] for one in found]) is there
    renamed = await api.ask("PATCH", path, {"name": "new", "expected_revision": 1})
    assert (renamed.status, renamed.code) == (410, "conversation_closed")


async def test_closing_ends_what_waits(api: Api) -> None:
    side = await make(api)
    api.hall.house.captain._stopping.set()
    await api.send("waits", "m-1", here=f"{LIST}/{side}")
    await api.ask("DELETE", f"{LIST}/{side}")
    receipt = (await api.get("/v1/deliveries/m-1")).json
    assert (receipt["state"], receipt["code"]) == ("not_sent", "conversation_closed")


async def test_the_head_cannot_be_closed(api: Api) -> None:
    answer = await api.ask("DELETE", HERE)
    assert (answer.status, answer.code) == (403, "not_allowed")


async def test_nothing_is_closed_or_reset_while_it_runs(api: Api) -> None:
    held = await running(api)
    reset = await api.post(f"{HERE}/reset", {"expected_revision": 1})
    assert (reset.status, reset.code) == (409, "run_in_progress")
    held.set()
    await api.settled("m-1")
    assert (await api.post(f"{HERE}/reset", {"expected_revision": 1})).status == 200


async def test_a_reset_is_a_marker_and_the_projection_begins_after_it(api: Api) -> None:
    # proves: CONV-7
    await api.send("before", "m-1")
    await api.settled("m-1")
    reset = await api.post(f"{HERE}/reset", {"expected_revision": 1})
    assert (reset.status, reset.json["revision"]) == (200, 2)
    await api.send("after", "m-2")
    await api.settled("m-2")
    shown = (await api.get(f"{HERE}/projection")).json
    assert [one["text"] for one in shown["entries"]] == ["after", "re: after"]
    assert "before" not in shown["text"]
    log = (await api.get(f"{HERE}/events")).json["events"]
    assert [one["text"] for one in log if one.get("role") == "owner"] == ["before", "after"]


async def test_the_projection_keeps_to_its_budget(api: Api) -> None:
    # proves: CONV-6
    for number in range(6):
        await api.send(f"{number}" * 900, f"m-{number}")
    await api.settled("m-5")
    small = (await api.get(f"{HERE}/projection?budget=2500")).json
    assert len(small["text"]) <= 2_500
    assert small["omitted"] > 0
    assert small["entries"][-1]["text"] == "re: " + "5" * 900
    for budget in (999, 200_001):
        assert (await api.get(f"{HERE}/projection?budget={budget}")).status == 422


async def test_a_prompt_is_plain_text_and_moves_nothing(api: Api) -> None:
    # proves: HAND-2
    await api.send("remember the milk", "m-1")
    await api.settled("m-1")
    before = (await api.get(HERE)).json
    answer = await api.get(f"{HERE}/prompt?sections=persona,conversation")
    assert answer.headers["content-type"].startswith("text/plain")
    assert b"Clankie" in answer.raw
    assert b"remember the milk" in answer.raw
    assert (await api.get(HERE)).json == before
    unknown = await api.get(f"{HERE}/prompt?sections=persona,secrets")
    assert (unknown.status, unknown.json["errors"][0]["path"]) == (422, "sections")


async def test_what_waits_is_cancelled_and_what_runs_is_asked_to_end(api: Api) -> None:
    held = await running(api)
    await api.send("waits", "m-2")
    waiting = (await api.post(f"{HERE}/cancel", {"delivery_id": "m-2"})).json
    assert (waiting["outcome"], waiting["delivery"]["state"]) == ("cancelled", "cancelled")
    asked = (await api.post(f"{HERE}/cancel")).json
    assert (asked["outcome"], asked["delivery"]["id"]) == ("requested", "m-1")
    await api.settled("m-1")
    assert (await api.get("/v1/deliveries/m-1")).json["state"] == "cancelled"
    nothing = (await api.ask("POST", f"{HERE}/cancel")).json
    assert nothing == {"outcome": "nothing_to_cancel"}
    held.set()


async def test_only_a_delivery_of_the_conversation_is_cancelled_there(api: Api) -> None:
    side = await make(api)
    await api.send("here", "m-1")
    answer = await api.post(f"{LIST}/{side}/cancel", {"delivery_id": "m-1"})
    assert (answer.status, answer.code) == (404, "delivery_not_found")
    wrong = await api.post(f"{HERE}/cancel", {"delivery_id": "a b"})
    assert wrong.status == 422


async def test_what_goes_down_makes_nothing_new(api: Api) -> None:
    side = await make(api)
    api.hall.house.stopping = True
    for method, path, body in (
        ("POST", LIST, {"request_id": "r-9", "name": "late", "kind": "global"}),
        ("PATCH", f"{LIST}/{side}", {"name": "late", "expected_revision": 0}),
        ("DELETE", f"{LIST}/{side}", None),
        ("POST", f"{LIST}/{side}/reset", {"expected_revision": 0}),
    ):
        answer = await api.ask(method, path, body)
        assert (answer.status, answer.code) == (503, "service_shutting_down")
        assert "retry-after" in answer.headers


async def test_a_device_reads_and_sends_but_does_not_rearrange(api: Api) -> None:
    # proves: CONV-2
    device = await api.token(Principal.DEVICE)
    assert (await api.get(LIST, token=device)).status == 200
    assert (await api.send("hello", "m-1", token=device)).status == 202
    answer = await api.post(f"{HERE}/reset", {"expected_revision": 1}, token=device)
    assert (answer.status, answer.code) == (403, "not_allowed")
