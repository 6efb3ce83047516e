"""What a seat says of its events over HTTP, what it syncs, and what it asks its owner."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from api.bridge import SESSION, Bridge, seated
from api.kit import BASE, HERE, Api
from clankie.api.seat_bodies import ENTRIES
from clankie.core.admission import Origin
from clankie.core.conversation import Author, Principal, timestamp
from clankie.core.seat import ROW, delivery_uuid
from clankie.host import tokens


async def given(api: Api, bridge: Bridge, text: str = "hello", name: str = "m-1") -> dict[str, Any]:
    """An owner's message, in a page of this seat."""
    await bridge.poll()
    await api.send(text, name)
    [event] = await bridge.events()
    return event


async def escalated(api: Api, bridge: Bridge, name: str = "e-1") -> dict[str, Any]:
    """Words of a channel that want an answer."""
    await bridge.poll()
    await api.hall.send(
        "what is up?",
        name,
        origin=Origin.ESCALATION,
        author=Author(Principal.CAPTAIN, "discord-main"),
    )
    [event] = await bridge.events()
    assert event["reply"]
    return event


def row(api: Api, number: int, kind: str = "user", **more: Any) -> dict[str, Any]:
    at = timestamp(api.hall.clock.now() + timedelta(seconds=number))
    return {"id": f"row-{number}", "kind": kind, "text": f"line {number}", "at": at, **more}


# ── acknowledge, refuse, reply ───────────────────────────────────────────────────────────────────


async def test_an_acknowledgement_says_it_once_and_may_say_it_again(api: Api) -> None:
    # proves: SEAT-4
    bridge = await seated(api)
    event = await given(api, bridge)
    for _ in range(2):
        answer = await bridge.say(event, "ack")
        assert (answer.status, answer.json) == (200, {"state": "taken"})
    late = await bridge.say(event, "refuse", reason="too late")
    assert (late.status, late.code) == (409, "transition_refused")
    wrong = await bridge.say({**event, "attempt": 7}, "ack")
    assert (wrong.status, wrong.code) == (404, "event_not_found")
    for name in ("m-9", "device-x/m-9", "h-none"):
        unknown = await bridge.say({**event, "id": name}, "ack")
        assert (unknown.status, unknown.code) == (404, "event_not_found")


async def test_what_is_refused_runs_on_the_service_lane_once(api: Api) -> None:
    # proves: FENCE-5
    bridge = await seated(api)
    event = await given(api, bridge)
    answer = await bridge.say(event, "refuse", reason="a dialog is open")
    assert answer.json == {"state": "refused"}
    await api.settled("m-1")
    receipt = (await api.get("/v1/deliveries/m-1")).json
    kinds = [one["destination"]["kind"] for one in receipt["attempts"]]
    assert (receipt["state"], kinds) == ("settled", ["seat", "service"])


async def test_an_answer_is_published_once(api: Api) -> None:
    # proves: SEAT-3
    bridge = await seated(api)
    event = await escalated(api, bridge)
    for _ in range(2):
        answer = await bridge.say(event, "reply", text="all well")
        assert (answer.status, answer.json) == (200, {"state": "replied"})
    other = await bridge.say(event, "reply", text="not well")
    assert (other.status, other.code) == (409, "delivery_conflict")
    assert (await api.hall.said()).count("all well") == 1


async def test_what_wants_no_answer_gets_none(api: Api) -> None:
    bridge = await seated(api)
    event = await given(api, bridge)
    answer = await bridge.say(event, "reply", text="hi")
    assert (answer.status, answer.code) == (409, "transition_refused")
    assert await api.hall.said() == []


@pytest.mark.parametrize(
    ("what", "change", "path"),
    [
        ("ack", {"binding": "me"}, "binding"),
        ("ack", {"attempt": 0}, "attempt"),
        ("ack", {"attempt": "1"}, "attempt"),
        ("refuse", {}, "reason"),
        ("refuse", {"reason": ""}, "reason"),
        ("reply", {"text": ""}, "text"),
        ("reply", {"text": " \n"}, "text"),
        ("reply", {"text": "x" * 65_537}, "text"),
    ],
)
async def test_what_cannot_be_said_changes_nothing(
    api: Api, what: str, change: dict[str, Any], path: str
) -> None:
    bridge = await seated(api)
    event = await given(api, bridge)
    answer = await bridge.say(event, what, **change)
    assert (answer.status, answer.json["errors"][0]["path"]) == (422, path)
    assert (await bridge.say(event, "ack")).json == {"state": "taken"}


