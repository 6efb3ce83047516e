"""Admission over HTTP. The hottest route: no framework, one pass over the body."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from clankie.api.hygiene import decode, json_content
from clankie.api.replies import Reply
from clankie.api.routing import plain, read_body
from clankie.core import ids
from clankie.core.admission import TEXT_LIMIT, Mode, Offer
from clankie.core.errors import InvalidFieldError
from clankie.host import attachments
from clankie.host.admit import admit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.routing import Route

    from clankie.api.routing import Hot
    from clankie.host.storage import Admitted

_MODES: Final = {mode.value: mode for mode in Mode}
_REVISIONS: Final = 2**53
_ATTACHMENTS: Final = 32
"""The most that the setting attachments.count can allow."""
_DIGEST: Final = re.compile(attachments.DIGEST)
_ENCODER: Final = msgspec.json.Encoder()


async def post_input(hot: Hot) -> None:
    """202: it is on disk. 200: it was already, and this is its receipt."""
    json_content(hot.head.get(b"content-type"))
    body = decode(await read_body(hot.receive))
    conversation = ids.conversation_id(hot.path["conversation"])
    offer = offered(conversation, body, hot)
    files = attached(cast("Mapping[str, Any]", body).get("attachments"))
    hot.call.allow()
    hot.call.sees(conversation)
    if files:
        found = await attachments.named(hot.call.house, files)
        offer = replace(offer, attachments=found)
    admitted = await admit(hot.call.house, offer)
    await Reply(202 if admitted.fresh else 200, _encoded(admitted)).send(hot.send)


def offered(conversation: str, body: object, hot: Hot) -> Offer:
    """The offer a body makes.

    Raises:
        InvalidFieldError: names the first field that is wrong.
    """
    if not isinstance(body, dict):
        raise InvalidFieldError("body", "a JSON object")
    fields = cast("Mapping[str, Any]", body)
    given, text = fields.get("delivery_id"), fields.get("text")
    if not isinstance(given, str):
        raise InvalidFieldError("delivery_id", "1 to 128 characters of A-Z a-z 0-9 . _ : -")
    if not isinstance(text, str) or not 1 <= len(text) <= TEXT_LIMIT or text.isspace():
        raise InvalidFieldError("text", f"1 to {TEXT_LIMIT} characters, not blank")
    author = hot.call.author
    return Offer(
        delivery_id=ids.qualified(author.id, ids.delivery_id(given)),
        conversation=conversation,
        text=text,
        author=author,
        mode=_mode(fields.get("mode")),
        expected_revision=_revision(fields.get("expected_revision")),
        retry_of=_retried(fields.get("retry_of")),
    )


def _mode(given: object) -> Mode:
    if given is None:
        return Mode.AUTO
    if not isinstance(given, str) or given not in _MODES:
        raise InvalidFieldError("mode", f"one of {', '.join(_MODES)}")
    return _MODES[given]


def _revision(given: object) -> int | None:
    if given is None:
        return None
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given < _REVISIONS:
        raise InvalidFieldError("expected_revision", "a whole number from 0")
    return given


def _retried(given: object) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str):
        raise InvalidFieldError("retry_of", "the id of a delivery")
    try:
        return ids.stored_delivery_id(given)
    except InvalidFieldError as error:
        raise InvalidFieldError("retry_of", error.rule) from error


def attached(given: object) -> list[tuple[str, str]]:
    """Digest and name of each attachment that a body names. Raises InvalidFieldError."""
    if given is None:
        return []
    if not isinstance(given, list) or len(cast("list[object]", given)) > _ATTACHMENTS:
        raise InvalidFieldError("attachments", f"a list of at most {_ATTACHMENTS}")
    return [_attachment(n, one) for n, one in enumerate(cast("list[object]", given))]


def _attachment(number: int, given: object) -> tuple[str, str]:
    path = f"attachments.{number}"
    if not isinstance(given, dict):
        raise InvalidFieldError(path, "an object of digest and name")
    fields = cast("Mapping[str, object]", given)
    digest, name = fields.get("digest"), fields.get("name")
    if not isinstance(digest, str) or _DIGEST.fullmatch(digest) is None:
        raise InvalidFieldError(f"{path}.digest", "64 characters of 0-9 a-f")
    if not isinstance(name, str):
        raise InvalidFieldError(f"{path}.name", attachments.NAME_RULE)
    return digest, attachments.checked_name(name, f"{path}.name")


def _encoded(admitted: Admitted) -> bytes:
    return _ENCODER.encode(
        {
            "delivery": admitted.delivery.to_wire(),
            "revision": admitted.revision,
            "cursor": admitted.cursor,
        }
    )


def routes() -> list[Route]:
    """One."""
    return [plain("POST", "/v1/conversations/{conversation}/inputs", post_input)]
