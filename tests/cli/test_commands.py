"""Every command against a real service: what it prints, and how it exits."""

import json
import stat
from pathlib import Path

import pytest

from clankie.cli.app import SECTIONS
from cli.conftest import Run

COMMANDS = [name for _, commands in SECTIONS for name, _, _ in commands]


@pytest.fixture
def name(run: Run, home: Path, request: pytest.FixtureRequest) -> str:
    """A conversation of this test alone."""
    assert home.is_dir()
    made = f"t-{abs(hash(request.node.name)) % 10**9}"
    assert run("conversations", "new", made, "--json").code == 0
    return made


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help(command: str, run: Run) -> None:
    done = run(command, "--help")
    assert done.code == 0
    assert "Usage:" in done.out


def test_the_help_lists_every_command(run: Run) -> None:
    told = run("--help").out
    assert all(f"  {command}" in told for command in COMMANDS)


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["send"],
        ["send", "a"],
        ["conversations", "list", "--state", "odd"],
        ["conversations", "events", "a", "--limit", "0"],
        ["wakes", "release", "w", "--conversation", "c"],
        ["settings", "set", "models.model"],
        ["token", "new", "x", "--for", "room"],
        ["restore", "/no/such/file"],
        ["send", "a", " "],
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str], run: Run) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert done.out == ""


@pytest.mark.usefixtures("home")
def test_a_token_for_a_seat_is_refused_with_the_way_to_get_one(run: Run) -> None:
    done = run("token", "new", "claude", "--for", "seat")
    assert (done.code, done.out) == (1, "")
    assert "use `clankie seat open`" in " ".join(done.err.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["status"],
        ["conversations", "list"],
        ["send", "main", "hello"],
        ["token"],
        ["chat"],
        ["backup"],
        ["wakes", "list"],
    ],
)
@pytest.mark.usefixtures("away")
def test_without_a_service_a_command_says_how_to_start_it_and_exits_1(
    arguments: list[str],
    run: Run,
) -> None:
    done = run(*arguments, "--json")
    assert done.code == 1
    assert done.json["error"]["detail"]
    assert run(*arguments).err.startswith("✗ ")


def test_a_message_is_sent_and_its_answer_printed(run: Run, name: str) -> None:
    done = run("send", name, "good morning", "--wait")
    assert done.code == 0
    assert "good morning" in done.out
    assert "Stored as" in done.err


def test_the_same_id_is_stored_once(run: Run, name: str) -> None:
    # proves: FENCE-1
    first = run("send", name, "once", "--id", f"{name}-1", "--json").json
    second = run("send", name, "once", "--id", f"{name}-1", "--json").json
    assert first["delivery"]["id"] == second["delivery"]["id"] == f"{name}-1"
    other = run("send", name, "twice", "--id", f"{name}-1", "--json")
    assert other.code == 1
    assert other.json["error"]["code"] == "delivery_conflict"


def test_a_message_may_come_from_standard_input(run: Run, name: str) -> None:
    done = run("send", name, "-", "--wait", "--json", stdin="two\nlines\n")
    assert done.json["delivery"]["state"] == "settled"


def test_a_failed_message_is_exit_code_1_with_its_receipt(run: Run, name: str) -> None:
    done = run("send", name, "fail model_timeout", "--wait", "--json")
    assert done.code == 1
    assert done.json["error"]["code"] == "model_timeout"
    assert done.json["error"]["delivery"]["state"] == "failed"


def test_escapes_in_a_message_never_reach_the_terminal(run: Run, name: str) -> None:
    # proves: SEC-8
    evil = "\x1b]52;c;ZXZpbA==\x07 \x1b[2J [bold]mark[/bold] \u202eback"
    run("send", name, evil, "--wait")
    for arguments in (["conversations", "show", name], ["conversations", "events", name]):
        told = run(*arguments).out
        assert "\x1b" not in told
        assert "\u202e" not in told
        assert "[bold]mark[/bold]" in told


def test_two_conversations_of_one_name_are_told_apart_by_id(run: Run, name: str) -> None:
    again = run("conversations", "new", name, "--json").json
    refused = run("send", name, "hello", "--json")
    assert refused.code == 1
    assert refused.json["error"]["code"] == "ambiguous_name"
    assert again["id"] in refused.json["error"]["ids"]
    assert run("send", again["id"], "hello", "--json").code == 0


