"""Search, models, purges, goals, usage and attachments, against a real service."""

import io
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from clankie.cli import wakes
from clankie.cli.failures import CommandError
from clankie.cli.files import upload
from clankie.cli.look import console, local_time
from cli.conftest import Run
from core.test_pictures import png

pytestmark = pytest.mark.usefixtures("home")


def made(run: Run, name: str) -> str:
    return str(run("conversations", "new", name, "--json").json["id"])


def test_words_are_found_and_a_closed_conversation_can_be_deleted_for_good(run: Run) -> None:
    # proves: DAY-2
    side = made(run, "a side")
    run("send", side, "look for the heron", "--wait")
    found: list[object] = []
    while not found:
        found = run("conversations", "search", side, "heron", "--json").json["results"]
    assert "heron" in run("conversations", "search", side, "heron").out
    assert "Nothing was found." in run("conversations", "search", side, "nonesuch").out
    assert run("conversations", "purge", side, "--yes", "--json").code == 1
    run("conversations", "close", side)
    assert run("conversations", "purge", side, stdin="n\n").code == 1
    assert run("conversations", "purge", side, "--yes").code == 0
    assert "heron" not in run("conversations", "export", side).out


def test_a_conversation_gets_a_model_and_gives_it_back(run: Run) -> None:
    # proves: DAY-2
    side = made(run, "another model")
    done = run("conversations", "model", side, "openai-chat:any", "--json")
    assert done.json["model"] == "openai-chat:any"
    assert "model" not in run("conversations", "model", side, "--json").json
    assert "The model of the settings answers" in run("conversations", "model", side).out
    assert run("conversations", "model", side, "nothing").code == 1


def test_a_goal_is_shown_set_and_forgotten(run: Run) -> None:
    side = made(run, "with a goal")
    assert "There is no goal" in run("goal", "show", side).out
    assert run("goal", "set", side, "count to three", "--tokens", "1").code == 0
    assert "count to three" in run("goal", "show", side).out
    assert run("goal", "remove", side, "--json").json == {"goal": None}


def test_usage_is_a_table_of_days(run: Run) -> None:
    # proves: DAY-2
    shown = run("usage", "--days", "2").out
    assert "tokens a day" in shown
    assert len(run("usage", "--days", "2", "--json").json["days"]) == 2


def test_files_go_with_a_message(run: Run, tmp_path: Path) -> None:
    # proves: DAY-2
    side = made(run, "with files")
    (tmp_path / "cat.png").write_bytes(png(3, 2))
    (tmp_path / "data.json").write_text('{"a": 1}')
    sent = run(
        "send", side, "look", "--attach", str(tmp_path / "cat.png"),
        "--attach", str(tmp_path / "data.json"), "--wait", "--json",
    )  # fmt: skip
    files = sent.json["delivery"]["attachments"]
    assert [(one["name"], one["media_type"]) for one in files] == [
        ("cat.png", "image/png"),
        ("data.json", "text/plain"),
    ]
    refused = run("send", side, "look", "--attach", str(tmp_path / "nothing.png"), "--json")
    assert refused.json["error"]["code"] == "no_file"
    (tmp_path / "fake.png").write_text("no picture")
    bad = run("send", side, "look", "--attach", str(tmp_path / "fake.png"), "--json")
    assert bad.json["error"]["code"] == "invalid_field"
    (tmp_path / "empty.txt").touch()
    with pytest.raises(CommandError):
        upload(str(tmp_path / "empty.txt"))


def test_wakes_are_shown_where_the_owner_lives() -> None:
    # proves: DAY-2
    berlin, at = ZoneInfo("Europe/Berlin"), "2026-11-30T12:00:00.000Z"
    assert local_time(at, date=True, zone=berlin) == "2026-11-30 13:00"
    wake = {"id": "w-1", "conversation": "c", "due_at": at, "text": "ring"}
    out = io.StringIO()
    console(out).print(wakes._table([wake], berlin))
    assert "due (Europe/Berlin)" in out.getvalue()
    assert "2026-11-30 13:00" in out.getvalue()


def test_the_list_of_wakes_asks_for_the_zone_of_the_settings(run: Run) -> None:
    assert run("settings", "set", "time.zone", "Asia/Tokyo").code == 0
    assert "No wake waits" in run("wakes", "list").out
    assert run("settings", "set", "time.zone", "null").code == 0
