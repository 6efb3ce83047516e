"""What a model server's status means, and the sentence that says what to do about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import msgspec

from clankie.lanes.model import (
    ModelBadResponseError,
    ModelCredentialError,
    ModelError,
    ModelPictureError,
    ModelRateLimitedError,
    ModelRefusedError,
    ModelRequestRefusedError,
    ModelServerError,
)
from clankie.lanes.openai_wire import decode_failure, failure_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clankie.lanes.endpoint import Endpoint

_NOT_YOU: Final = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
_FILTERED: Final = {"content_filter", "content_policy_violation"}


_WRONG_KEY: Final = re.compile(
    r"api.?key\b.{0,40}\b(invalid|expired|not valid|incorrect|not found)"
    r"|\b(invalid|expired|incorrect|bad).{0,20}\bapi.?key",
    re.IGNORECASE | re.DOTALL,
)
"""Some providers say this with status 400."""

_ABOUT_PICTURES: Final = re.compile(
    r"\b(image|vision|visual|multi-?modal|modalit|picture)", re.IGNORECASE
)
_DELAY: Final = re.compile(rb'"retryDelay"\s*:\s*"(\d{1,6}(?:\.\d{1,9})?)s"')


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asked whom and when; `quote` makes the server's words fit for a sentence of ours.

    `pictures`: some went along.
    """

    at: Endpoint
    quote: Callable[[str], str]
    now: datetime
    pictures: bool = False


def refusal(status: int, headers: Mapping[str, str], body: bytes, asking: Asking) -> ModelError:
    """The error that a status other than 2xx stands for; `body` may be only its beginning."""
    at = asking.at
    wait = retry_after(headers, asking.now)
    message, code = _words(body)
    if wait is None and (told := _DELAY.search(body)):
        wait = float(told[1])
    said = f" It says: “{asking.quote(message)}”." if message else ""
    where = f"The model server at {at.origin}"
    if status in _NOT_YOU or (status == HTTPStatus.BAD_REQUEST and _WRONG_KEY.search(message)):
        return ModelCredentialError(
            f"{where} does not accept the credential {at.provider!r} (status {status}).{said} "
            f"Store a valid one with {at.remedy}."
        )
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return _limited(where, said, wait)
    if asking.pictures and _ABOUT_PICTURES.search(message):
        return ModelPictureError(
            f"{where} does not take a picture that came with the message (status {status}).{said} "
            f"If {at.model!r} cannot look at pictures, choose another model with `clankie settings "
            "set models.model …`; sent again, it will be told of the picture in words."
        )
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ModelServerError(
            f"{where} failed (status {status}).{said} Send the message again later, or look at "
            "the server.",
            repeatable=True,
            retry_after=wait,
        )
    if code in _FILTERED:
        return ModelRefusedError(f"{where} refused the content.{said} Say it in other words.")
    return _refused(where, said, status, at)


def _limited(where: str, said: str, wait: float | None) -> ModelError:
    when = "in a while" if wait is None else f"in {wait:.0f} seconds"
    return ModelRateLimitedError(
        f"{where} wants fewer requests (status 429).{said} Send the message again {when}, or look "
        "at the quota of your account.",
        repeatable=wait is not None,
        retry_after=wait,
    )


def _refused(where: str, said: str, status: int, at: Endpoint) -> ModelError:
    if status < HTTPStatus.BAD_REQUEST:
        return ModelBadResponseError(
            f"{where} answered with status {status} instead of an answer; redirects are not "
            "followed. Set the final address with `clankie settings set models.base_url …`."
        )
    return ModelRequestRefusedError(
        f"{where} does not accept the request (status {status}).{said} Check the model name "
        f"{at.model!r} and the address with `clankie settings get models`."
    )


def _words(body: bytes) -> tuple[str, str]:
    try:
        failure = decode_failure(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "", ""  # a web page, or nothing: the status has to do
    for candidate in (failure.error, failure.message, failure.detail):
        words, code = failure_words(candidate)
        if words or code:
            return words or code, code
    return "", ""


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that the server asks to wait; None when it names none that can be understood."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.replace(".", "", 1).isdigit():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds())
