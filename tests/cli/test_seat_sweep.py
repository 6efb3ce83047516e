"""Folders of seats go a month after they ended, and not before."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from clankie.cli.client import Client
from clankie.cli.failures import ServiceDownError
from clankie.cli.seat_orphans import DRIVER
from clankie.cli.seat_sweep import sweep
from clankie.seats import registration
from clankie.seats.folder import Folder, made
from clankie.seats.registration import Seated
from fakes.clock import START, FakeClock
from fakes.service import ADDRESS, Scripted


def aged(folder: Folder, days: float) -> None:
    at = (START - timedelta(days=days)).timestamp()
    for one in (*Path(folder.path).iterdir(), Path(folder.path)):
        os.utime(one, (at, at))


@pytest.fixture
def ended(tmp_path: Path) -> Folder:
    """A seat that was there a month ago."""
    folder = made(str(tmp_path), "claude-1")
    registration.sit(
        folder,
        Seated(
            seat="s-1",
            token="t",
            conversation="c",
            harness="claude",
            session_id="native-1",
            pid=1,
        ),
    )
    aged(folder, 31)
    return folder


def swept(home: Path, *listed: str) -> Scripted:
    """What the service was asked."""
    service = Scripted({"seats": [{"seat": one} for one in listed]})
    sweep(Client(ADDRESS, service), str(home), FakeClock())
    return service


def test_a_seat_that_ended_a_month_ago_leaves_nothing(ended: Folder, tmp_path: Path) -> None:
    swept(tmp_path)
    assert not Path(ended.path).exists()


def test_a_grant_that_nobody_used_goes_too(tmp_path: Path) -> None:
    unused = made(str(tmp_path), "codex-1")
    aged(unused, 31)
    swept(tmp_path, "s-1")
    assert not Path(unused.path).exists()


def test_what_was_written_lately_stays(ended: Folder, tmp_path: Path) -> None:
    aged(ended, 29)
    assert swept(tmp_path).calls == [], "nobody needs to be asked"
    assert Path(ended.path).exists()


def test_a_seat_that_the_service_knows_stays(ended: Folder, tmp_path: Path) -> None:
    swept(tmp_path, "s-1")
    assert Path(ended.path).exists()


def test_a_seat_with_a_driver_stays(ended: Folder, tmp_path: Path) -> None:
    with ended.locked(DRIVER):
        aged(ended, 31)
        swept(tmp_path)
    assert Path(ended.path).exists()


def test_what_is_no_folder_of_ours_stays(ended: Folder, tmp_path: Path) -> None:
    Path(ended.path).chmod(0o755)
    (tmp_path / "seats" / "a-file").write_text("x")
    aged(ended, 31)
    swept(tmp_path)
    assert Path(ended.path).exists()
    assert (tmp_path / "seats" / "a-file").exists()


def test_where_the_service_does_not_say_which_seats_there_are_nothing_goes(
    ended: Folder, tmp_path: Path
) -> None:
    service = Scripted(ServiceDownError("nobody"))
    with pytest.raises(ServiceDownError):
        sweep(Client(ADDRESS, service), str(tmp_path), FakeClock())
    assert Path(ended.path).exists()


def test_where_no_seat_was_opened_there_is_nothing_to_do(tmp_path: Path) -> None:
    assert swept(tmp_path).calls == []
