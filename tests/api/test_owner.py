"""Deliveries, wakes, settings, tokens and credentials over HTTP."""

import asyncio
import json
from pathlib import Path

import pytest

from api.kit import HERE, Api, open_api
from clankie.core.conversation import Principal
from clankie.core.errors import StorageUnavailableError
from fakes.clock import FakeClock
from fakes.hall import Machine
from fakes.lane import fails
from fakes.trouble import Trouble

# ── deliveries ───────────────────────────────────────────────────────────────────────────────────


async def test_a_receipt_is_read_once_it_is_final(api: Api) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(api.send("hello", "m-1"))
        await api.hall.clock.settle()
        read = tasks.create_task(api.get("/v1/deliveries/m-1?wait=30"))
    receipt = read.result().json
    assert receipt["state"] == "settled"
    assert (await api.hall.log())[receipt["reply_cursor"] - 1]["text"] == "re: hello"
    assert receipt["attempts"][0]["destination"] == {"kind": "service"}


async def test_a_delivery_nobody_sent_is_404(api: Api) -> None:
    for path in ("m-9", "device-x/m-9", "device-x%2Fm-9"):
        answer = await api.get(f"/v1/deliveries/{path}")
        assert (answer.status, answer.code) == (404, "delivery_not_found")
    for path in ("a%20b", "%00", "A/b"):
        assert (await api.get(f"/v1/deliveries/{path}")).status == 422
    for path in ("a/b/c", "a//b"):
        assert (await api.get(f"/v1/deliveries/{path}")).status == 404


async def test_deliveries_are_listed_by_state_and_page(api: Api) -> None:
    api.hall.lane.plays(fails("model_unavailable"))
    for number in range(4):
        await api.send("x", f"m-{number}")
        await api.settled(f"m-{number}")

    async def listed(query: str) -> tuple[list[str], bool]:
        page = (await api.get(f"/v1/deliveries?{query}")).json
        return [one["id"] for one in page["deliveries"]], page["has_more"]

    assert await listed("") == (["m-0", "m-1", "m-2", "m-3"], False)
    assert await listed("state=failed") == (["m-0"], False)
    assert await listed("state=failed&state=settled") == (["m-0", "m-1", "m-2", "m-3"], False)
    assert await listed("limit=2") == (["m-0", "m-1"], True)
    assert await listed("limit=2&after=m-1") == (["m-2", "m-3"], False)
    assert await listed("conversation=global-default&limit=1") == (["m-0"], True)


@pytest.mark.parametrize(
    "query", ["state=lost", "limit=0", "limit=501", "after=a%20b", "conversation=A"]
)
async def test_a_list_that_cannot_be_is_refused(api: Api, query: str) -> None:
    answer = await api.get(f"/v1/deliveries?{query}")
    assert (answer.status, answer.code) == (422, "invalid_field")
    name = query.partition("=")[0]
    assert answer.json["errors"][0]["path"].startswith(name)


async def test_only_what_nobody_can_know_is_closed_as_unknown(api: Api) -> None:
    await api.send("hello", "m-1")
    await api.settled("m-1")
    path = "/v1/deliveries/m-1/settle"
    refused = await api.post(path, {"as": "abandoned"})
    assert (refused.status, refused.code) == (409, "transition_refused")
    assert refused.json["state"] == "settled"
    wrong = await api.post(path, {"as": "settled"})
    assert (wrong.status, wrong.json["errors"][0]["path"]) == (422, "as")
    missing = await api.post("/v1/deliveries/device-x/m-9/settle", {"as": "abandoned"})
    assert (missing.status, missing.code) == (404, "delivery_not_found")


# ── wakes ────────────────────────────────────────────────────────────────────────────────────────


async def test_wakes_are_listed_and_removed(api: Api) -> None:
    await api.hall.wake("water the plants", "w-1")
    found = (await api.get("/v1/wakes")).json["wakes"]
    assert [(one["id"], one["text"]) for one in found] == [("w-1", "water the plants")]
    assert (await api.get("/v1/wakes?conversation=other")).json == {"wakes": []}
    removed = await api.ask("DELETE", "/v1/wakes/w-1")
    assert (removed.status, removed.raw) == (204, b"")
    again = await api.ask("DELETE", "/v1/wakes/w-1")
    assert (again.status, again.code) == (404, "wake_not_found")
    assert (await api.get("/v1/wakes")).json == {"wakes": []}


