"""The console's page and its static files. They hold no data, so they ask for no token.

Rule 1: every answer carries the policy under which nothing runs but these files.
Rule 2: a browser keeps them and asks each time whether they changed, so an update is seen at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.routing import Route

from clankie.api.call import DOOR
from clankie.api.guard import HEAD
from clankie.api.problems import problem
from clankie.api.replies import Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Receive, Scope, Send

    from clankie.api.assets import File

POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    b"connect-src 'self'; media-src 'self' blob:; base-uri 'none'; form-action 'self'; "
    b"frame-ancestors 'none'"
)
PAGE: Final = "index.html"
_HEADERS: Final = (
    (b"content-security-policy", POLICY),
    (b"cache-control", b"no-cache"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_PAGE_HEADERS: Final = ((b"cross-origin-opener-policy", b"same-origin"),)
"""What only a document heeds: the other files, many and small, come without it."""


class _Serve:
    """An ASGI application: the page, or the file that the path names."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        name: str = scope["path_params"].get("file", PAGE)
        file: File | None = scope[DOOR].files.get(name)
        if file is None:
            missing = "There is no such file of the console. Load the page again."
            await problem(404, "not_found", missing).send(send)
        else:
            await _reply(file, scope[HEAD]).send(send)


def _reply(file: File, head: Mapping[bytes, bytes]) -> Reply:
    """The file, packed for whoever can unpack it; nothing for whoever has it."""
    packed = b"gzip" in head.get(b"accept-encoding", b"")
    tag = file.tag[:-1] + b'-gz"' if packed else file.tag
    page = _PAGE_HEADERS if file.media_type.startswith("text/html") else ()
    headers = (*_HEADERS, *page, (b"etag", tag), (b"vary", b"accept-encoding"))
    if head.get(b"if-none-match") == tag:
        return Reply(304, b"", file.media_type, headers)
    if not packed:
        return Reply(200, file.body, file.media_type, headers)
    return Reply(200, file.packed, file.media_type, (*headers, (b"content-encoding", b"gzip")))


def routes() -> list[Route]:
    """The page under its two names, and its files."""
    found = [Route(path, _Serve(), methods=["GET"]) for path in ("/", "/login", "/console/{file}")]
    for one in found:
        one.methods = {"GET"}  # as all plain routes: no HEAD
    return found
