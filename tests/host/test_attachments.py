"""Files that come with a message: looked at, kept once under their digest, read by the turn."""

import hashlib
from pathlib import Path

import pytest

from clankie.core.errors import ClankieError, InvalidFieldError, ShuttingDownError
from clankie.host.attachments import checked_name, keep, kept_type, named
from clankie.host.ports import LaneResult, TurnHost, TurnRequest
from fakes.clock import FakeClock
from fakes.hall import Machine
from fakes.lane import ScriptedLane
from fakes.loop import virtual

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (640).to_bytes(4, "big") + (480).to_bytes(4, "big")


@virtual
async def test_the_same_bytes_are_kept_once_and_found_by_their_digest(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        first = await keep(hall.house, "notes.txt", "text/plain", b"hello")
        again = await keep(hall.house, "copy.md", "text/markdown", b"hello")
        assert first.digest == again.digest == hashlib.sha256(b"hello").hexdigest()
        assert (first.size, again.media_type, again.name) == (5, "text/plain", "copy.md")
        found = await named(hall.house, [(first.digest, "as I call it.txt")])
        assert [(one.name, one.media_type) for one in found] == [("as I call it.txt", "text/plain")]


@virtual
async def test_a_picture_is_what_its_header_says(clock: FakeClock, tmp_path: Path) -> None:
    override = {"attachments": {"megapixels": 1.0}}
    async with Machine(tmp_path, clock).on(override=override) as hall:
        assert (await keep(hall.house, "cat.png", "image/png", PNG)).media_type == "image/png"
        for kind, data in (
            ("image/gif", PNG),
            ("image/png", b"no picture"),
            ("image/png", PNG[:16] + (9_000).to_bytes(4, "big") * 2),
        ):
            with pytest.raises(InvalidFieldError):
                await keep(hall.house, "cat.png", kind, data)


@virtual
async def test_what_cannot_be_kept_is_refused(clock: FakeClock, tmp_path: Path) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        limit = hall.house.settings.attachments.bytes
        for name, data in (
            ("", b"x"),
            ("a/b", b"x"),
            ("a.txt", b""),
            ("a.txt", b"x" * (limit + 1)),
            ("a.txt", b"\xff\xfe"),
            ("a.txt", b"nul\0"),
        ):
            with pytest.raises(InvalidFieldError):
                await keep(hall.house, name, "text/plain", data)
        await hall.house.captain.stop()
        with pytest.raises(ShuttingDownError):
            await keep(hall.house, "a.txt", "text/plain", b"x")


@virtual
async def test_a_message_names_only_so_many_and_only_what_is_there(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        most = hall.house.settings.attachments.count
        with pytest.raises(InvalidFieldError):
            await named(hall.house, [("0" * 64, "a.txt")] * (most + 1))
        with pytest.raises(ClankieError):
            await named(hall.house, [("0" * 64, "a.txt")])
        assert await named(hall.house, []) == ()


@virtual
async def test_a_turn_reads_what_came_with_its_message(clock: FakeClock, tmp_path: Path) -> None:
    async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
        (one,) = request.delivery.attachments
        return LaneResult(text=(await host.attachment(one.digest)).decode())

    async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
        kept = await keep(hall.house, "notes.txt", "text/plain", b"the words of the file")
        await hall.send("read this", "m-1", attachments=(kept,))
        await hall.ended("m-1")
        assert await hall.said() == ["the words of the file"]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("Text/Plain; charset=utf-8", "text/plain"),
        ("application/json", "application/json"),
        ("image/png", "image/png"),
        ("image/svg+xml", None),
        ("application/octet-stream", None),
        ("", None),
    ],
)
def test_only_types_that_a_model_can_use_are_kept(given: str, kept: str | None) -> None:
    assert kept_type(given) == kept


def test_the_name_of_a_file_is_no_path() -> None:
    assert checked_name("über uns (2).txt") == "über uns (2).txt"
    for name in ("../x", "a\\b", "a\nb", "   ", "x" * 121):
        with pytest.raises(InvalidFieldError):
            checked_name(name)
