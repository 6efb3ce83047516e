"""Faults in what is read from the headers of pictures. See faults.py."""

PICTURES = [
    ("an empty picture counts", "found.pixels > 0", "found.pixels >= 0"),
    ("a picture has no area", "self.width * self.height", "self.width + self.height"),
    ("a PNG lies on its side", "_big(data[16:20]), _big(data[20:24])", "_big(data[20:24]), 1"),
    ("an old GIF is none", 'b"GIF87a", b"GIF89a"', 'b"GIF89a"'),
    ("a GIF reads its bytes backwards", "_little(data[6:8])", "_big(data[6:8])"),
    ("any RIFF is a picture", 'data[:4] != b"RIFF" or data[8:12]', "data[8:12]"),
    ("a sound is a picture", ' or data[8:12] != b"WEBP"', ""),
    ("an extended WebP is one pixel short", "_little(data[24:27]) + 1", "_little(data[24:27])"),
    ("the scale counts as size", "_little(data[26:28]) & 0x3FFF", "_little(data[26:28])"),
    ("a lossy WebP needs no start code", r' and data[23:26] == b"\x9d\x01\x2a"', ""),
    ("a lossless WebP needs no signature", r' and data[20:21] == b"\x2f"', ""),
    ("a lossless height is cut", "bits >> 14", "bits >> 13"),
    ("a table of a JPEG is a frame", "{0xC4, 0xC8, 0xCC}", "{0xC8, 0xCC}"),
    ("a JPEG lies on its side", "_big(data[at + 7 : at + 9]), _big", "1, _big"),
    ("filling ends a JPEG", "            at += 1\n", "            return None\n"),
    ("lone markers have a length", "0x01, *range(0xD0, 0xD8)", "0x02"),
    ("pixels are walked over", "_PIXELS_FOLLOW: Final = 0xDA", "_PIXELS_FOLLOW: Final = 0xDB"),
]
