"""/v1/login: a browser trades a code for a session cookie."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from urllib.parse import parse_qs

from fastapi import Request, Response

from clankie.api.auth import COOKIE, CSRF_COOKIE, SESSION, csrf_of
from clankie.api.call import DOOR, Asked
from clankie.api.errors import TokenUnknownError
from clankie.api.guard import HEAD
from clankie.api.hygiene import decode, json_content
from clankie.api.replies import Json, done
from clankie.api.routing import read_body, router
from clankie.core.conversation import timestamp
from clankie.core.errors import InvalidFieldError
from clankie.host import tokens
from clankie.host.bearer import Token
from clankie.host.tokens import digest

if TYPE_CHECKING:
    from starlette.types import Scope

    from clankie.api.door import Door

routes = router("login")

_FORM = b"application/x-www-form-urlencoded"
_GIVEN = 64
_FIELDS = 100
_RULE = "the eight characters that were shown"


@routes.post("/v1/login-codes", status_code=201)
async def make_code(call: Asked) -> Json:
    """A code that opens one session within a minute."""
    code, until = call.door.codes.make(call.house.ids.secret(), call.house.clock.now())
    return Json({"code": code, "expires_at": timestamp(until)}, 201)


@routes.post("/v1/login")
async def log_in(request: Request) -> Response:
    """Trade a code for the session cookie. A form is answered with the way to the console."""
    door: Door = request.scope[DOOR]
    kind = request.scope[HEAD].get(b"content-type", b"").partition(b";")[0].strip().lower()
    raw = await read_body(request.receive)
    code = _from_form(raw) if kind == _FORM else _from_json(raw, kind)
    if not door.codes.use(code, door.house.clock.now()):
        raise TokenUnknownError
    session = await _open(door)
    csrf = csrf_of(session)
    if kind == _FORM:
        response: Response = Response(status_code=303, headers={"location": "/"})
    else:
        response = Json({"csrf": csrf})
    _keep(response, session, csrf, secure=_encrypted(request.scope))
    return response


def _keep(response: Response, session: str, csrf: str, *, secure: bool) -> None:
    response.set_cookie(
        COOKIE, session, path="/v1", httponly=True, samesite="strict", secure=secure
    )
    response.set_cookie(
        CSRF_COOKIE, csrf, path="/", httponly=False, samesite="strict", secure=secure
    )


def _encrypted(scope: Scope) -> bool:
    """Whether the browser speaks TLS: with us, or with a proxy, of which its Origin tells."""
    head: dict[bytes, bytes] = scope[HEAD]
    return scope["scheme"] == "https" or head.get(b"origin", b"").startswith(b"https:")


@routes.post("/v1/logout", status_code=204)
async def log_out(call: Asked) -> Response:
    """End this browser's session. A bearer is not touched: it is revoked at /v1/tokens."""
    if call.caller.session:
        await tokens.revoke(call.house, call.caller.token)
    response = done()
    response.delete_cookie(COOKIE, path="/v1", httponly=True, samesite="strict")
    response.delete_cookie(CSRF_COOKIE, path="/", samesite="strict")
    return response


def _from_form(raw: bytes) -> str:
    try:
        found = parse_qs(raw.decode("latin-1"), max_num_fields=_FIELDS).get("code", [])
    except ValueError as error:
        raise InvalidFieldError("code", _RULE) from error
    return _checked(found[0] if found else None)


def _from_json(raw: bytes, kind: bytes) -> str:
    json_content(kind)
    body = decode(raw)
    fields = cast("dict[str, object]", body) if isinstance(body, dict) else {}
    return _checked(fields.get("code"))


def _checked(code: object) -> str:
    if not isinstance(code, str) or not 1 <= len(code) <= _GIVEN:
        raise InvalidFieldError("code", _RULE)
    return code


async def _open(door: Door) -> str:
    """A new session, stored as a hash among the tokens; revoking it there ends it."""
    house = door.house
    secret = house.ids.secret()
    token = Token(
        id=house.ids.new("session"),
        principal=SESSION,
        label="browser session",
        created_at=house.clock.now(),
    )
    await house.store.owner.add_token(token, digest(secret))
    house.tokens.add(token, digest(secret))
    return secret
