"""Who is asking: a bearer, or the session cookie of a browser that logged in with a code."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Final

from clankie.api.errors import TokenMissingError, TokenUnknownError
from clankie.core.conversation import OPERATOR, Author, Principal
from clankie.core.errors import NotAllowedError

if TYPE_CHECKING:
    from clankie.host.tokens import Tokens

SESSION: Final = Author(Principal.OPERATOR, "session")
"""Marks the record of a browser session: it opens by cookie only, and acts as the operator."""

COOKIE: Final = "clankie_session"
CSRF_COOKIE: Final = "clankie_csrf"
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Caller:
    """Who a request is from. `token` is the id of the record that says so.

    `session`: it is the cookie of a browser.
    """

    token: str
    author: Author
    session: bool = False


def identify(tokens: Tokens, method: str, head: dict[bytes, bytes]) -> Caller:
    """The caller of a request with this head.

    Raises:
        TokenMissingError: it says nothing.
        TokenUnknownError: what it says opens nothing.
        NotAllowedError: a write with the cookie lacks the header that only our own pages can send.
    """
    given = head.get(b"authorization")
    if given is not None:
        scheme, _, secret = given.partition(b" ")
        if scheme.lower() != b"bearer":
            raise TokenMissingError
        return _by_bearer(tokens, secret.strip().decode("latin-1"))
    session = _cookie(head)
    if session is None:
        raise TokenMissingError
    caller = _by_cookie(tokens, session)
    if method not in _SAFE:
        _check_csrf(session, head.get(b"x-clankie-csrf", b""))
    return caller


def csrf_of(session: str) -> str:
    """What a page must send back with its writes; it can be worked out from the session only."""
    return hashlib.sha256(f"csrf:{session}".encode()).hexdigest()[:32]


def _by_bearer(tokens: Tokens, secret: str) -> Caller:
    token = tokens.who(secret)
    if token is None or token.principal == SESSION:
        raise TokenUnknownError
    return Caller(token.id, token.principal)


def _by_cookie(tokens: Tokens, session: str) -> Caller:
    token = tokens.who(session)
    if token is None or token.principal != SESSION:
        raise TokenUnknownError
    return Caller(token.id, OPERATOR, session=True)


def _cookie(head: dict[bytes, bytes]) -> str | None:
    raw = head.get(b"cookie")
    if raw is None:
        return None
    try:
        found = SimpleCookie(raw.decode("latin-1")).get(COOKIE)
    except CookieError:
        return None  # what does not parse names nobody
    return None if found is None else found.value


def _check_csrf(session: str, given: bytes) -> None:
    if not hmac.compare_digest(given, csrf_of(session).encode()):
        raise NotAllowedError(
            "A write with the session cookie needs the X-Clankie-CSRF header that login gave."
        )
