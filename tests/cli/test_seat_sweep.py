"""Folders of seats go a month after they ended, and not before."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from clankie.cli.seat_orphans import DRIVER
from clankie.cli.seat_sweep import sweep
from clankie.seats import process, registration
from clankie.seats.folder import Folder, made
from clankie.seats.registration import Seated

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def aged(folder: Folder, days: float) -> None:
    at = (NOW - timedelta(days=days)).timestamp()
    for one in (*Path(folder.path).iterdir(), Path(folder.path)):
        os.utime(one, (at, at))


@pytest.fixture
def ended(tmp_path: Path) -> Folder:
    """A seat whose process is of another boot."""
    folder = made(str(tmp_path), "claude-1")
    registration.sit(
        folder,
        Seated(
            seat="s-1",
            token="t",
            conversation="c",
            harness="claude",
            session_id="native-1",
            pid=os.getpid(),
            began="linux:another-boot:1",
        ),
    )
    aged(folder, 31)
    return folder


def test_a_seat_that_ended_a_month_ago_leaves_nothing(ended: Folder, tmp_path: Path) -> None:
    assert sweep(tmp_path / "seats", NOW) == ["claude-1"]
    assert not Path(ended.path).exists()


def test_a_grant_that_nobody_used_goes_too(tmp_path: Path) -> None:
    aged(made(str(tmp_path), "codex-1"), 31)
    assert sweep(tmp_path / "seats", NOW) == ["codex-1"]


def test_what_was_written_lately_stays(ended: Folder, tmp_path: Path) -> None:
    aged(ended, 29)
    assert sweep(tmp_path / "seats", NOW) == []


def test_a_seat_whose_harness_lives_stays(ended: Folder, tmp_path: Path) -> None:
    seated = registration.seated(ended)
    assert seated is not None
    began = process.started_at(os.getpid())
    registration.sit(
        ended,
        Seated(
            seat=seated.seat,
            token=seated.token,
            conversation=seated.conversation,
            harness=seated.harness,
            session_id=seated.session_id,
            pid=os.getpid(),
            began=began,
        ),
    )
    aged(ended, 31)
    assert sweep(tmp_path / "seats", NOW) == []


def test_a_seat_with_a_driver_stays(ended: Folder, tmp_path: Path) -> None:
    with ended.locked(DRIVER):
        aged(ended, 31)
        assert sweep(tmp_path / "seats", NOW) == []


def test_where_no_seat_was_opened_there_is_nothing_to_do(tmp_path: Path) -> None:
    assert sweep(tmp_path / "seats", NOW) == []