# ── the transcript ───────────────────────────────────────────────────────────────────────────────


async def test_rows_stand_in_the_log_once_as_words_of_the_seat(api: Api) -> None:
    # proves: SEC-4
    bridge = await seated(api)
    rows = [row(api, 1), row(api, 2, "assistant")]
    assert (await bridge.sync(*rows)).json == {"accepted": 2, "duplicates": 0}
    assert (await bridge.sync(*rows, row(api, 3))).json == {"accepted": 1, "duplicates": 2}
    log = [one for one in await api.hall.log() if one["kind"] == "message"]
    assert [(one["role"], one["text"]) for one in log] == [
        ("external", "line 1"),
        ("agent", "line 2"),
        ("external", "line 3"),
    ]
    assert {(one["author"]["principal"], one["author"]["id"]) for one in log} == {
        ("seat", bridge.seat)
    }


async def test_exact_evidence_proves_a_delivery_and_equal_words_do_not(api: Api) -> None:
    # proves: SEC-4, FENCE-7
    bridge = await seated(api)
    event = await given(api, bridge)
    proof = {"event": "m-1", "attempt": 1, "proof": "uuid", "value": "not-ours"}
    await bridge.sync(row(api, 1, text="hello", delivery_evidence=proof))
    receipt = (await api.get("/v1/deliveries/m-1")).json
    assert receipt["attempts"][0]["state"] == "attempting"
    proof["value"] = delivery_uuid("m-1", event["attempt"])
    await bridge.sync(row(api, 2, text="hello", delivery_evidence=proof))
    receipt = (await api.get("/v1/deliveries/m-1")).json
    assert receipt["attempts"][0]["state"] == "accepted"


async def test_an_end_of_a_moment_before_the_message_ends_nothing_of_it(api: Api) -> None:
    # proves: SEAT-15
    bridge = await seated(api)
    event = await given(api, bridge)
    value = delivery_uuid("m-1", event["attempt"])
    proof = {"event": "m-1", "attempt": 1, "proof": "uuid", "value": value}
    await bridge.sync(row(api, 1, text="hello", delivery_evidence=proof), activity="responding")
    said = row(api, 2, "assistant", text="let me see")
    await bridge.sync(said, activity="waiting", activity_at="2020-01-01T00:00:00+01:00")
    assert (await api.get("/v1/deliveries/m-1")).json["state"] == "running"
    odd = await bridge.sync(activity="waiting", activity_at="at noon")
    assert (odd.status, odd.json["errors"][0]["path"]) == (422, "activity_at")
    await bridge.sync(activity="waiting", activity_at=said["at"])
    assert (await api.get("/v1/deliveries/m-1")).json["state"] == "settled"


async def test_an_end_that_the_harness_reports_ends_the_message(api: Api) -> None:
    # proves: FENCE-8
    bridge = await seated(api, interrupt=True)
    event = await given(api, bridge)
    value = delivery_uuid("m-1", event["attempt"])
    proof = {"event": "m-1", "attempt": 1, "proof": "uuid", "value": value}
    await bridge.sync(row(api, 1, text="hello", delivery_evidence=proof), activity="responding")
    asked = await api.post("/v1/conversations/global-default/cancel", {"delivery_id": "m-1"})
    assert asked.json["outcome"] == "requested"
    await bridge.sync(row(api, 2, "error", text="", code="interrupted"), activity="waiting")
    receipt = (await api.get("/v1/deliveries/m-1")).json
    assert (receipt["state"], receipt["code"]) == ("cancelled", "interrupted")
    assert (receipt["attempts"][0]["state"], receipt["attempts"][0]["code"]) == (
        "failed",
        "interrupted",
    )
    # One of no turn is words in the log.
    late = row(api, 3, "error", text="API Error: 500", code="api_error")
    assert (await bridge.sync(late)).json == {"accepted": 1, "duplicates": 0}
    assert [one["text"] for one in await api.hall.log() if one["kind"] == "message"][-1] == (
        "API Error: 500"
    )


async def test_long_words_are_cut_and_say_so(api: Api) -> None:
    bridge = await seated(api)
    await bridge.sync(row(api, 1, text="x" * (ROW + 1)), row(api, 2, text="y" * ROW))
    cut, whole = [one["text"] for one in await api.hall.log() if one["kind"] == "message"]
    assert len(cut) == ROW
    assert cut.endswith(f"[cut here: {ROW + 1} characters in the harness]")
    assert whole == "y" * ROW


