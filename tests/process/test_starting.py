"""Starting: what it says when it is ready, and what it says, and leaves alone, when it cannot."""

import hashlib
import json
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from process.service import Place
from process.wire import Client

PAGES = ("status", "doctor", "credentials", "settings")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def digests(folder: Path) -> dict[str, str]:
    """What is in a folder, byte for byte."""
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.iterdir()
        if file.is_file() and file.name not in {"lock", "operator.token"}
    }


def test_the_program_says_on_one_line_that_it_is_ready_and_where(place: Place) -> None:
    # proves: BASE-2
    service = place.run("serve", CLANKIE_MODEL="practice").wait_ready()
    assert service.ready == {"ready": True, "url": service.ready["url"], "pid": service.pid}
    assert json.loads((place.home / "run.json").read_text()) == service.ready

    over_tcp = Client(place.home, service.ready["url"])
    assert over_tcp.ask("GET", "/v1/health").body == {"ok": True}
    assert over_tcp.send("m-1", "hello").status == 202
    assert service.client.known("m-1")["state"] == "settled"

    assert mode(place.home) == 0o700
    files = {file.name: mode(file) for file in place.home.iterdir() if not file.is_dir()}
    assert set(files.values()) == {0o600}, files
    service.terminate()
    assert service.ended() == 0
    assert not service.rest_of_output()
    assert not (place.home / "run.json").exists()
    assert not (place.home / "service.sock").exists()


def test_a_second_service_on_the_same_state_says_who_has_it_and_leaves(place: Place) -> None:
    first = place.start()
    second = place.run("serve")
    assert second.ended() == 1
    assert not second.rest_of_output()
    assert str(first.pid) in second.said()
    assert first.ready["url"] in second.said()
    place.send(first, "m-1", "say")
    assert first.client.known("m-1")["state"] == "settled"
    place.finish(first)


def test_a_note_about_a_service_that_is_gone_keeps_nobody_out(place: Place) -> None:
    killed = place.start()
    killed.kill()
    stale = json.loads((place.home / "run.json").read_text())
    # Its number may belong to somebody else by now: here it is ours.
    (place.home / "run.json").write_text(json.dumps({**stale, "pid": os.getpid()}))
    again = place.start()
    assert json.loads((place.home / "run.json").read_text()) == again.ready
    place.finish(again)


def test_an_open_address_without_encryption_is_refused_before_anything_is_made(
    place: Place,
) -> None:
    # proves: SEC-1
    service = place.run("serve", CLANKIE_HOST="0.0.0.0")
    assert service.ended() == 1
    assert "CLANKIE_HOST" in service.said()
    assert not place.home.exists()


def test_a_port_that_is_taken_is_named(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = place.refused(CLANKIE_PORT=str(port))
    assert f"{port}" in said
    assert "CLANKIE_PORT" in said


def test_a_state_directory_too_deep_for_a_socket_is_named(place: Place) -> None:
    place.home = place.root / ("d" * 120)
    assert "CLANKIE_HOME" in place.refused()


def test_a_state_directory_that_is_a_file_is_named(place: Place) -> None:
    place.home.write_text("mine")
    assert str(place.home) in place.refused()
    assert place.home.read_text() == "mine"


def test_a_state_directory_that_cannot_be_written_is_named(place: Place) -> None:
    place.home.mkdir(mode=0o500)
    assert str(place.home) in place.refused(CLANKIE_TEST_UNPRIVILEGED="1")
    assert not list(place.home.iterdir())


def test_a_database_that_cannot_be_written_is_named(place: Place) -> None:
    place.finish(place.start())
    before = digests(place.home)
    place.database.chmod(0o400)
    assert str(place.database) in place.refused(CLANKIE_TEST_UNPRIVILEGED="1")
    assert digests(place.home) == before


def readable(token: Path) -> None:
    token.chmod(0o644)


def empty(token: Path) -> None:
    token.write_text("")


@pytest.mark.parametrize("spoil", [readable, empty])
def test_a_token_that_others_can_read_or_that_is_empty_is_refused(
    place: Place, spoil: Callable[[Path], None]
) -> None:
    # proves: BASE-2
    place.finish(place.start())
    spoil(place.home / "operator.token")
    assert "operator.token" in place.refused()


def newer(database: Path) -> None:
    connection = apsw.Connection(str(database))
    connection.execute("INSERT INTO schema_version (n, at) VALUES (9999, 0)")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()


def foreign(database: Path) -> None:
    database.unlink()
    connection = apsw.Connection(str(database))
    connection.execute("CREATE TABLE mine (x)")
    connection.close()


def torn(database: Path) -> None:
    size = database.stat().st_size
    with database.open("r+b") as file:
        for offset in range(4096, size, 4096):
            file.seek(offset + 8)
            file.write(b"\xff" * 64)


def cut(database: Path) -> None:
    with database.open("r+b") as file:
        file.truncate(6000)


def words(database: Path) -> None:
    database.write_text("Dear diary, this is not a database. " * 40)


@pytest.mark.parametrize("spoil", [newer, foreign, torn, cut, words])
def test_a_database_that_is_newer_damaged_or_not_ours_is_refused_and_not_touched(
    place: Place, spoil: Callable[[Path], None]
) -> None:
    service = place.start()
    place.send(service, "m-1", "say")
    service.client.known("m-1")
    place.finish(service)
    spoil(place.database)
    before = digests(place.home)
    said = place.refused()
    assert str(place.database) in said
    assert "touched" in said
    assert digests(place.home) == before


def test_no_secret_is_printed_or_stored_whatever_the_model_server_says(place: Place) -> None:
    # proves: BASE-2, SEC-8
    service = place.start()
    origin = place.model.base_url.removesuffix("/v1")
    secret = "sk-very-secret-0123456789"
    kept = service.client.ask(
        "PUT", "/v1/credentials/openai-chat", {"origin": origin, "secret": secret}
    )
    assert kept.status in {200, 201, 204}, kept
    place.send(service, "m-1", "leak")
    receipt = service.client.known("m-1")
    assert receipt["state"] == "failed"
    assert place.model.leaked == [f"Bearer {secret}"]
    told = [json.dumps(receipt), json.dumps(service.client.events())]
    told += [json.dumps(service.client.ask("GET", f"/v1/{page}").body) for page in PAGES]
    token = (place.home / "operator.token").read_text().strip()
    place.finish(service)
    told += [service.said(), *service.rest_of_output()]
    assert not [words for words in told if secret in words or token in words]
