"""The service's own log: its lines, and what of the libraries gets in."""

import json
import logging
from collections.abc import Iterator

import pytest

from clankie.host import journal
from clankie.wiring.logs import to_standard_error


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
