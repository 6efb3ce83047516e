"""/v1/attachments: pictures and text files, kept by their digest.

Rule 1: what is given back is shown as a picture or saved as a file, and never run: no sniffing, and
        a policy that allows nothing.
Rule 2: only this route reads bodies of more than a mebibyte, and never more than the setting says.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

import msgspec

from clankie.api.errors import UnsupportedMediaTypeError
from clankie.api.replies import Reply
from clankie.api.routing import plain, read_body
from clankie.core.errors import AttachmentNotFoundError, InvalidFieldError
from clankie.core.pictures import TYPES
from clankie.host import attachments

if TYPE_CHECKING:
    from starlette.routing import Route

    from clankie.api.routing import Hot

PATH: Final = "/v1/attachments"
_TAKEN: Final = "image/png, image/jpeg, image/gif, image/webp or text in UTF-8, such as text/plain"
_POLICY: Final = b"default-src 'none'; sandbox; frame-ancestors 'none'"
_FIELDS: Final = 8
_FOREVER: Final = b"private, max-age=31536000, immutable"
_DIGEST: Final = re.compile(attachments.DIGEST)


async def post_attachment(hot: Hot) -> None:
    """201: it is kept. The same bytes again are the same attachment."""
    name = _name(hot.scope["query_string"])
    kind = attachments.kept_type(hot.head.get(b"content-type", b"").decode("latin-1"))
    if kind is None:
        raise UnsupportedMediaTypeError(_TAKEN)
    # Whoever may not write does not make us read megabytes first.
    hot.call.allow()
    data = await read_body(hot.receive)
    kept = await attachments.keep(hot.call.house, name, kind, data)
    await Reply(201, msgspec.json.encode(kept.to_wire())).send(hot.send)


def _name(query: bytes) -> str:
    try:
        given = parse_qs(query.decode("latin-1"), max_num_fields=_FIELDS, keep_blank_values=True)
    except ValueError as error:
        raise InvalidFieldError("query", f"at most {_FIELDS} parameters") from error
    names = given.get("name", [])
    return attachments.checked_name(names[-1] if names else "")


async def get_attachment(hot: Hot) -> None:
    """The bytes. A picture may be shown; everything else is saved."""
    digest = hot.path["digest"]
    hot.call.allow()
    if _DIGEST.fullmatch(digest) is None:
        raise AttachmentNotFoundError(digest[:64])
    media_type, data = await hot.call.house.store.attachments.get(digest)
    shown = b"inline" if media_type in TYPES else b"attachment"
    if media_type.startswith("text/"):
        media_type = f"{media_type}; charset=utf-8"
    headers = (
        (b"content-disposition", shown),
        (b"content-security-policy", _POLICY),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"cache-control", _FOREVER),
        (b"etag", b'"%b"' % digest.encode()),
    )
    await Reply(200, data, media_type, headers).send(hot.send)


def routes() -> list[Route]:
    """Two."""
    return [
        plain("POST", PATH, post_attachment),
        plain("GET", f"{PATH}/{{digest}}", get_attachment),
    ]
