"""Admission over HTTP."""

import asyncio
from typing import Any

import pytest

from api.kit import HERE, Api
from clankie.core.conversation import Principal
from clankie.core.errors import (
    BackpressureError,
    ClankieError,
    CommitUnknownError,
    ReceiptsUnreadableError,
    StorageUnavailableError,
)
from clankie.host.ports import LaneResult, TurnHost, TurnRequest
from fakes.lane import fails, waits
from fakes.trouble import Trouble, lose, refuse


def troubled(api: Api) -> Trouble:
    """Put trouble before the deliveries of the store."""
    trouble = Trouble(api.hall.house.store.deliveries)
    api.hall.house.store.deliveries = trouble  # type: ignore[assignment]
    return trouble


async def test_an_accepted_message_is_on_disk_with_its_receipt(api: Api) -> None:
    # proves: FENCE-1
    answer = await api.send("hello", "m-1")
    assert answer.status == 202
    receipt = answer.json["delivery"]
    assert (receipt["id"], receipt["state"], receipt["mode"]) == ("m-1", "queued", "auto")
    assert answer.json["revision"] == 1
    assert answer.json["cursor"] >= receipt["message_cursor"]
    log = await api.hall.log()
    assert log[receipt["message_cursor"] - 1]["text"] == "hello"


async def test_the_same_message_again_is_answered_with_its_receipt(api: Api) -> None:
    # proves: FENCE-1
    await api.send("hello", "m-1")
    await api.settled("m-1")
    again = await api.send("hello\r\n", "m-1", fields={"expected_revision": 0})
    assert again.status == 200
    assert again.json["delivery"]["state"] == "settled"
    assert len(api.hall.lane.requests) == 1


async def test_one_id_sent_ten_times_at_once_is_one_input(api: Api) -> None:
    # proves: FENCE-1
    sent = await asyncio.gather(*(api.send("hello", "m-1") for _ in range(10)))
    assert sorted(one.status for one in sent) == [*[200] * 9, 202]
    await api.settled("m-1")
    assert api.hall.lane.asked == ["m-1"]
    assert [one["text"] for one in await api.hall.log() if one.get("role") == "owner"] == ["hello"]


async def test_of_two_sends_that_saw_the_same_revision_one_is_refused(api: Api) -> None:
    # proves: CONV-5
    seen = {"expected_revision": 0}
    sent = await asyncio.gather(
        api.send("one", "m-1", fields=seen), api.send("two", "m-2", fields=seen)
    )
    accepted, stale = sorted(sent, key=lambda one: one.status)
    assert (accepted.status, stale.status, stale.code) == (202, 409, "revision_conflict")
    assert stale.json["revision"] == 1
    assert stale.json["cursor"] >= 1
    assert len([one for one in await api.hall.log() if one.get("role") == "owner"]) == 1


async def test_a_devices_id_is_its_own(api: Api) -> None:
    device = await api.token(Principal.DEVICE)
    theirs = await api.send("from the phone", "m-1", token=device)
    own = await api.send("from the desk", "m-1")
    assert (theirs.status, own.status) == (202, 202)
    name = theirs.json["delivery"]["id"]
    assert name.startswith("device-")
    assert name.endswith("/m-1")
    assert (await api.get(f"/v1/deliveries/{name}")).json["id"] == name
    quoted = name.replace("/", "%2F")
    assert (await api.get(f"/v1/deliveries/{quoted}")).json["id"] == name
    author = (await api.hall.log())[0]["author"]
    assert author["principal"] == "device"


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"delivery_id": "a/b"}, "delivery_id"),
        ({"delivery_id": ""}, "delivery_id"),
        ({"delivery_id": "x" * 129}, "delivery_id"),
        ({"delivery_id": 7}, "delivery_id"),
        ({"text": ""}, "text"),
        ({"text": " \n\t"}, "text"),
        ({"text": "x" * 65_537}, "text"),
        ({"text": None}, "text"),
        ({"text": ["x"]}, "text"),
        ({"mode": "fast"}, "mode"),
        ({"mode": 1}, "mode"),
        ({"mode": ["auto"]}, "mode"),
        ({"expected_revision": -1}, "expected_revision"),
        ({"expected_revision": "1"}, "expected_revision"),
        ({"expected_revision": True}, "expected_revision"),
        ({"expected_revision": 2**53}, "expected_revision"),
        ({"retry_of": 1}, "retry_of"),
        ({"retry_of": "a b"}, "retry_of"),
        ({"attachments": "x"}, "attachments"),
    ],
)
async def test_a_field_that_is_wrong_is_named(api: Api, fields: dict[str, Any], path: str) -> None:
    # proves: SEC-11
    answer = await api.send("hello", "m-1", fields=fields)
    assert (answer.status, answer.code) == (422, "invalid_field")
    assert [one["path"] for one in answer.json["errors"]] == [path]
    assert answer.json["errors"][0]["rule"]
    assert await api.hall.log() == []


