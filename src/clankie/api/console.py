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
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class _Serve:
    """An ASGI application: the page, or the file that the path names."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        name: str = scope["path_params"].get("file", PAGE)
        file: File | None = scope[DOOR].files.get(name)
        if file is None:
            missing = "There is no such file of the console. Load the page again."
            await problem(404, "not_found", missing).send(send)
        elif scope[HEAD].get(b"if-none-match") == file.tag:
            await Reply(304, b"", file.media_type, (*_HEADERS, (b"etag", file.tag))).send(send)
        else:
            headers = (*_HEADERS, (b"etag", file.tag))
            await Reply(200, file.body, file.media_type, headers).send(send)


def routes() -> list[Route]:
    """The page under its two names, and its files."""
    found = [Route(path, _Serve(), methods=["GET"]) for path in ("/", "/login", "/console/{file}")]
    for one in found:
        one.methods = {"GET"}  # as all plain routes: no HEAD
    return found
