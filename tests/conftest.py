"""What every test stands on."""

import os

import pytest
from hypothesis import settings

# Elapsed time is never asserted here, so hypothesis does not do it either. In CI the examples are
# always the same: a red build can be repeated.
settings.register_profile("house", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "house")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The service runs on asyncio only, so `async def` tests do too."""
    return "asyncio"
