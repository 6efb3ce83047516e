"""What the tests with real harnesses stand on. `scripts/harnesses` runs them."""

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from harnesses.install import Harnesses
from harnesses.model import Model, serving


@pytest.fixture(scope="session", autouse=True)
def _no_server_stays() -> Iterator[None]:
    """An app-server outlives a driver that was killed, so that the next one finds it."""
    began, folder = psutil.Process().create_time(), os.environ["CLANKIE_HARNESSES"]
    yield
    for one in psutil.process_iter(["cmdline", "create_time"]):
        line = one.info["cmdline"] or []
        ours = "app-server" in line and any(folder in word for word in line)
        if ours and one.info["create_time"] >= began:
            one.kill()


@pytest.fixture(scope="session")
def harnesses() -> Harnesses:
    """The installed programs."""
    return Harnesses(Path(os.environ["CLANKIE_HARNESSES"]))


@pytest.fixture
def model() -> Iterator[Model]:
    """A scripted model server of this test's own."""
    with serving() as one:
        yield one
