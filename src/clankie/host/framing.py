"""The one way of text that is not the owner's into a prompt.

Rule 1: it stands between two lines that carry the same fresh 128-bit code. The text cannot hold
        that code, so it cannot end the block.
Rule 2: where it comes from is one line of JSON that the service wrote; nothing in the text can
        change it.
Rule 3: characters that steer a terminal, turn the reading direction or hide words are removed.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from clankie.host.ports import Ids

NAME_LIMIT: Final = 64
"""Characters of an author's name."""

_CODE_CHARS: Final = 32  # hexadecimal: 128 bits
_REPLACED: Final = "[removed]"
_UNSEEN: Final = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, all but tab and newline
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # reading direction
    "\ud800-\udfff"  # lone surrogates: not text
    "\ufff9-\ufffb\U000e0000-\U000e007f"  # annotations and tags, which hide words
    "]"
)
_BREAKS: Final = re.compile("\r\n|[\r\u2028\u2029]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Untrusted:
    """Text and where it comes from, as the host established it.

    `author` is an id, `name` what people call them; an empty name is left out.
    """

    source: str
    author: str
    text: str
    name: str = ""


def clean(text: str) -> str:
    """`text` without what is not meant to be read; every line end is a newline."""
    return _UNSEEN.sub("", _BREAKS.sub("\n", text))


def one_line(text: str, limit: int) -> str:
    """`text` cleaned, on one line, at most `limit` characters."""
    return " ".join(clean(text).split())[:limit].rstrip()


def framed(piece: Untrusted, ids: Ids) -> str:
    """Render untrusted text for a prompt."""
    code = hashlib.sha256(ids.secret().encode()).hexdigest()[:_CODE_CHARS]
    header = {"source": clean(piece.source), "author": clean(piece.author)}
    name = one_line(piece.name, NAME_LIMIT)
    if name:
        header["name"] = name
    # 128 random bits do not stand in a text by chance; if they do all the same, they go.
    origin = json.dumps(header).replace(code, _REPLACED)
    body = clean(piece.text).replace(code, _REPLACED)
    return f"<<data {code}>>\n{origin}\n{body}\n<<end {code}>>"


def body_of(block: str) -> str:
    """The text inside a block that `framed` made."""
    return "\n".join(block.split("\n")[2:-1])
