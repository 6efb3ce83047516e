"""What is new in a transcript: opened with care, read from where it was left off.

Rule 1: the path comes from a harness's hook and is not trusted. It must lie under a folder where
        this harness keeps transcripts, no part of it may be a link, and it must be our own file.
Rule 2: one run reads at most RUN bytes, and only whole lines; a line beyond LINE is skipped and
        counted.
Rule 3: an offset moves only when the service has what stood before it.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

# Hooks import this, and pathlib would cost them milliseconds.
# ruff: noqa: PTH100

RUN: Final = 8 * 1024 * 1024
LINE: Final = 4 * 1024 * 1024
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class TranscriptRefusedError(Exception):
    """This file is not read; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """How far a file was read. `skipping`: in the middle of a line that is too long.

    `inode` tells another file at the same path; 0: none was seen yet.
    """

    inode: int = 0
    offset: int = 0
    skipped: int = 0
    skipping: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A whole line, and the mark behind it."""

    data: bytes
    mark: Mark


def opened(path: str, folders: Sequence[str]) -> int:
    """A descriptor of a transcript that lies under one of `folders`; close it.

    Raises:
        TranscriptRefusedError: it lies elsewhere, a link leads there, or it is not our own file.
        FileNotFoundError: there is none (yet).
    """
    root, parts = _below(path, folders)
    above = os.open(root, _READ | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            below = _step(part, above, os.O_DIRECTORY)
            os.close(above)
            above = below
        # Without O_NONBLOCK a pipe at this place would hang us before we can look at it.
        descriptor = _step(parts[-1], above, os.O_NONBLOCK)
    finally:
        os.close(above)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
        os.close(descriptor)
        raise TranscriptRefusedError(f"{path} is not a file of ours")
    return descriptor


def _below(path: str, folders: Sequence[str]) -> tuple[str, list[str]]:
    if "\0" in path or ".." in path.split("/"):
        raise TranscriptRefusedError("its path is not a plain one")
    whole = os.path.abspath(path)
    for folder in folders:
        root = os.path.realpath(folder)
        # The harness may name it with the links that lead to its own folder, or without.
        for prefix in (os.path.abspath(folder), root):
            if whole.startswith(prefix + "/"):
                return root, whole[len(prefix) + 1 :].split("/")
    raise TranscriptRefusedError(f"{path} lies outside of the harness's folder")


def _step(part: str, above: int, more: int) -> int:
    try:
        return os.open(part, _READ | more, dir_fd=above)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise TranscriptRefusedError(f"{part!r} cannot be opened: {error.strerror}") from error


def start(descriptor: int, mark: Mark | None) -> Mark:
    """Where to read on: from the beginning, where it is another file than before, or was cut."""
    found = os.fstat(descriptor)
    if mark is None or mark.inode != found.st_ino or mark.offset > found.st_size:
        return Mark(inode=found.st_ino)
    return mark


def end(descriptor: int) -> Mark:
    """The mark behind all that is there: what was written before a seat sat there is not its own.

    A last line that is still being written counts as a line to skip.
    """
    found = os.fstat(descriptor)
    last = os.pread(descriptor, 1, found.st_size - 1) if found.st_size else b"\n"
    return Mark(inode=found.st_ino, offset=found.st_size, skipping=last != b"\n")


def lines(descriptor: int, mark: Mark) -> Generator[Line, None, Mark]:
    """The whole lines beyond the mark, at most RUN bytes. Returns the mark behind all of them."""
    data = os.pread(descriptor, RUN, mark.offset)
    at = 0
    while (newline := data.find(b"\n", at)) >= 0:
        line, at = data[at:newline], newline + 1
        behind = replace(mark, offset=mark.offset + len(line) + 1, skipping=False)
        if mark.skipping or len(line) > LINE:
            # One that a mark was in the middle of was counted when its beginning was skipped.
            counted = mark.skipped + (not mark.skipping)
            mark = replace(behind, skipped=counted)
            continue
        mark = behind
        yield Line(data=line, mark=mark)
    left = len(data) - at
    if mark.skipping or left > LINE:
        counted = mark.skipped + (not mark.skipping)
        mark = replace(mark, offset=mark.offset + left, skipped=counted, skipping=True)
    return mark
