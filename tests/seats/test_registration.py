"""A grant is exchanged once, whoever of hook and bridge comes first."""

import os
import threading
from pathlib import Path

import pytest

from clankie.seats import process, registration
from clankie.seats.folder import (
    Folder,
    NotASeatError,
    SeatFolderError,
    StrangeFileError,
    current,
    made,
)
from clankie.seats.registration import Arrival, ServiceRefusedError, register
from clankie.seats.unix import WireError
from fakes.unix_service import UnixService

WHO = Arrival(session_id="native-1", pane="%3")


def test_a_seat_is_registered_with_what_runs_it(granted: Folder, unix: UnixService) -> None:
    granted.put("pid", str(os.getpid()).encode())
    seated = register(granted, WHO)
    [asked] = unix.asked
    assert asked.path == "/v1/seats"
    assert asked.token is None, "the grant is the proof"
    assert asked.body["grant"] == "the-secret"
    assert asked.body["native"] == {
        "session_id": "native-1",
        "pid": os.getpid(),
        "process_started_at": process.started_at(os.getpid()),
    }
    assert asked.body["pane"] == "%3"
    assert (seated.seat, seated.token) == ("s-1", "the-token")
    assert registration.seated(granted) == seated


def test_nothing_in_a_seats_folder_is_for_others(granted: Folder, unix: UnixService) -> None:
    register(granted, WHO)
    assert unix.asked
    assert Path(granted.path).stat().st_mode & 0o777 == 0o700
    for file in Path(granted.path).iterdir():
        assert file.stat().st_mode & 0o777 == 0o600, file


def test_the_grant_is_gone_once_it_was_exchanged(granted: Folder, unix: UnixService) -> None:
    register(granted, WHO)
    assert not Path(granted.file("grant.json")).exists()
    assert register(granted, Arrival(session_id="native-1")).seat == "s-1"
    assert len(unix.to("/seats")) == 1


def test_hook_and_bridge_at_once_exchange_it_once(granted: Folder, unix: UnixService) -> None:
    both = threading.Barrier(8)
    found: list[str] = []

    def arrive() -> None:
        both.wait()
        found.append(register(granted, WHO).token)

    arrivals = [threading.Thread(target=arrive) for _ in range(8)]
    for one in arrivals:
        one.start()
    for one in arrivals:
        one.join()
    assert found == ["the-token"] * 8
    assert len(unix.to("/seats")) == 1


def test_a_refusal_leaves_no_seat(granted: Folder, unix: UnixService) -> None:
    unix.answers["seats"] = [
        (409, {"code": "attachment_conflict", "detail": "Another seat is there."})
    ]
    with pytest.raises(ServiceRefusedError, match="attachment_conflict"):
        register(granted, WHO)
    assert registration.seated(granted) is None


def test_without_a_service_the_grant_stays(granted: Folder) -> None:
    with pytest.raises(WireError) as error:
        register(granted, WHO)
    assert not error.value.sent
    assert granted.read("grant.json") is not None


def test_without_a_grant_there_is_no_seat(granted: Folder) -> None:
    granted.remove("grant.json")
    with pytest.raises(NotASeatError):
        register(granted, WHO)


def test_the_process_is_the_launchers_else_our_parent(granted: Folder, unix: UnixService) -> None:
    register(granted, WHO)
    assert unix.asked[0].body["native"]["pid"] == os.getppid()


def test_the_environment_names_the_folder(granted: Folder) -> None:
    found = current({"CLANKIE_SEAT_GRANT": granted.file("grant.json")})
    assert (found.path, found.socket) == (granted.path, f"{granted.home}/service.sock")
    with pytest.raises(NotASeatError):
        current({})
    with pytest.raises(NotASeatError):
        current({"CLANKIE_SEAT_GRANT": granted.file("no/such/grant.json")})


def test_a_folder_that_others_can_enter_is_not_used(granted: Folder) -> None:
    Path(granted.path).chmod(0o755)
    with pytest.raises(SeatFolderError, match="alone"):
        current({"CLANKIE_SEAT_GRANT": granted.file("grant.json")})


def test_a_link_in_place_of_a_folder_is_not_used(granted: Folder, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(granted.path)
    with pytest.raises(SeatFolderError, match="alone"):
        current({"CLANKIE_SEAT_GRANT": str(link / "grant.json")})


def test_a_link_in_place_of_a_file_is_not_followed(granted: Folder, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_text('{"seat": "s"}')
    Path(granted.file("seat.json")).symlink_to(target)
    with pytest.raises(StrangeFileError):
        granted.read("seat.json")


def test_two_seats_cannot_have_one_folder(granted: Folder) -> None:
    with pytest.raises(FileExistsError):
        made(granted.home, granted.name)


def test_a_process_is_told_from_another_of_its_number() -> None:
    mine = process.started_at(os.getpid())
    assert process.alive(os.getpid(), mine)
    assert not process.alive(os.getpid(), "linux:another-boot:1")
    assert process.alive(os.getpid(), "")
    assert process.started_at(2**22 + 1) == ""
    assert not process.alive(2**22 + 1, "")