def test_a_conversation_is_renamed_reset_and_closed(run: Run, name: str) -> None:
    assert run("conversations", "rename", name, f"{name}-b").code == 0
    assert run("conversations", "reset", f"{name}-b").code == 0
    assert run("conversations", "close", f"{name}-b").code == 0
    closed = run("send", f"{name}-b", "hello", "--json")
    assert closed.json["error"]["code"] == "conversation_closed"
    listed = run("conversations", "list", "--state", "closed", "--json").json["conversations"]
    assert f"{name}-b" in {one["name"] for one in listed}


def test_a_workspace_belongs_to_a_directory(run: Run, name: str, tmp_path: Path) -> None:
    made = run("conversations", "new", f"{name}-w", "--directory", str(tmp_path), "--json").json
    assert made["directory"] == str(tmp_path)
    assert str(tmp_path) in run("conversations", "show", made["id"]).out.replace("\n", "")


def test_a_log_is_exported_as_json_lines(run: Run, name: str) -> None:
    run("send", name, "hello", "--wait")
    lines = [json.loads(row) for row in run("conversations", "export", name).out.splitlines()]
    assert "hello" in {row.get("text") for row in lines}


def test_deliveries_are_listed_and_looked_at(run: Run, name: str) -> None:
    run("send", name, "look at me", "--id", f"{name}-look", "--wait")
    listed = run("deliveries", "list", "--conversation", name, "--json").json["deliveries"]
    assert [one["id"] for one in listed] == [f"{name}-look"]
    assert f"{name}-look" in run("deliveries", "list", "--conversation", name).out
    told = run("deliveries", "look", f"{name}-look").out
    assert "look at me" in told
    assert "answered" in told
    assert run("deliveries", "look", f"{name}-look", "--json").json["text"] == "look at me"


def test_a_failed_message_is_sent_again_as_a_new_one(run: Run, name: str) -> None:
    # proves: DAY-1
    run("send", name, "fail", "--id", f"{name}-f", "--wait")
    again = run("deliveries", "again", f"{name}-f", "--json").json
    assert again["delivery"]["retry_of"] == f"{name}-f"
    assert again["delivery"]["id"] != f"{name}-f"


def test_an_answered_message_is_not_sent_again(run: Run, name: str) -> None:
    run("send", name, "hello", "--id", f"{name}-a", "--wait")
    refused = run("deliveries", "again", f"{name}-a", "--json")
    assert refused.code == 1
    assert refused.json["error"]["code"] == "transition_refused"
    closed = run("deliveries", "close", f"{name}-a", "--json")
    assert closed.json["error"]["code"] == "transition_refused"


def test_sending_again_after_a_tool_had_started_must_be_confirmed(run: Run, name: str) -> None:
    # proves: DAY-1
    run("send", name, "use a tool", "--id", f"{name}-t", "--wait")
    refused = run("deliveries", "again", f"{name}-t", "--json")
    assert refused.code == 1
    assert refused.json["error"]["code"] == "tool_started"
    assert "get_self_state" in refused.json["error"]["tools"]


def test_cancelling_where_nothing_runs_says_so(run: Run, name: str) -> None:
    assert "nothing to cancel" in run("deliveries", "cancel", name).out


def test_wakes_are_listed_and_removed(run: Run, name: str) -> None:
    run("send", name, "remind me in 2 hours to stretch", "--wait")
    found = run("wakes", "list", "--conversation", name, "--json").json["wakes"]
    assert "stretch" in run("wakes", "list").out
    assert run("wakes", "remove", found[0]["id"]).code == 0
    assert run("wakes", "list", "--conversation", name, "--json").json["wakes"] == []
    assert "Released: 0" in run("wakes", "release", "--conversation", name).out


@pytest.mark.usefixtures("home")
def test_settings_are_set_against_the_revision_that_was_read(run: Run) -> None:
    # proves: BASE-1
    done = run("settings", "set", "models.tool_rounds", "7", "--json")
    assert done.json["settings"]["models"]["tool_rounds"] == 7
    assert run("settings", "get", "models.tool_rounds").out == "7\n"
    stale = run("settings", "set", "persona.name", "Other", "--expected-revision", "0", "--json")
    assert stale.code == 1
    assert stale.json["error"]["code"] == "revision_conflict"
    assert "repeat the command" in stale.json["error"]["detail"]
    assert run("settings", "set", "models.tool_rounds", "null").code == 0
    assert run("settings", "get", "models.tool_rounds", "--json").json["value"] == 50


@pytest.mark.usefixtures("home")
def test_a_setting_that_is_text_stays_text_though_it_looks_like_a_number(
    run: Run,
) -> None:
    done = run("settings", "set", "persona.instructions", "42", "--json")
    assert done.json["settings"]["persona"]["instructions"] == "42"
    assert run("settings", "set", "persona.instructions", "null").code == 0


