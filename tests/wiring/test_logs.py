"""The service's own log: its lines, and what of the libraries gets in."""

import json
import logging
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from clankie.host import journal
from clankie.wiring.logs import to_file, to_standard_error


@pytest.fixture(autouse=True)
def _root() -> Iterator[None]:
    """Leave the log as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_our_lines_are_written_and_the_chatter_of_libraries_is_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    to_standard_error(tuple)
    journal.note("turn started", delivery="m-1")
    logging.getLogger("httpx2").info("HTTP Request: POST http://127.0.0.1/ 200 OK")
    logging.getLogger("httpx2").warning("something is wrong")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["action"] for line in lines] == ["turn started", "something is wrong"]
    assert lines[0]["delivery"] == "m-1"
    assert lines[1]["logger"] == "httpx2"


def test_the_log_of_an_installed_service_is_private_and_set_aside_when_it_is_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # proves: DAY-3, BASE-2
    monkeypatch.setattr("clankie.wiring.logs.LONGEST", 400)
    path = tmp_path / "service.log"
    to_file(path, lambda: ["s3cret"])
    for number in range(20):
        journal.note(f"number {number} s3cret")
    logging.getLogger().handlers[0].close()
    files = sorted(tmp_path.iterdir())
    assert [one.name for one in files] == ["service.log", "service.log.1", "service.log.2"]
    for one in files:
        assert stat.S_IMODE(one.stat().st_mode) == 0o600
        assert "s3cret" not in one.read_text()
    assert "number 19" in path.read_text()


def test_a_link_in_place_of_the_log_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "service.log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"service\.log"):
        to_file(tmp_path / "service.log", list)
    assert not (tmp_path / "elsewhere").exists()