@pytest.mark.parametrize("how", ["one", "conversation", "all"])
async def test_a_held_wake_is_released(api: Api, how: str) -> None:
    # proves: FENCE-12
    api.hall.lane.plays(fails("model_credential_rejected"))
    delivery = await api.hall.wake("look", "w-1")
    await api.hall.clock.advance(61)
    held = next(one for one in (await api.get("/v1/wakes")).json["wakes"])
    assert held["held"] == "credential_rejected"
    path, body = {
        "one": (f"/v1/wakes/{held['id']}/release", None),
        "conversation": ("/v1/wakes/release", {"conversation": "global-default"}),
        "all": ("/v1/wakes/release", {}),
    }[how]
    assert (await api.ask("POST", path, body)).json == {"released": 1}
    await api.hall.clock.advance(1)
    assert (await api.get(f"/v1/deliveries/{delivery}")).json["state"] == "settled"
    unknown = await api.ask("POST", "/v1/wakes/w-9/release")
    assert (unknown.status, unknown.code) == (404, "wake_not_found")


# ── settings ─────────────────────────────────────────────────────────────────────────────────────


async def test_settings_change_by_who_saw_the_latest_revision(api: Api) -> None:
    # proves: BASE-1
    before = (await api.get("/v1/settings")).json
    change = {"expected_revision": before["revision"], "persona": {"name": "Ada"}}
    after = await api.ask("PATCH", "/v1/settings", change)
    assert after.json["revision"] == before["revision"] + 1
    assert after.json["settings"]["persona"]["name"] == "Ada"
    assert (await api.get("/v1/settings")).json == after.json
    stale = await api.ask("PATCH", "/v1/settings", change)
    assert (stale.status, stale.code) == (409, "revision_conflict")
    assert stale.json["revision"] == after.json["revision"]
    reset = {"expected_revision": after.json["revision"], "persona": {"name": None}}
    back = await api.ask("PATCH", "/v1/settings", reset)
    assert back.json["settings"] == before["settings"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"personality": {}}, "personality"),
        ({"persona": 7}, "persona"),
        ({"persona": {"nme": "x"}}, "persona.nme"),
        ({"persona": {"name": 7}}, "persona.name"),
        ({"queue": {"store": 0}}, "queue.store"),
        ({"queue": {"store": 1.5}}, "queue.store"),
        ({"queue": {"store": True}}, "queue.store"),
    ],
)
async def test_a_setting_that_cannot_be_changes_nothing(
    api: Api, change: dict[str, object], path: str
) -> None:
    # proves: BASE-1
    before = (await api.get("/v1/settings")).json
    answer = await api.ask("PATCH", "/v1/settings", {"expected_revision": 0, **change})
    assert (answer.status, answer.json["errors"][0]["path"]) == (422, path)
    assert (await api.get("/v1/settings")).json == before


async def test_what_this_run_overrides_is_shown_beside_what_is_stored(
    tmp_path: Path,
) -> None:
    # proves: BASE-1
    override = {"models": {"model": "openai-chat:any"}}
    async with Machine(tmp_path, FakeClock()).on(override=override) as hall:
        api = open_api(hall, tmp_path)
        found = (await api.get("/v1/settings")).json
        assert found["settings"]["models"]["model"] == "practice"
        assert found["in_effect"]["models"]["model"] == "openai-chat:any"


# ── tokens ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_token_is_shown_once_and_works_until_it_is_revoked(api: Api) -> None:
    # proves: BASE-3
    made = await api.post("/v1/tokens", {"principal": "device", "label": "phone"})
    assert made.status == 201
    secret, token = made.json["secret"], made.json["token"]
    assert token["principal"]["principal"] == "device"
    listed = await api.get("/v1/tokens")
    assert listed.json["tokens"] == [token]
    assert secret.encode() not in listed.raw
    assert (await api.get("/v1/conversations", token=secret)).status == 200
    assert (await api.ask("DELETE", f"/v1/tokens/{token['id']}")).status == 204
    assert (await api.get("/v1/conversations", token=secret)).code == "token_unknown"
    assert (await api.get("/v1/tokens")).json["tokens"][0]["revoked"] is True


