"""The service about itself."""

import json
import logging
import os
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from api.kit import HERE, Api
from clankie.api import errors as wire
from clankie.api.problems import RETRY_AFTER, STATUS
from clankie.core import errors
from clankie.core.errors import ClankieError
from clankie.host.storage import FencedError


async def test_health_says_nothing_but_that_it_answers(api: Api) -> None:
    answer = await api.get("/v1/health", token=None)
    assert (answer.status, answer.json) == (200, {"ok": True})


async def test_status_is_one_snapshot(api: Api) -> None:
    await api.send("hello", "m-1")
    await api.settled("m-1")
    status = (await api.get("/v1/status")).json
    assert status["stopping"] is False
    assert status["pid"] == os.getpid()
    assert status["conversations"]["open"] == 1
    assert status["running"] == []


async def test_metrics_can_be_parsed_and_agree_with_the_status(api: Api) -> None:
    answer = await api.get("/v1/metrics")
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    families: Any = text_string_to_metric_families
    found = {one.name: one for one in families(answer.raw.decode())}
    deliveries = {one.labels["state"]: one.value for one in found["clankie_deliveries"].samples}
    assert deliveries == (await api.get("/v1/status")).json["deliveries"]
    for name in ("clankie_uptime_seconds", "clankie_turns_running", "clankie_streams_open"):
        assert len(found[name].samples) == 1


async def test_the_doctor_finds_what_there_is(api: Api) -> None:
    # proves: BASE-4
    found = (await api.get("/v1/doctor")).json
    assert found["ok"] is True
    assert {"store", "model", "credentials"} <= {one["name"] for one in found["findings"]}


async def test_a_backup_is_written_beside_the_state_for_us_alone(api: Api) -> None:
    answer = await api.post("/v1/backups")
    assert answer.status == 201
    path = Path(answer.json["path"])
    assert path.parent == api.home / "backups"
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_a_backup_goes_where_the_owner_says(
    api: Api, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    named, folder = tmp_path / "mine.db", tmp_path_factory.mktemp("folder")
    assert (await api.post("/v1/backups", {"path": str(named)})).json["path"] == str(named)
    inside = await api.post("/v1/backups", {"path": str(folder)})
    assert Path(inside.json["path"]).parent == folder
    again = await api.post("/v1/backups", {"path": str(named)})
    assert again.status in {422, 503}
    assert (await api.post("/v1/backups", {"path": "mine.db"})).status == 422


def every_error(root: type[ClankieError]) -> set[type[ClankieError]]:
    return {root}.union(*(every_error(one) for one in root.__subclasses__()))


def test_every_error_a_caller_can_meet_has_a_status() -> None:
    spoken = {
        one
        for one in every_error(ClankieError)
        if one.__module__ in {errors.__name__, wire.__name__}
    }
    abstract = {errors.ClankieError, errors.RefusedError}
    for kind in spoken - abstract:
        assert any(base in STATUS for base in kind.__mro__), kind
    assert {kind.code for kind in spoken - abstract} >= {"bad_json", "commit_unknown"}
    assert all(
        any(base in {errors.FaultError, errors.UncertainError} for base in kind.__mro__)
        for kind in RETRY_AFTER
    )


async def test_what_nobody_foresaw_is_logged_under_an_id_and_not_shown(
    api: Api, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any) -> None:
        raise ZeroDivisionError("secret internals")

    monkeypatch.setattr("clankie.api.service.status", broken)
    monkeypatch.setattr("clankie.api.inputs.admit", broken)
    for answer in (await api.get("/v1/status"), await api.send("hello", "m-1")):
        assert (answer.status, answer.code) == (500, "internal_error")
        assert b"secret internals" not in answer.raw
        assert b"Traceback" not in answer.raw
        logged = [one for one in caplog.records if one.levelno == logging.ERROR]
        assert answer.json["id"] in str([getattr(one, "fields", {}) for one in logged])
        assert "secret internals" in str([one.exc_info for one in logged])


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (ClankieError("nobody gave it a status"), 500, "internal_error"),
        (FencedError("another node has it"), 503, "fenced"),
    ],
)
async def test_an_error_without_a_status_is_a_defect_and_a_lost_fence_is_none(
    api: Api, monkeypatch: pytest.MonkeyPatch, error: ClankieError, status: int, code: str
) -> None:
    async def refused(*_: Any) -> None:
        raise error

    monkeypatch.setattr("clankie.api.inputs.admit", refused)
    answer = await api.send("hello", "m-1")
    assert (answer.status, answer.code) == (status, code)


async def test_every_error_is_a_problem_with_a_code_and_a_sentence(api: Api) -> None:
    answers = [
        await api.get("/v1/status", token=None),
        await api.get("/nowhere"),
        await api.ask("PUT", f"{HERE}/inputs", {}),
        await api.ask("PUT", "/v1/settings", {}),
        await api.post(f"{HERE}/reset", {}),
        await api.get("/v1/status", headers={"host": "evil.example"}),
    ]
    assert [one.status for one in answers] == [401, 404, 405, 405, 422, 421]
    for answer in answers:
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json
        assert problem["status"] == answer.status
        assert problem["type"] == f"urn:clankie:problem:{problem['code']}"
        assert problem["detail"].endswith((".", ").")) or ":" in problem["detail"]
        assert problem["title"]
    assert answers[2].headers["allow"] == "POST"
    assert "GET" in answers[3].headers["allow"]


async def test_the_interface_is_described_to_any_principal(api: Api) -> None:
    document = (await api.get("/openapi.json")).json
    schemas = document["components"]["schemas"]
    for kind in ("message", "tool", "turn", "notice", "reset"):
        reference = schemas["Event"]["discriminator"]["mapping"][kind]
        event = schemas[reference.rpartition("/")[2]]
        assert event["properties"]["kind"] == {"const": kind}
    assert not [name for name in ("/docs", "/redoc") if (await api.get(name)).status != 404]
    assert "HTTPValidationError" not in json.dumps(document)
    assert msgspec.json.encode(document)
