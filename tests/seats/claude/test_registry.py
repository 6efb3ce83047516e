"""The client's own register says what it does, as long as it is that very process."""

import json
import os
from pathlib import Path

import pytest

from clankie.seats.claude.registry import config, session, transcript
from fakes.clock import START
from seats.claude.client import SESSION, Client


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path)


def test_a_session_is_read_as_the_client_describes_it(client: Client) -> None:
    client.register(tmux="main:@1.%7")
    found = session(str(client.config), os.getpid())
    assert found is not None
    assert (found.session_id, found.directory) == (SESSION, str(client.root))
    assert (found.started_at, found.status_at) == (START, START)
    assert (found.pane, found.socket) == ("%7", str(client.root / "m.sock"))
    assert (found.busy, found.free, found.dialog) == (False, True, False)


@pytest.mark.parametrize(
    ("status", "busy", "free", "dialog"),
    [
        ("busy", True, False, False),
        ("idle", False, True, False),
        ("shell", False, True, False),
        ("waiting", False, False, True),
        ("something new", False, False, True),
        (None, False, False, False),
    ],
)
def test_what_it_does_is_what_it_says(
    client: Client, status: str, busy: bool, free: bool, dialog: bool
) -> None:
    client.register(status)
    found = session(str(client.config), os.getpid())
    assert found is not None
    assert (found.busy, found.free, found.dialog) == (busy, free, dialog)


def test_a_file_that_another_process_left_says_nothing(client: Client) -> None:
    client.register(procStart="1")
    assert session(str(client.config), os.getpid()) is None
    client.register(pid=1)
    assert session(str(client.config), os.getpid()) is None


@pytest.mark.parametrize("content", ["", "[]", "{", '{"pid": 1}'])
def test_a_file_that_cannot_be_read_says_nothing(client: Client, content: str) -> None:
    client.register()
    (client.config / "sessions" / f"{os.getpid()}.json").write_text(content)
    assert session(str(client.config), os.getpid()) is None


def test_no_link_is_followed_to_it(client: Client) -> None:
    client.register()
    file = client.config / "sessions" / f"{os.getpid()}.json"
    file.rename(client.root / "elsewhere.json")
    file.symlink_to(client.root / "elsewhere.json")
    assert session(str(client.config), os.getpid()) is None


def test_fields_of_another_shape_are_left_out(client: Client) -> None:
    client.register()
    file = client.config / "sessions" / f"{os.getpid()}.json"
    row = json.loads(file.read_text()) | {
        "startedAt": 1e300,
        "statusUpdatedAt": True,
        "status": 3,
        "tmux": None,
    }
    file.write_text(json.dumps(row))
    found = session(str(client.config), os.getpid())
    assert found is not None
    assert (found.started_at, found.status_at, found.status, found.pane) == (None, None, "", "")


def test_a_transcript_lies_under_the_name_of_the_directory() -> None:
    found = transcript("/c", "/home/me/my.work_é", "s")
    assert found == "/c/projects/-home-me-my-work--/s.jsonl"
    assert config({"HOME": "/h"}) == "/h/.claude"
