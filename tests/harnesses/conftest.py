"""What the tests with real harnesses stand on. `scripts/harnesses` runs them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harnesses.install import Harnesses
from harnesses.model import Model, serving


@pytest.fixture(scope="session")
def harnesses() -> Harnesses:
    """The installed programs."""
    return Harnesses(Path(os.environ["CLANKIE_HARNESSES"]))


@pytest.fixture
def model() -> Iterator[Model]:
    """A scripted model server of this test's own."""
    with serving() as one:
        yield one
