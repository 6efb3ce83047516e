"""Server-sent events off the wire, within bounds: bytes in, the payload of each ``data:`` line out.

Servers differ. Accepted: any line end, comments, missing blank lines between events, a line that
is bare JSON (some servers report errors so), and a whole answer as one JSON object.
"""

from __future__ import annotations

import re
from typing import Final

from clankie.lanes.model import ModelBadResponseError

LINE_LIMIT: Final = 1 << 20
"""Bytes of one line."""

TOTAL_LIMIT: Final = 64 << 20
"""Bytes of one stream."""

WHOLE_LIMIT: Final = 8 << 20
"""Bytes of an answer that comes as one JSON object."""

DONE: Final = b"[DONE]"

_ENDS: Final = re.compile(rb"\r\n|\n|\r(?!\Z)")


class Lines:
    """Cuts a stream of bytes into payloads; `whole` says that it is one JSON object."""

    def __init__(self) -> None:
        self._rest = b""
        self._whole = bytearray()
        self._total = 0
        self._begun = False
        self.whole = False

    def feed(self, data: bytes) -> list[bytes]:
        """The payloads that these bytes complete.

        Raises:
            ModelBadResponseError: a line or the whole goes beyond its bound, or it is a web page.
        """
        self._total += len(data)
        most = WHOLE_LIMIT if self.whole else TOTAL_LIMIT
        if self._total > most:
            raise ModelBadResponseError(
                f"The model server sent more than {most >> 20} MiB for one answer and was cut off. "
                "Ask for less, or look at the server."
            )
        if not self._begun:
            data = (self._rest + data).lstrip(b"\xef\xbb\xbf \t\r\n")
            self._rest = b""
            self._begin(data)
        if self.whole:
            self._whole += data
            return []
        *lines, self._rest = _ENDS.split(self._rest + data)
        if max(map(len, (self._rest, *lines))) > LINE_LIMIT:
            raise ModelBadResponseError(
                f"The model server sent a line of more than {LINE_LIMIT >> 20} MiB. Look at the "
                "server; it may speak another protocol."
            )
        return [payload for line in lines if (payload := _payload(line))]

    def end(self) -> list[bytes]:
        """The payload that the end of the stream completes, if any."""
        if self.whole:
            return [bytes(self._whole)]
        payload = _payload(self._rest.rstrip(b"\r"))
        return [payload] if payload else []

    def _begin(self, start: bytes) -> None:
        if not start:
            return
        self._begun = True
        self.whole = start.startswith(b"{")
        if start.startswith(b"<"):
            raise ModelBadResponseError(
                "A web page came instead of an answer. Check that models.base_url is the address "
                "of the API (it often ends in /v1) and set it with `clankie settings set`."
            )


def _payload(line: bytes) -> bytes:
    if line.startswith(b"data:"):
        return line[5:].strip()
    return line.strip() if line.startswith(b"{") else b""
