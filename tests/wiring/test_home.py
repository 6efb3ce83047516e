"""The state directory's own files."""

import os
from pathlib import Path

import pytest

from clankie.wiring.config import ConfigError
from clankie.wiring.home import read_operator_token
from clankie.wiring.logs import PrivateFile


def test_a_pipe_in_the_place_of_the_operators_token_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "operator.token", 0o600)
    with pytest.raises(ConfigError, match="not a plain file"):
        read_operator_token(tmp_path)


def test_a_pipe_in_the_place_of_the_log_hangs_no_start(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "service.log", 0o600)
    with pytest.raises(OSError, match="No such device"):
        PrivateFile(tmp_path / "service.log")
