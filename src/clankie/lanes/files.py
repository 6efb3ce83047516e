"""The tools that read, list, search and write files of a workspace.

What stands in files is data: it reaches the model framed. Work on the disk happens on a thread and
is bounded in bytes, entries and time; a cancelled search ends at the next file.
"""

from __future__ import annotations

import asyncio
import heapq
import os
import stat
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from clankie.host.framing import one_line
from clankie.lanes import walk
from clankie.lanes.search import Search, found
from clankie.lanes.tools import DETAIL_LIMIT, Bench, Done, Tool, ToolFailedError

if TYPE_CHECKING:
    from collections.abc import Sequence

READ: Final = 262_144
"""Bytes of one read, and of one write."""

ENTRIES: Final = 1_000
_SCANNED: Final = 100_000
_BINARY: Final = 8_192

Path = Annotated[str, msgspec.Meta(max_length=4_096, description="relative to the workspace")]


class ListArguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Which directory, and after which name to go on."""

    path: Path = "."
    after: Annotated[str, msgspec.Meta(description="go on after this name")] = ""


class ReadArguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Which file, and from which byte."""

    path: Path
    offset: Annotated[int, msgspec.Meta(ge=0, le=2**62, description="first byte to read")] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=READ, description="bytes at most")] = READ


class SearchArguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What to look for: words in lines, a pattern of names, or both."""

    text: Annotated[
        str, msgspec.Meta(max_length=500, description="words that a line holds, as they are")
    ] = ""
    names: Annotated[
        str, msgspec.Meta(max_length=200, description="pattern of file names, such as *.py")
    ] = "*"
    path: Path = "."
    ignore_case: bool = False


class WriteArguments(msgspec.Struct, forbid_unknown_fields=True):
    """Which file, and all that it shall hold."""

    path: Path
    text: Annotated[str, msgspec.Meta(max_length=READ, description="the whole new content")]


async def _root(bench: Bench) -> str:
    root = await bench.host.workspace()
    if root is None:
        raise ToolFailedError("This conversation has no workspace.")
    return root


# ── list ─────────────────────────────────────────────────────────────────────────────────────────


def _entries(root: str, parts: Sequence[str], after: str) -> tuple[list[str], bool]:
    with walk.directory(root, parts) as here, os.scandir(here) as scan:
        names: list[str] = []
        whole = True
        for number, entry in enumerate(scan):
            if number >= _SCANNED:
                whole = False
                break
            if entry.name > after:
                names.append(entry.name)
        chosen = heapq.nsmallest(ENTRIES + 1, names)
        return [_line(here, name) for name in chosen[:ENTRIES]], whole and len(chosen) <= ENTRIES


def _line(here: int, name: str) -> str:
    shown = one_line(os.fsencode(name).decode("utf-8", "replace"), 255)
    try:
        status = os.stat(name, dir_fd=here, follow_symlinks=False)
    except OSError:
        return shown
    if stat.S_ISDIR(status.st_mode):
        return f"{shown}/"
    if stat.S_ISLNK(status.st_mode):
        return f"{shown} (link, not followed)"
    if not stat.S_ISREG(status.st_mode):
        return f"{shown} (no regular file)"
    return f"{shown} ({status.st_size} bytes)"


async def _list_files(arguments: ListArguments, bench: Bench) -> Done:
    root = await _root(bench)
    parts = walk.parts_of(root, arguments.path)
    lines, whole = await asyncio.to_thread(_entries, root, parts, arguments.after)
    shown = "/".join(parts) or "."
    text = bench.quoted("directory", shown, "\n".join(lines) or "(empty)")
    if not whole:
        text += f"\nThere is more: this is limited to {ENTRIES} entries. Use `after`."
    return Done(text, one_line(f"{len(lines)} entries of {shown}", DETAIL_LIMIT))


# ── read ─────────────────────────────────────────────────────────────────────────────────────────


def _read(root: str, parts: Sequence[str], offset: int, limit: int) -> tuple[bytes, int]:
    with walk.file(root, parts) as descriptor:
        size = os.fstat(descriptor).st_size
        data = bytearray()
        while len(data) < limit:
            piece = os.pread(descriptor, limit - len(data), offset + len(data))
            if not piece:
                break
            data += piece
        return bytes(data), max(size, offset + len(data))


async def _read_file(arguments: ReadArguments, bench: Bench) -> Done:
    root = await _root(bench)
    parts = walk.parts_of(root, arguments.path)
    data, size = await asyncio.to_thread(_read, root, parts, arguments.offset, arguments.limit)
    shown, end = "/".join(parts), arguments.offset + len(data)
    if b"\0" in data[:_BINARY]:
        return Done(
            f"error: it is a binary file of {size} bytes and is not shown.",
            one_line(f"{shown} is binary", DETAIL_LIMIT),
        )
    text = bench.quoted("file", shown, data.decode("utf-8", "replace"))
    if end < size:
        text += f"\nBytes {arguments.offset} to {end} of {size}; go on with offset {end}."
    return Done(text, one_line(f"{len(data)} bytes of {shown}", DETAIL_LIMIT))


# ── search ───────────────────────────────────────────────────────────────────────────────────────


async def _search_files(arguments: SearchArguments, bench: Bench) -> Done:
    if not arguments.text and arguments.names == "*":
        raise ToolFailedError("Nothing was looked for: give `text`, `names`, or both.")
    root = await _root(bench)
    parts = walk.parts_of(root, arguments.path)
    search = Search(
        text=arguments.text,
        names=arguments.names,
        ignore_case=arguments.ignore_case,
        now=bench.clock.monotonic,
    )
    try:
        result = await asyncio.to_thread(found, search, root, parts)
    finally:
        search.stop.set()
    shown = "/".join(parts) or "."
    text = bench.quoted("search", shown, "\n".join(result.lines) or "(nothing found)")
    if result.cut:
        text += f"\nThe search ended early: {result.cut}. Narrow it with `path` or `names`."
    return Done(text, one_line(f"{len(result.lines)} hits in {shown}", DETAIL_LIMIT))


# ── write ────────────────────────────────────────────────────────────────────────────────────────


def _write(root: str, parts: Sequence[str], data: bytes, part: str) -> None:
    with walk.directory(root, parts[:-1], make=True) as here:
        name = parts[-1]
        mode = _mode(here, name)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(part, flags, mode, dir_fd=here)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            # Put in place whole: a reader, or a crash, sees the old content or the new.
            os.rename(part, name, src_dir_fd=here, dst_dir_fd=here)
        except OSError:
            _forget(here, part)
            raise


def _mode(here: int, name: str) -> int:
    try:
        status = os.stat(name, dir_fd=here, follow_symlinks=False)
    except FileNotFoundError:
        return 0o644
    if not stat.S_ISREG(status.st_mode):
        raise ToolFailedError("Nothing was written: there is something of that name, and no file.")
    return stat.S_IMODE(status.st_mode) & 0o777


def _forget(here: int, part: str) -> None:
    try:
        os.unlink(part, dir_fd=here)
    except OSError:
        return  # it was not made, or is in place already


async def _write_file(arguments: WriteArguments, bench: Bench) -> Done:
    root = await _root(bench)
    parts = walk.parts_of(root, arguments.path)
    if not parts or PurePosixPath(arguments.path).name in {"", ".", ".."}:
        raise ToolFailedError("Name a file.")
    data = arguments.text.encode("utf-8", "replace")
    if len(data) > READ:
        raise ToolFailedError(f"Nothing was written: more than {READ} bytes.")
    await asyncio.to_thread(_write, root, parts, data, f".{bench.ids.new('part')}")
    shown = "/".join(parts)
    return Done(
        f"Wrote {len(data)} bytes.", one_line(f"{len(data)} bytes to {shown}", DETAIL_LIMIT)
    )


LIST_FILES: Final = Tool(
    name="list_files",
    description="List a directory of the workspace, sorted by name.",
    arguments=ListArguments,
    effect=False,
    run=_list_files,
)
READ_FILE: Final = Tool(
    name="read_file",
    description="Read a text file of the workspace, at most 256 KiB at a time.",
    arguments=ReadArguments,
    effect=False,
    run=_read_file,
)
SEARCH_FILES: Final = Tool(
    name="search_files",
    description=(
        "Find files of the workspace by name, or lines in them that hold given words exactly. "
        "Folders of version control and of installed packages are passed over."
    ),
    arguments=SearchArguments,
    effect=False,
    run=_search_files,
)
WRITE_FILE: Final = Tool(
    name="write_file",
    description="Write a whole text file of the workspace; directories are made as needed.",
    arguments=WriteArguments,
    effect=True,
    run=_write_file,
)