@pytest.mark.parametrize("path", ["no.such", "models.no_such", "models..model", ""])
@pytest.mark.usefixtures("home")
def test_a_setting_that_does_not_exist_is_refused(path: str, run: Run) -> None:
    assert run("settings", "set", path, "1").code == 1


@pytest.mark.usefixtures("home")
def test_a_secret_is_read_from_standard_input_and_never_shown(run: Run) -> None:
    # proves: BASE-2
    address = "https://api.example.com"
    done = run("credentials", "set", "example", "--origin", address, stdin="s3cr3t-value\n")
    assert done.code == 0
    listed = run("credentials", "list")
    assert "example" in listed.out
    assert address in listed.out
    for told in (done, listed, run("credentials", "list", "--json"), run("doctor")):
        assert "s3cr3t-value" not in told.out + told.err
    assert run("credentials", "remove", "example").code == 0
    assert run("credentials", "remove", "example").code == 1


@pytest.mark.usefixtures("home")
def test_an_empty_secret_changes_nothing(run: Run) -> None:
    done = run("credentials", "set", "empty", "--origin", "https://a.example", "--json", stdin="\n")
    assert done.code == 1
    assert run("credentials", "list", "--json").json["credentials"] == []


@pytest.mark.usefixtures("home")
def test_a_token_is_shown_once_listed_and_revoked(run: Run) -> None:
    secret = run("token", "new", "phone").out.strip()
    assert len(secret) > 30
    listed = run("token", "list")
    assert "phone" in listed.out
    assert secret not in listed.out
    found = run("token", "list", "--json").json["tokens"]
    known = next(one["id"] for one in found if one["label"] == "phone")
    assert run("token", "revoke", known).code == 0
    assert "revoked" in run("token", "list").out
    assert run("token", "revoke", "t-none").code == 1


def test_the_operators_token_is_printed_for_its_owner(run: Run, home: Path) -> None:
    assert run("token").out.strip() == (home / "operator.token").read_text().strip()
    assert run("token", "--json").json["token"] == run("token").out.strip()


@pytest.mark.usefixtures("home")
def test_a_backup_is_one_private_file(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "all.db"
    done = run("backup", str(target), "--json")
    assert done.json["path"] == str(target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.usefixtures("home")
def test_a_restore_is_confirmed_and_needs_a_stopped_service(run: Run, tmp_path: Path) -> None:
    # proves: SEC-12
    target = tmp_path / "all.db"
    run("backup", str(target))
    assert run("restore", str(target), "--json").json["error"]["code"] == "not_confirmed"
    held = run("restore", str(target), "--yes", "--json")
    assert held.code == 1
    assert held.json["error"]["detail"]


@pytest.mark.usefixtures("home")
def test_a_backup_is_restored_where_no_service_runs(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "all.db"
    run("backup", str(target))
    monkeypatch.setenv("CLANKIE_HOME", str(tmp_path / "other"))
    done = run("restore", str(target), "--yes", "--json")
    assert done.code == 0
    assert done.json["kept_aside"] is None
    assert (tmp_path / "other" / "clankie.db").exists()


@pytest.mark.usefixtures("home")
def test_the_status_names_the_model_and_the_store(run: Run) -> None:
    told = run("status").out
    assert "practice" in told
    assert "SQLite" in told
    assert run("status", "--json").json["version"]


def test_the_version_is_printed(run: Run) -> None:
    assert run("version").out.startswith("clankie ")
    assert run("version", "--json").json["python"]
    assert run("--version").code == 0


@pytest.mark.usefixtures("home")
def test_up_where_it_runs_already_says_where_and_exits_0(run: Run) -> None:
    assert run("up", "--json").json["url"].startswith("http://127.0.0.1:")
    assert "Clankie answers at http://127.0.0.1:" in run("up").out


def test_up_starts_no_service_at_another_address(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLANKIE_TOKEN", "t")
    done = run("up", "--url", "http://127.0.0.1:9", "--json")
    assert done.code == 1
    assert done.json["error"]["code"] == "service_not_running"


def test_every_secret_free_command_works_over_tcp_too(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = json.loads((home / "run.json").read_text())["url"]
    monkeypatch.setenv("CLANKIE_TOKEN", (home / "operator.token").read_text())
    assert run("conversations", "list", "--json", "--url", url).code == 0
    monkeypatch.setenv("CLANKIE_TOKEN", "wrong")
    refused = run("conversations", "list", "--json", "--url", url)
    assert refused.json["error"]["code"] == "token_unknown"