async def test_the_operator_may_sync_and_nobody_else_but_the_seat(api: Api) -> None:
    # proves: SEAT-1
    bridge = await seated(api)
    body = {"session_id": SESSION, "entries": [row(api, 1)]}
    path = f"{bridge.path}/transcript"
    assert (await api.post(path, body)).json == {"accepted": 1, "duplicates": 0}
    for principal in (Principal.DEVICE, Principal.WORKER, Principal.METRICS):
        answer = await api.post(path, body, token=await api.token(principal))
        assert (answer.status, answer.code) == (403, "not_allowed")
    assert (await api.post(path, body, token=None)).status == 401
    assert (await api.post("/v1/seats/s-none/transcript", body)).code == "seat_not_found"


async def test_a_session_of_another_conversation_is_refused(api: Api) -> None:
    bridge = await seated(api)
    await bridge.sync(row(api, 1))
    other = await seated(api, await api.hall.make("side"), "session-2")
    answer = await other.sync(row(api, 2))
    assert (answer.status, answer.code) == (409, "session_conflict")


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"kind": "thought"}, "entries.0.kind"),
        ({"id": ""}, "entries.0.id"),
        ({"at": "yesterday"}, "entries.0.at"),
        ({"at": "2026-11-30T10:00:00"}, "entries.0.at"),
        ({"at": "9999-12-31T23:59:59-23:00"}, "entries.0.at"),
        ({"at": 1_700_000_000}, "entries.0.at"),
        ({"text": 7}, "entries.0.text"),
        ({"text": "a\0b"}, "entries.0.text"),
        ({"tool": {"name": "Bash", "phase": "thinking"}}, "entries.0.tool.phase"),
        ({"kind": "error", "code": "tired"}, "entries.0.code"),
        ({"limit": {"window": "five_hour"}}, "entries.0.limit.occurred_at"),
        ({"delivery_evidence": {"event": "m-1", "attempt": 1, "proof": "hope"}}, "entries.0."),
    ],
)
async def test_a_row_that_cannot_be_is_refused_and_none_is_taken(
    api: Api, change: dict[str, Any], path: str
) -> None:
    # proves: SEC-11
    bridge = await seated(api)
    answer = await bridge.sync({**row(api, 1), **change}, row(api, 2))
    assert (answer.status, answer.code) == (422, "invalid_field")
    assert answer.json["errors"][0]["path"].startswith(path)
    assert [one for one in await api.hall.log() if one["kind"] == "message"] == []


async def test_a_batch_is_bounded(api: Api) -> None:
    # proves: SEC-11
    bridge = await seated(api)
    many = [row(api, number) for number in range(ENTRIES + 1)]
    answer = await bridge.sync(*many)
    assert (answer.status, answer.json["errors"][0]["path"]) == (422, "entries")
    assert (await bridge.sync(*many[:-1])).json["accepted"] == ENTRIES
    large = [row(api, 200 + number, text="x" * 16_000) for number in range(60)]
    refused = await bridge.sync(*large)
    assert (refused.status, refused.code) == (413, "body_too_large")
    assert refused.json["limit"] == 786_432


async def test_a_tool_of_the_harness_stands_in_the_log(api: Api) -> None:
    bridge = await seated(api)
    tool = {"name": "Bash", "call_id": "c-1", "phase": "started", "detail": "ls"}
    assert (await bridge.sync(row(api, 1, "tool", text="", tool=tool))).json["accepted"] == 1
    [found] = [one for one in await api.hall.log() if one["kind"] == "tool"]
    assert (found["name"], found["phase"]) == ("Bash", "started")


# ── approvals ────────────────────────────────────────────────────────────────────────────────────


async def test_a_question_is_asked_once_and_its_answer_comes_with_a_poll(api: Api) -> None:
    bridge = await seated(api)
    asked = {"id": "q-1", "summary": "Run rm?", "detail": "rm -r build"}
    first = await bridge.post("approvals", asked)
    assert (first.status, first.json["state"]) == (201, "pending")
    assert (await bridge.post("approvals", asked)).json == first.json
    # It never polled, so nobody knows whether it still waits for an answer.
    assert (await api.get("/v1/approvals")).json == [{**first.json, "unwatched": True}]
    answer = {"decision": "deny", "expected_state": "pending"}
    async with asyncio.TaskGroup() as tasks:
        polling = tasks.create_task(bridge.ask(wait=30))
        await api.hall.clock.settle()
        decided = await api.post("/v1/approvals/q-1", answer)
    assert decided.json["state"] == "denied"
    assert polling.result().json["decisions"] == [{"approval": "q-1", "decision": "deny"}]
    again = await api.post("/v1/approvals/q-1", answer)
    assert (again.status, again.code) == (409, "transition_refused")
    unknown = await api.post("/v1/approvals/q-9", answer)
    assert (unknown.status, unknown.code) == (404, "approval_not_found")


