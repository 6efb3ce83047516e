"""What every test stands on."""

import os
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from console.where import chromium

# They drive real harnesses, which `scripts/harnesses` installs and names.
collect_ignore = [] if "CLANKIE_HARNESSES" in os.environ else ["harnesses"]

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
# No test may reach the keyring of whoever runs it, nor may a service that a test starts.
os.environ["CLANKIE_CREDENTIALS"] = "file"
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "house")
)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The service runs on asyncio only, so `async def` tests do too."""
    return "asyncio"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without a browser its tests cannot run: they are left out, and said to be (see below)."""
    if chromium() is not None:
        return
    left_out = [one for one in items if "browser" in getattr(one, "fixturenames", ())]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [one for one in items if one not in left_out]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """What did not run is said where everybody looks."""
    here = Path(__file__).parent / "console"
    asked = [
        (config.invocation_params.dir / one.partition("::")[0]).resolve() for one in config.args
    ]
    if chromium() is None and any(
        here.is_relative_to(one) or one.is_relative_to(here) for one in asked
    ):
        terminalreporter.write_line(
            "!!! NOT RUN: the tests of the web console. There is no Chromium here; "
            "scripts/chromium installs it.",
            red=True,
            bold=True,
        )
