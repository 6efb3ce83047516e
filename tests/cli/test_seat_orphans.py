"""A seat whose driver was killed is taken up again, if its harness still lives."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from clankie.cli.seat_orphans import DRIVER, orphan
from clankie.seats import place as places
from clankie.seats import process, registration
from clankie.seats.folder import Folder, made
from clankie.seats.launch import NEWEST, Place
from clankie.seats.registration import Seated
from cli.conftest import Run


@pytest.fixture
def wanted(tmp_path: Path) -> Place:
    return Place(
        folder=tmp_path / "seats" / "codex-new",
        harness="codex",
        conversation="c-1",
        directory="/project",
        environment={"PATH": "/bin"},
        program=("clankie",),
        resume="thread-1",
    )


@pytest.fixture
def left(wanted: Place, tmp_path: Path) -> Folder:
    """A driven seat of a process that lives: this one."""
    folder = made(str(tmp_path), "codex-old")
    places.keep(folder, replace(wanted, folder=Path(folder.path), resume=None), driven=True)
    registration.sit(folder, seated())
    return folder


def seated() -> Seated:
    return Seated(
        seat="s-1",
        token="t",
        conversation="c-1",
        harness="codex",
        session_id="thread-1",
        pid=os.getpid(),
        began=process.started_at(os.getpid()),
    )


@pytest.mark.parametrize("resume", ["thread-1", NEWEST])
def test_the_seat_that_was_left_is_found_by_its_session(
    wanted: Place, left: Folder, resume: str
) -> None:
    found = orphan(replace(wanted, resume=resume), "c-1")
    assert found is not None
    folder, place = found
    assert folder.path == left.path
    assert place.environment["CLANKIE_SEAT_GRANT"] == left.file("grant.json")


@pytest.mark.parametrize(
    "change",
    [
        {"resume": None},
        {"resume": "thread-2"},
        {"harness": "pi"},
        {"headless": True},
        {"resume": NEWEST, "directory": "/elsewhere"},
    ],
)
@pytest.mark.usefixtures("left")
def test_another_one_is_not_taken_for_it(wanted: Place, change: dict[str, object]) -> None:
    assert orphan(replace(wanted, **change), None) is None  # type: ignore[arg-type] # any field


@pytest.mark.usefixtures("left")
def test_a_seat_of_another_conversation_is_left_alone(wanted: Place) -> None:
    assert orphan(wanted, "c-2") is None
    assert orphan(wanted, None) is not None


def test_a_spoilt_folder_beside_it_is_passed_over(wanted: Place, left: Folder) -> None:
    other = made(left.home, "codex-spoilt")
    os.mkfifo(other.file("seat.json"), 0o600)
    found = orphan(wanted, "c-1")
    assert found is not None
    assert found[0].path == left.path


def test_a_seat_with_a_driver_is_no_orphan(wanted: Place, left: Folder, run: Run) -> None:
    with left.locked(DRIVER):
        assert orphan(wanted, None) is None
        second = run("seat", "drive", left.path)
    assert second.code == 1
    assert "has a driver already" in second.err


def test_a_seat_whose_harness_has_ended_is_none(wanted: Place, left: Folder) -> None:
    registration.sit(left, replace(seated(), began="linux:another-boot:1"))
    assert orphan(wanted, None) is None


def test_a_seat_with_a_bridge_is_none(wanted: Place, left: Folder) -> None:
    places.keep(left, replace(wanted, folder=Path(left.path)), driven=False)
    assert orphan(wanted, None) is None


def test_where_no_seat_was_opened_there_is_none(wanted: Place) -> None:
    assert orphan(wanted, None) is None
