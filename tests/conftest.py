"""What every test stands on."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from console.where import chromium

# They drive real harnesses, which `scripts/harnesses` installs and names.
collect_ignore = [] if "CLANKIE_HARNESSES" in os.environ else ["harnesses"]

# Elapsed time is never asserted here, so hypothesis does not do it either. In CI the examples are
# always the same: a red build can be repeated.
# Half of the usual number: `./test` has eight minutes. HYPOTHESIS_PROFILE=deep looks further.
settings.register_profile("house", deadline=None, print_blob=True, max_examples=50)
settings.register_profile("ci", settings.get_profile("house"), derandomize=True)
settings.register_profile("deep", deadline=None, print_blob=True, max_examples=1_000)
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


@pytest.fixture(scope="session")
def tmux_program() -> str:
    """Where tmux is. Tests that ask for this are left out where there is none."""
    found = shutil.which("tmux")
    assert found is not None
    return found


@dataclass(frozen=True)
class Needed:
    """What some tests need that no lock brings, where they lie, and how to know them."""

    missing: bool
    where: tuple[str, ...]
    asked: Callable[[pytest.Item], bool]
    words: str


def _needed() -> tuple[Needed, ...]:
    return (
        Needed(
            missing=chromium() is None,
            where=("console",),
            asked=lambda item: "browser" in _fixtures(item),
            words="the tests of the web console. There is no Chromium here; scripts/chromium "
            "installs it.",
        ),
        Needed(
            missing=shutil.which("tmux") is None,
            where=("panes", "cli"),
            asked=lambda item: "tmux_program" in _fixtures(item) or "tmux" in _chosen(item),
            words="the tests of terminals. There is no tmux here; your package manager has it.",
        ),
    )


def _fixtures(item: pytest.Item) -> Sequence[str]:
    return getattr(item, "fixturenames", ())


def _chosen(item: pytest.Item) -> Sequence[object]:
    """What a parametrized test was given."""
    return tuple(getattr(getattr(item, "callspec", None), "params", {}).values())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without a browser or tmux their tests cannot run: they are left out, and said to be."""
    missing = [one for one in _needed() if one.missing]
    left_out = [item for item in items if any(one.asked(item) for one in missing)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """What did not run is said where everybody looks."""
    asked = [
        (config.invocation_params.dir / one.partition("::")[0]).resolve() for one in config.args
    ]
    for needed in _needed():
        here = [Path(__file__).parent / one for one in needed.where]
        met = any(h.is_relative_to(one) or one.is_relative_to(h) for h in here for one in asked)
        if needed.missing and met:
            line = f"!!! NOT RUN: {needed.words}"
            terminalreporter.write_line(line, red=True, bold=True)