async def test_a_body_that_is_no_object_is_refused(api: Api) -> None:
    answer = await api.post(f"{HERE}/inputs", [1])
    assert (answer.status, answer.json["errors"][0]["path"]) == (422, "body")


async def test_members_nobody_knows_are_ignored(api: Api) -> None:
    fields: dict[str, Any] = {"later": {"a": [1]}, "attachments": [], "mode": None}
    assert (await api.send("hello", "m-1", fields=fields)).status == 202


async def test_the_longest_text_is_taken(api: Api) -> None:
    assert (await api.send("x" * 65_536, "m-1")).status == 202


async def test_a_conversation_that_is_not_there_is_404(api: Api) -> None:
    answer = await api.send("hello", "m-1", here="/v1/conversations/nowhere")
    assert (answer.status, answer.code) == (404, "conversation_not_found")


async def test_a_conversation_id_out_of_the_allowlist_is_refused(api: Api) -> None:
    answer = await api.send("hello", "m-1", here="/v1/conversations/No..where")
    assert (answer.status, answer.code) == (422, "invalid_field")


async def test_a_closed_conversation_takes_nothing(api: Api) -> None:
    other = await api.hall.make("side")
    await api.ask("DELETE", f"/v1/conversations/{other}")
    answer = await api.send("hello", "m-1", here=f"/v1/conversations/{other}")
    assert (answer.status, answer.code) == (410, "conversation_closed")


async def test_an_id_with_other_content_is_a_conflict(api: Api) -> None:
    # proves: FENCE-1
    await api.send("hello", "m-1")
    answer = await api.send("other", "m-1")
    assert (answer.status, answer.code) == (409, "delivery_conflict")
    assert answer.json["delivery"] == "m-1"


async def test_only_what_ended_badly_is_tried_again(api: Api) -> None:
    api.hall.lane.plays(fails("model_unavailable"))
    await api.send("hello", "m-1")
    await api.settled("m-1")
    again = await api.send("hello", "m-2", fields={"retry_of": "m-1"})
    assert again.status == 202
    assert again.json["delivery"]["retry_of"] == "m-1"
    await api.settled("m-2")
    refused = await api.send("hello", "m-3", fields={"retry_of": "m-2"})
    assert (refused.status, refused.code) == (409, "transition_refused")


async def test_a_full_conversation_says_come_back(api: Api) -> None:
    await api.ask("PATCH", "/v1/settings", {"expected_revision": 0, "queue": {"conversation": 1}})
    running, held = asyncio.Event(), asyncio.Event()

    async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
        running.set()
        return await waits(held)(request, host)

    api.hall.lane.plays(play)
    await api.send("runs", "m-1")
    await running.wait()
    waiting, full = await api.send("waits", "m-2"), await api.send("too many", "m-3")
    held.set()
    assert waiting.status == 202
    assert (full.status, full.code) == (503, "admission_backpressure")
    assert int(full.headers["retry-after"]) >= 1


async def test_a_service_that_goes_down_takes_nothing_new(api: Api) -> None:
    api.hall.house.stopping = True
    answer = await api.send("hello", "m-1")
    assert (answer.status, answer.code) == (503, "service_shutting_down")
    assert "retry-after" in answer.headers
    assert await api.hall.log() == []


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StorageUnavailableError("disk full"), "storage_unavailable"),
        (ReceiptsUnreadableError("damaged"), "receipts_unreadable"),
        (CommitUnknownError("input or output error"), "commit_unknown"),
        (BackpressureError(), "admission_backpressure"),
    ],
)
async def test_a_store_that_cannot_says_when_to_come_back(
    api: Api, error: ClankieError, code: str
) -> None:
    troubled(api).plan("admit", refuse(error))
    answer = await api.send("hello", "m-1")
    assert (answer.status, answer.code) == (503, code)
    assert "retry-after" in answer.headers


async def test_a_commit_nobody_can_confirm_is_repeated_under_its_id(api: Api) -> None:
    # proves: FENCE-1
    troubled(api).plan("admit", lose())
    lost = await api.send("hello", "m-1")
    assert (lost.status, lost.code) == (503, "commit_unknown")
    again = await api.send("hello", "m-1")
    assert again.status == 200
    await api.settled("m-1")
    assert api.hall.lane.asked == ["m-1"]


async def test_form_is_checked_before_rights_and_rights_before_content(api: Api) -> None:
    metrics = await api.token(Principal.METRICS)
    bad = await api.send("", "m-1", token=metrics)
    assert bad.status == 422
    refused = await api.send("hello", "m-1", token=metrics, here="/v1/conversations/nowhere")
    assert (refused.status, refused.code) == (403, "not_allowed")
    unknown = await api.send("", "m-1", token="nobody")
    assert (unknown.status, unknown.code) == (401, "token_unknown")
