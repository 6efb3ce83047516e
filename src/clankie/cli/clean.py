"""The one function through which text from outside reaches a terminal.

What people, models, tools and servers write is data. A terminal takes some of it as orders: move
the cursor, set the clipboard, show one link and open another, read right to left. None passes.
Rich markup needs no stripping: every console of this program is made with markup off (`look.py`).
"""

from __future__ import annotations

import re
from typing import Final

# Whole sequences first, so that no parameters or link targets stay behind as litter. A string
# sequence (OSC, DCS, SOS, PM, APC) that never ends loses only its introducer: the words stay.
_SEQUENCE: Final = re.compile(
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-~]"
)
_LINE_END: Final = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_FORBIDDEN: Final = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f"  # C0 but tab and newline, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # writing direction
    "\u180e\u200b\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb"  # invisible, but no joiner of emoji
    "\U000e0000-\U000e007f]"  # tags: hidden text
)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_BLANKS: Final = re.compile(r"\s+")


def plain(text: str) -> str:
    """`text` with nothing in it that a terminal would obey; newline and tab stay."""
    text = _SEQUENCE.sub("", text)
    text = _LINE_END.sub("\n", text)
    return _SURROGATE.sub("\ufffd", _FORBIDDEN.sub("", text))


def line(text: str, limit: int = 1_000) -> str:
    """`plain` on one line of at most `limit` characters; a cut ends with an ellipsis."""
    flat = _BLANKS.sub(" ", plain(text)).strip()
    return flat if len(flat) <= limit else flat[: max(0, limit - 1)].rstrip() + "…"
