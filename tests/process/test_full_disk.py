"""The disk is full: nothing new is promised, nothing promised is lost, and it goes on by itself."""

from collections.abc import Callable
from io import RawIOBase
from pathlib import Path

import pytest

from process.service import Place, Service

Room = Callable[[], None]
"""Takes all room from the disk, or gives it back."""

LIMIT = 64 * 1024


def limited_files(place: Place) -> tuple[Service, Room, Room]:
    """No file may grow any more: the same to a program, and possible on every machine."""
    service = place.start()

    def fill() -> None:
        log = place.database.with_name("clankie.db-wal")
        assert log.stat().st_size > LIMIT, "what is written next must lie beyond the limit"
        service.tell("limit_files", LIMIT)

    return service, fill, lambda: service.tell("limit_files", None)


def write_for_ever(file: RawIOBase, data: bytes) -> None:
    while True:
        file.write(data)


def small_disk(place: Place) -> tuple[Service, Room, Room]:
    """A disk of its own that is really full; limited files where that cannot be had."""
    service = place.begin(CLANKIE_TEST_DISK=str(4 * 1024 * 1024))
    if service.heard() == "not mounted":
        service.kill()
        return limited_files(place)
    service.wait_ready()
    place.home = Path(f"/proc/{service.pid}/root{place.home}")
    service.client = type(service.client)(place.home)
    filler = place.home / "filler"

    def fill() -> None:
        with filler.open("wb", buffering=0) as file:
            for size in (4096, 1):
                with pytest.raises(OSError, match="space"):
                    write_for_ever(file, b"0" * size)

    return service, fill, filler.unlink


Disk = Callable[[Place], tuple[Service, Room, Room]]


@pytest.mark.parametrize("disk", [limited_files, small_disk])
def test_what_comes_is_refused_what_was_accepted_stays_and_what_runs_is_stored_in_the_end(
    place: Place, disk: Disk
) -> None:
    # proves: FENCE-1, FENCE-10
    service, fill, free = disk(place)
    place.send(service, "m-1", "say")
    assert service.client.known("m-1")["state"] == "settled"
    place.send(service, "m-2", "hold")
    place.model.wait_asked("m-2")
    fill()

    for attempt in range(3):
        refused = service.client.send(f"m-3-{attempt}", "say [m-3]")
        assert (refused.status, refused.code) == (503, "storage_unavailable"), refused
        assert int(refused.headers["retry-after"]) > 0
        assert service.client.receipt(f"m-3-{attempt}").status == 404
    assert service.client.known("m-1")["state"] == "settled"
    place.model.release("m-2")
    waiting = service.client.send("m-4", "say [m-4]")
    assert waiting.status == 503

    free()
    assert (receipt := service.client.known("m-2"))["state"] == "settled", receipt
    place.send(service, "m-4", "say")
    assert service.client.known("m-4")["state"] == "settled"
    said = [one["text"] for one in service.client.events() if one.get("role") == "agent"]
    assert said == ["said m-1", "said m-2", "said m-4"]
    service.terminate()
    assert service.ended() == 0


@pytest.mark.parametrize("disk", [limited_files, small_disk])
def test_a_service_on_a_full_disk_can_be_stopped(place: Place, disk: Disk) -> None:
    service, fill, _ = disk(place)
    service.client.set("lifecycle", drain=0)
    place.send(service, "m-1", "say")
    service.client.known("m-1")
    fill()
    service.terminate()
    assert service.ended() == 0


def test_a_service_without_room_to_begin_says_so(place: Place) -> None:
    # Enough for the sentence, not for a database.
    said = place.refused(CLANKIE_TEST_FILE_LIMIT="3000")
    assert "cannot" in said
