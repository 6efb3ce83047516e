"""A running house with its door, for every test of this room."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.kit import Api, open_api
from api.sockets import Served, on_sockets
from clankie.wiring.processes import LinuxProcesses
from fakes.clock import FakeClock
from fakes.hall import Machine


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    # Whoever registers a seat here is this very process, as the kernel knows it.
    async with Machine(tmp_path, FakeClock(), processes=LinuxProcesses()).on() as hall:
        yield open_api(hall, tmp_path)


@pytest.fixture
async def served(api: Api) -> AsyncIterator[Served]:
    async with on_sockets(api) as found:
        yield found
