"""What a picture says of itself in its first bytes: its type and its size. Nothing is decoded.

A header is a claim, not a proof: it is what a decoder would allocate memory for, and so what has to
be bounded before any decoder sees the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PNG: Final = "image/png"
JPEG: Final = "image/jpeg"
GIF: Final = "image/gif"
WEBP: Final = "image/webp"
TYPES: Final = frozenset({PNG, JPEG, GIF, WEBP})

_PNG_HEAD: Final = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
# Start of frame, all of them: baseline to arithmetic, without the tables that share the range.
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
# Markers without a length: they stand alone.
_ALONE: Final = frozenset({0x01, *range(0xD0, 0xD8)})
_PIXELS_FOLLOW: Final = 0xDA


@dataclass(frozen=True, slots=True)
class Picture:
    """Type and size, in pixels, as the header has them."""

    media_type: str
    width: int
    height: int

    @property
    def pixels(self) -> int:
        """Width times height."""
        return self.width * self.height


def measured(data: bytes) -> Picture | None:
    """The picture in `data`; None when its header is none that we know, or is cut or empty."""
    found = _png(data) or _gif(data) or _webp(data) or _jpeg(data)
    return found if found is not None and found.pixels > 0 else None


def _png(data: bytes) -> Picture | None:
    if not data.startswith(_PNG_HEAD):
        return None
    return Picture(PNG, _big(data[16:20]), _big(data[20:24]))


def _gif(data: bytes) -> Picture | None:
    if data[:6] not in {b"GIF87a", b"GIF89a"}:
        return None
    return Picture(GIF, _little(data[6:8]), _little(data[8:10]))


def _webp(data: bytes) -> Picture | None:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        return None
    kind = data[12:16]
    if kind == b"VP8X":
        return Picture(WEBP, _little(data[24:27]) + 1, _little(data[27:30]) + 1)
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        return Picture(WEBP, _little(data[26:28]) & 0x3FFF, _little(data[28:30]) & 0x3FFF)
    if kind == b"VP8L" and data[20:21] == b"\x2f":
        bits = _little(data[21:25])
        return Picture(WEBP, (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1)
    return None


def _jpeg(data: bytes) -> Picture | None:
    """The first frame's size: segments are passed over by their lengths, in one walk."""
    if data[:2] != b"\xff\xd8":
        return None
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:  # noqa: PLR2004 - what every marker begins with
        marker = data[at + 1]
        if marker == 0xFF:  # noqa: PLR2004 - filling before a marker
            at += 1
        elif marker in _FRAMES:
            return Picture(JPEG, _big(data[at + 7 : at + 9]), _big(data[at + 5 : at + 7]))
        elif marker in _ALONE:
            at += 2
        elif marker == _PIXELS_FOLLOW:
            return None
        else:
            at += 2 + _big(data[at + 2 : at + 4])
    return None


def _big(piece: bytes) -> int:
    return int.from_bytes(piece, "big")


def _little(piece: bytes) -> int:
    return int.from_bytes(piece, "little")
