"""A transcript is opened with care and read from where it was left off."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clankie.seats import tail
from clankie.seats.tail import Mark, TranscriptRefusedError

Open = Callable[[Path], int]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "harness" / "projects"
    inner.mkdir(parents=True)
    return tmp_path / "harness"


@pytest.fixture
def opening(folder: Path) -> Iterator[Open]:
    found: list[int] = []

    def open_(path: Path) -> int:
        found.append(tail.opened(str(path), (str(folder),)))
        return found[-1]

    yield open_
    for one in found:
        os.close(one)


def read(descriptor: int, mark: Mark) -> tuple[list[bytes], Mark]:
    found, lines = [], tail.lines(descriptor, mark)
    while True:
        try:
            found.append(next(lines).data)
        except StopIteration as end:
            return found, end.value


# proves: SEC-5
def test_a_file_below_the_harness_folder_is_opened(folder: Path, opening: Open) -> None:
    (folder / "projects" / "a.jsonl").write_bytes(b"one\n")
    descriptor = opening(folder / "projects" / "a.jsonl")
    assert read(descriptor, Mark())[0] == [b"one"]


def test_the_folder_itself_may_be_reached_through_a_link(folder: Path, tmp_path: Path) -> None:
    (folder / "projects" / "a.jsonl").write_bytes(b"one\n")
    link = tmp_path / "link"
    link.symlink_to(folder)
    for given_path in (link / "projects" / "a.jsonl", folder / "projects" / "a.jsonl"):
        os.close(tail.opened(str(given_path), (str(link),)))


# proves: SEC-5
@pytest.mark.parametrize(
    "made",
    [lambda path: path.symlink_to("/etc/passwd"), Path.mkdir, os.mkfifo],
    ids=["a link", "a folder", "a pipe"],
)
def test_what_is_no_file_of_ours_is_refused(folder: Path, made: Callable[[Path], None]) -> None:
    made(folder / "projects" / "x")
    with pytest.raises(TranscriptRefusedError):
        tail.opened(str(folder / "projects" / "x"), (str(folder),))


# proves: SEC-5
def test_a_file_of_somebody_else_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a.jsonl").write_text("theirs\n")
    monkeypatch.setattr(os, "getuid", lambda: 4_242)
    with pytest.raises(TranscriptRefusedError, match="ours"):
        tail.opened(str(folder / "a.jsonl"), (str(folder),))


# proves: SEC-5
def test_a_file_elsewhere_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("not for the log\n")
    (tmp_path / "harness-2").mkdir()
    (tmp_path / "harness-2" / "a.jsonl").write_text("nor this\n")
    for path in (tmp_path / "secret", tmp_path / "harness-2" / "a.jsonl"):
        with pytest.raises(TranscriptRefusedError):
            tail.opened(str(path), (str(folder),))


# proves: SEC-5
def test_a_link_on_the_way_is_refused(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.jsonl").write_text("secret\n")
    (folder / "projects" / "way").symlink_to(elsewhere)
    with pytest.raises(TranscriptRefusedError):
        tail.opened(str(folder / "projects" / "way" / "a.jsonl"), (str(folder),))


@pytest.mark.parametrize("path", ["{}/projects/../../secret", "{}/a\0b", "relative", "{}"])
def test_a_path_that_is_not_a_plain_one_is_refused(folder: Path, path: str) -> None:
    with pytest.raises(TranscriptRefusedError):
        tail.opened(path.format(folder), (str(folder),))


def test_a_file_that_is_not_there_yet_is_no_refusal(folder: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tail.opened(str(folder / "projects" / "later.jsonl"), (str(folder),))


def test_only_what_is_new_is_read_and_only_whole_lines(folder: Path, opening: Open) -> None:
    path = folder / "a.jsonl"
    path.write_bytes(b"one\ntwo\nthr")
    descriptor = opening(path)
    found, mark = read(descriptor, Mark())
    assert found == [b"one", b"two"]
    with path.open("ab") as file:
        file.write(b"ee\nfour\n")
    found, mark = read(descriptor, mark)
    assert found == [b"three", b"four"]
    assert read(descriptor, mark) == ([], mark)


# proves: SEC-5
def test_a_line_that_is_too_long_is_skipped_and_counted(
    folder: Path, opening: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "LINE", 10)
    path = folder / "a.jsonl"
    path.write_bytes(b"one\n" + b"x" * 11 + b"\ntwo\n" + b"y" * 30)
    descriptor = opening(path)
    found, mark = read(descriptor, Mark())
    assert found == [b"one", b"two"]
    assert (mark.skipped, mark.skipping) == (2, True)
    with path.open("ab") as file:
        file.write(b"yyy\nthree\n")
    found, mark = read(descriptor, mark)
    assert found == [b"three"]
    assert (mark.skipped, mark.skipping) == (2, False)


# proves: SEC-5
@given(
    st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b" ")), max_size=20),
    st.integers(1, 9),
    st.integers(10, 24),
)
def test_however_it_is_cut_into_runs_each_line_comes_once(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes], line: int, run: int
) -> None:
    path = tmp_path_factory.mktemp("tail") / "a.jsonl"
    path.write_bytes(b"".join(row + b"\n" for row in rows))
    patch = pytest.MonkeyPatch()
    patch.setattr(tail, "LINE", line)
    patch.setattr(tail, "RUN", run)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        mark, found = Mark(), []
        while mark.offset < path.stat().st_size:
            rows_read, behind = read(descriptor, mark)
            assert 0 < behind.offset - mark.offset <= run
            found += rows_read
            mark = behind
    finally:
        os.close(descriptor)
        patch.undo()
    assert found == [row for row in rows if len(row) <= line]
    assert mark.skipped == sum(len(row) > line for row in rows)


def test_another_file_at_the_same_path_is_read_from_its_beginning(
    folder: Path, opening: Open
) -> None:
    path = folder / "a.jsonl"
    path.write_bytes(b"one\ntwo\n")
    _, mark = read(opening(path), tail.start(opening(path), None))
    path.unlink()
    (folder / "b.jsonl").write_bytes(b"takes the old one's number\n")
    path.write_bytes(b"three\nfour and more\n")
    again = opening(path)
    assert read(again, tail.start(again, mark))[0] == [b"three", b"four and more"]


def test_a_file_that_was_cut_is_read_from_its_beginning(folder: Path, opening: Open) -> None:
    path = folder / "a.jsonl"
    path.write_bytes(b"one\ntwo\n")
    descriptor = opening(path)
    _, mark = read(descriptor, tail.start(descriptor, None))
    with path.open("r+b") as file:
        file.truncate(4)
    assert read(descriptor, tail.start(descriptor, mark))[0] == [b"one"]


def test_a_seat_that_begins_at_the_end_leaves_out_a_line_that_is_being_written(
    folder: Path, opening: Open
) -> None:
    path = folder / "a.jsonl"
    path.write_bytes(b"before\nhalf")
    descriptor = opening(path)
    mark = tail.end(descriptor)
    with path.open("ab") as file:
        file.write(b" a line\nafter\n")
    found, mark = read(descriptor, mark)
    assert (found, mark.skipped) == ([b"after"], 0)
