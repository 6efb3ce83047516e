"""A state directory with a service that a test scripts, and the folder of a seat in it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clankie.seats.folder import Folder, made
from fakes.unix_service import UnixService


@pytest.fixture
def state() -> Iterator[Path]:
    # A socket's path is at most 107 bytes long, so no directory of pytest's.
    with tempfile.TemporaryDirectory(prefix="clankie-") as home:
        yield Path(home)


@pytest.fixture
def unix(state: Path) -> Iterator[UnixService]:
    service = UnixService(state)
    yield service
    service.stop()


@pytest.fixture
def granted(state: Path) -> Folder:
    """A folder with a grant in it, as `clankie seat open` leaves it."""
    folder = made(str(state), "seat-1")
    folder.write(
        "grant.json",
        {"grant": "the-secret", "harness": "claude", "conversation": "global-default"},
    )
    folder.write("place.json", {"harness": "claude", "resume": None})
    return folder
