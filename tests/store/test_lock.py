"""One process holds a state, and says so to the next."""

import errno
import fcntl
import json
import os
from pathlib import Path

import pytest

from clankie.store.errors import StateHeldError, StateUnwritableError
from clankie.store.lock import Lock


def test_a_second_holder_is_told_who_the_first_is(tmp_path: Path) -> None:
    with Lock.acquire(tmp_path):
        told = {"ready": True, "pid": 4711, "url": "http://127.0.0.1:4310"}
        (tmp_path / "run.json").write_text(json.dumps(told))
        with pytest.raises(StateHeldError) as refused:
            Lock.acquire(tmp_path)
    assert (refused.value.pid, refused.value.url) == (4711, "http://127.0.0.1:4310")
    assert "process 4711 at http://127.0.0.1:4310" in refused.value.detail


@pytest.mark.parametrize("told", [None, "", "[]", '{"pid": 1}', '{"pid": "x", "url": "y"}'])
def test_a_holder_that_has_not_told_its_name_yet_still_holds(
    tmp_path: Path, told: str | None
) -> None:
    if told is not None:
        (tmp_path / "run.json").write_text(told)
    with Lock.acquire(tmp_path), pytest.raises(StateHeldError) as refused:
        Lock.acquire(tmp_path)
    assert refused.value.pid is None


def test_a_pipe_in_the_place_of_the_run_file_hangs_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.json", 0o600)
    with Lock.acquire(tmp_path), pytest.raises(StateHeldError) as refused:
        Lock.acquire(tmp_path)
    assert refused.value.pid is None


def test_a_stale_run_file_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"pid": 1, "url": "http://x"}))
    Lock.acquire(tmp_path).release()


def test_a_released_lock_can_be_taken_again_and_is_held_no_more(tmp_path: Path) -> None:
    lock = Lock.acquire(tmp_path / "home")
    lock.require()
    lock.release()
    lock.release()
    with pytest.raises(StateHeldError):
        lock.require()
    Lock.acquire(tmp_path / "home").release()
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "home" / "lock").stat().st_mode & 0o777 == 0o600


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateUnwritableError):
        Lock.acquire(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_a_disk_that_knows_no_locks_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(_: int, __: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with pytest.raises(StateUnwritableError, match="No locks"):
        Lock.acquire(tmp_path)