@pytest.mark.parametrize(
    "body",
    [
        {"principal": "operator", "label": "x"},
        {"principal": "captain", "label": "x"},
        {"principal": "device", "label": ""},
        {"principal": "device", "label": "x" * 81},
        {"principal": "device", "label": "a\nb"},
        {"label": "x"},
    ],
)
async def test_no_token_is_made_for_who_holds_none(api: Api, body: dict[str, str]) -> None:
    assert (await api.post("/v1/tokens", body)).status == 422


async def test_a_seat_gets_its_token_from_its_grant_alone(api: Api) -> None:
    refused = await api.post("/v1/tokens", {"principal": "seat", "label": "claude"})
    assert (refused.status, refused.code) == (422, "invalid_field")
    assert "clankie seat open" in refused.json["detail"]
    assert (await api.get("/v1/tokens")).json["tokens"] == []
    assert (await api.get("/v1/tokens")).json == {"tokens": []}


async def test_a_token_nobody_made_cannot_be_revoked(api: Api) -> None:
    answer = await api.ask("DELETE", "/v1/tokens/t-9")
    assert (answer.status, answer.code) == (404, "token_not_found")


# ── credentials ──────────────────────────────────────────────────────────────────────────────────


async def test_a_credential_is_kept_for_its_origin_and_never_shown(api: Api) -> None:
    # proves: BASE-2, SEC-3
    path, secret = "/v1/credentials/openai", "sk-very-secret"
    kept = await api.ask("PUT", path, {"origin": "https://api.example.com/v1", "secret": secret})
    assert kept.status == 200
    assert kept.json["origin"] == "https://api.example.com"
    listed = await api.get("/v1/credentials")
    assert [one["name"] for one in listed.json["credentials"]] == ["openai"]
    seen = kept.raw + listed.raw + (await api.get("/v1/status")).raw
    seen += (await api.get("/v1/doctor")).raw + (await api.get("/v1/settings")).raw
    assert secret.encode() not in seen
    removed = await api.ask("DELETE", path)
    assert (removed.status, removed.raw) == (204, b"")
    again = await api.ask("DELETE", path)
    assert (again.status, again.code) == (404, "credential_not_found")


@pytest.mark.parametrize(
    ("name", "body", "path"),
    [
        ("openai", {"origin": "ftp://x", "secret": "sk-hidden"}, "origin"),
        ("openai", {"origin": "https://a:b@x", "secret": "sk-hidden"}, "origin"),
        ("openai", {"origin": "https://x", "secret": "sk-hidden\n"}, "secret"),
        ("openai", {"origin": "https://x", "secret": "sk-hidden" * 1_000}, "secret"),
        ("Open", {"origin": "https://x", "secret": "sk-hidden"}, "name"),
    ],
)
async def test_a_credential_that_cannot_be_is_refused_without_being_shown(
    api: Api, name: str, body: dict[str, str], path: str
) -> None:
    # proves: BASE-2
    answer = await api.ask("PUT", f"/v1/credentials/{name}", body)
    assert (answer.status, answer.json["errors"][0]["path"]) == (422, path)
    assert b"sk-hidden" not in answer.raw


# ── the store in trouble ─────────────────────────────────────────────────────────────────────────


async def test_a_full_disk_is_said_by_every_write(api: Api) -> None:
    trouble = Trouble(api.hall.house.store.owner)
    api.hall.house.store.owner = trouble  # type: ignore[assignment]

    async def full(_work: object) -> None:
        raise StorageUnavailableError("disk full")

    trouble.plan("save_settings", full)
    trouble.plan("add_token", full)
    settings = await api.ask(
        "PATCH", "/v1/settings", {"expected_revision": 0, "persona": {"name": "Ada"}}
    )
    token = await api.post("/v1/tokens", {"principal": "device", "label": "phone"})
    for answer in (settings, token):
        assert (answer.status, answer.code) == (503, "storage_unavailable")
        assert "retry-after" in answer.headers
    assert (await api.get("/v1/settings")).json["settings"]["persona"]["name"] == "Clankie"
    log = await api.get(f"{HERE}/events")
    assert json.loads(log.raw)["events"] == []
    assert Principal.DEVICE not in {
        one["principal"] for one in (await api.get("/v1/tokens")).json["tokens"]
    }
