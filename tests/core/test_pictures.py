"""What headers of pictures say, built here byte by byte."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clankie.core.pictures import GIF, JPEG, PNG, TYPES, WEBP, Picture, measured


def png(width: int, height: int) -> bytes:
    head = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
    return head + struct.pack(">II", width, height) + b"\x08\x02\x00\x00\x00"


def gif(width: int, height: int, version: bytes = b"89a") -> bytes:
    return b"GIF" + version + struct.pack("<HH", width, height) + b"\x00\x00\x00"


def segment(marker: int, body: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body


def jpeg(width: int, height: int, frame: int = 0xC0, before: bytes | None = None) -> bytes:
    lead = segment(0xE0, b"JFIF\0") if before is None else before
    size = b"\x08" + struct.pack(">HH", height, width) + b"\x03"
    return b"\xff\xd8" + lead + segment(frame, size) + b"\0" * 8


def riff(kind: bytes, body: bytes) -> bytes:
    return b"RIFF\x00\x00\x00\x00WEBP" + kind + struct.pack("<I", len(body)) + body


def extended(width: int, height: int) -> bytes:
    sizes = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return riff(b"VP8X", b"\x10\0\0\0" + sizes)


def lossy(width: int, height: int) -> bytes:
    # The two highest bits of each are a scale, not a size.
    sizes = struct.pack("<HH", width | 0x4000, height | 0x8000)
    return riff(b"VP8 ", b"\x30\x01\x00\x9d\x01\x2a" + sizes)


def lossless(width: int, height: int) -> bytes:
    bits = (width - 1) | ((height - 1) << 14) | (1 << 28)
    return riff(b"VP8L", b"\x2f" + bits.to_bytes(4, "little"))


@pytest.mark.parametrize("size", [(1, 1), (640, 480), (40_000, 3)])
def test_png_gif_and_jpeg_say_their_size(size: tuple[int, int]) -> None:
    assert measured(png(*size)) == Picture(PNG, *size)
    assert measured(gif(*size)) == Picture(GIF, *size)
    assert measured(gif(*size, b"87a")) == Picture(GIF, *size)
    assert measured(jpeg(*size)) == Picture(JPEG, *size)


@pytest.mark.parametrize("size", [(1, 1), (640, 480), (16_383, 3)])
def test_each_of_the_three_kinds_of_webp_says_its_size(size: tuple[int, int]) -> None:
    for made in (extended, lossy, lossless):
        assert measured(made(*size)) == Picture(WEBP, *size), made


def test_a_picture_counts_its_pixels() -> None:
    assert Picture(PNG, 6_000, 4_000).pixels == 24_000_000
    assert len(TYPES) == 4


@pytest.mark.parametrize("frame", [0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xCF])
def test_every_kind_of_frame_of_a_jpeg_counts(frame: int) -> None:
    assert measured(jpeg(7, 5, frame)) == Picture(JPEG, 7, 5)


@pytest.mark.parametrize("table", [0xC4, 0xC8, 0xCC])
def test_tables_that_share_the_range_of_frames_are_passed_over(table: int) -> None:
    assert measured(jpeg(7, 5, before=segment(table, b"\0" * 30))) == Picture(JPEG, 7, 5)


@pytest.mark.parametrize("alone", [0x01, 0xD0, 0xD7])
def test_markers_without_a_length_and_filling_are_passed_over(alone: int) -> None:
    lead = b"\xff\xff" + bytes([0xFF, alone]) + segment(0xFE, b"a comment")
    assert measured(jpeg(7, 5, before=lead)) == Picture(JPEG, 7, 5)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"just some text",
        png(0, 9),
        png(9, 9)[:20],
        gif(9, 0),
        b"GIF90a" + gif(9, 9)[6:],
        riff(b"VP8 ", b"\1" * 20),
        riff(b"VP8L", b"\0" * 20),
        riff(b"ALPH", b"\0" * 20),
        b"RIFF\0\0\0\0WAVE" + lossy(9, 9)[12:],
        b"FORM" + lossy(9, 9)[4:],
        b"\xff\xd8\xff",
        jpeg(7, 5, before=segment(0xDA, b"\0" * 4)),
        jpeg(7, 5, before=b"\x00\x00" + segment(0xE0, b"")),
        jpeg(7, 5)[:14],
        b"\xff\xd9" + jpeg(7, 5)[2:],
    ],
)
def test_what_is_cut_empty_or_something_else_is_no_picture(data: bytes) -> None:
    assert measured(data) is None


def test_segments_that_say_they_have_no_length_come_to_an_end() -> None:
    assert measured(b"\xff\xd8" + b"\xff\xe0\x00\x00" * 5_000) is None


@given(st.sampled_from([png, gif, jpeg, extended, lossy, lossless]), st.binary(max_size=64))
def test_whatever_follows_a_whole_header_changes_nothing(made: object, more: bytes) -> None:
    assert callable(made)
    assert measured(made(3, 4) + more) == measured(made(3, 4)) is not None


@given(st.sampled_from([b"\xff\xd8", b"GIF89a", b"RIFF", b"\x89PNG\r\n\x1a\n"]), st.binary())
def test_no_bytes_at_all_make_it_fail(head: bytes, rest: bytes) -> None:
    found = measured(head + rest)
    assert found is None or found.pixels > 0
