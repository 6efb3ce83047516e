"""A real service for the tests of the command line, started once, and a way to call commands."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from clankie.cli.app import clankie

READY_WITHIN = 60


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture(scope="session")
def service() -> Iterator[Path]:
    """The state directory of a running service."""
    # A socket's path is at most 107 bytes long, so no directory of pytest's.
    home = Path(tempfile.mkdtemp(prefix="clankie-"))
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "clankie", "serve"],
        env={**os.environ, "CLANKIE_HOME": str(home), "CLANKIE_PORT": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        assert json.loads(process.stdout.readline())["ready"]
        yield home
    finally:
        process.terminate()
        process.wait(READY_WITHIN)
        process.stdout.close()
        shutil.rmtree(home)


@pytest.fixture
def home(service: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The environment of somebody whose service runs."""
    monkeypatch.setenv("CLANKIE_HOME", str(service))
    return service


@pytest.fixture
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The environment of somebody who never started it."""
    monkeypatch.setenv("CLANKIE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def run() -> Run:
    """Call a command as the shell would."""

    def call(*arguments: str, stdin: str | None = None) -> Ran:
        result = CliRunner().invoke(clankie, list(arguments), input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout, result.stderr)

    return call
