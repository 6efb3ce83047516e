"""What every test stands on."""

import os

import pytest
from hypothesis import Phase, settings

# Elapsed time is never asserted here, so hypothesis does not do it either. In CI the examples are
# always the same: a red build can be repeated.
settings.register_profile("house", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
# scripts/faults only asks whether a fault is seen, not for the smallest example.
settings.register_profile(
    "faults",
    deadline=None,
    derandomize=True,
    max_examples=50,
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "house")
)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The service runs on asyncio only, so `async def` tests do too."""
    return "asyncio"