async def test_a_seat_withdraws_its_question(api: Api) -> None:
    bridge = await seated(api)
    await bridge.post("approvals", {"id": "q-1", "summary": "May I?"})
    for _ in range(2):
        gone = await api.ask("DELETE", f"{bridge.path}/approvals/q-1", token=bridge.token)
        assert gone.status == 204
    assert (await api.get("/v1/approvals")).json[0]["state"] == "withdrawn"


async def test_only_the_owner_answers_a_question(api: Api) -> None:
    bridge = await seated(api)
    await bridge.post("approvals", {"id": "q-1", "summary": "May I?"})
    answer = {"decision": "approve", "expected_state": "pending"}
    for secret in (bridge.token, await api.token(Principal.DEVICE)):
        assert (await api.post("/v1/approvals/q-1", answer, token=secret)).status == 403
    assert (await api.get("/v1/approvals")).json[0]["state"] == "pending"
    for body in ({**answer, "decision": "maybe"}, {**answer, "expected_state": "denied"}):
        assert (await api.post("/v1/approvals/q-1", body)).status == 422


# ── an owner's message from end to end ───────────────────────────────────────────────────────────


@pytest.mark.parametrize("principal", [Principal.OPERATOR, Principal.DEVICE])
async def test_an_owners_message_reaches_the_harness_and_its_answer_the_log(
    api: Api, principal: Principal
) -> None:
    # proves: FENCE-2, SEAT-3
    bridge, secret = await seated(api), await api.token(principal)
    await bridge.poll()
    sent = (await api.send("hello", "m-1", token=secret)).json["delivery"]["id"]
    [event] = await bridge.events()
    assert (event["id"], event["kind"], event["content"]) == (sent, "turn", "hello")
    assert (event["reply"], event["attribution"]["principal"]) == (False, principal)
    await bridge.say(event, "ack")
    assert (await bridge.say(event, "reply", text="hi")).code == "transition_refused"
    proof = {"event": sent, "attempt": 1, "proof": "uuid", "value": delivery_uuid(sent, 1)}
    await bridge.sync(row(api, 1, text="hello", delivery_evidence=proof), activity="responding")
    await bridge.sync(row(api, 2, "assistant", text="hi there"), activity="waiting")
    receipt = (await api.get(f"/v1/deliveries/{sent}")).json
    assert (receipt["state"], receipt["attempts"][0]["state"]) == ("settled", "delivered")
    page = (await api.get(f"{HERE}/events")).json["events"]
    said = [(one["role"], one["text"]) for one in page if one["kind"] == "message"]
    assert said == [("owner", "hello"), ("agent", "hi there")]
    assert api.hall.lane.asked == []


async def test_of_two_who_send_at_once_at_one_revision_one_reaches_the_seat(api: Api) -> None:
    # proves: CONV-5
    bridge = await seated(api)
    await bridge.poll()
    revision = (await api.get(HERE)).json["revision"]
    async with asyncio.TaskGroup() as tasks:
        both = [
            tasks.create_task(api.send(name, name, fields={"expected_revision": revision}))
            for name in ("m-1", "m-2")
        ]
    answers = sorted((one.result().status, one.result().json.get("code")) for one in both)
    assert answers == [(202, None), (409, "revision_conflict")]
    assert len(await bridge.events()) == 1
    assert len([one for one in await api.hall.log() if one.get("role") == "owner"]) == 1


async def test_a_token_that_is_revoked_while_it_sends_admits_nothing(api: Api) -> None:
    bridge, secret = await seated(api), await api.token(Principal.DEVICE)
    await bridge.poll()
    device = api.hall.house.tokens.who(secret)
    assert device is not None

    async def body() -> AsyncIterator[bytes]:
        yield b'{"delivery_id": "m-1", '
        await tokens.revoke(api.hall.house, device.id)
        yield b'"text": "hello"}'

    head = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
    transport = httpx2.ASGITransport(api.app)
    async with httpx2.AsyncClient(transport=transport, base_url=BASE) as client:
        answer = await client.post(f"{HERE}/inputs", content=body(), headers=head)
    assert (answer.status_code, answer.json()["code"]) == (401, "token_unknown")
    assert (await bridge.events(), (await api.get("/v1/deliveries")).json["deliveries"]) == ([], [])
