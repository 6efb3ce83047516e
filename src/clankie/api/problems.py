"""Every error as ``application/problem+json``: one table from class to status, one voice."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import msgspec
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from clankie.api import errors as wire
from clankie.api.replies import Reply
from clankie.core import errors
from clankie.core import seat_errors as seats
from clankie.core.goal import GoalNotFoundError, SeatDrivesError
from clankie.core.wake import WakeLimitError
from clankie.host import journal
from clankie.host.storage import FencedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clankie.host.ports import Ids

MEDIA_TYPE: Final = "application/problem+json"

STATUS: Final[Mapping[type[errors.ClankieError], int]] = {
    wire.BadJsonError: 400,
    wire.TokenMissingError: 401,
    wire.TokenUnknownError: 401,
    errors.NotAllowedError: 403,
    errors.ConversationReadOnlyError: 403,
    wire.ForeignOriginError: 403,
    errors.ConversationNotFoundError: 404,
    errors.DeliveryNotFoundError: 404,
    errors.WakeNotFoundError: 404,
    errors.TokenNotFoundError: 404,
    errors.AttachmentNotFoundError: 404,
    errors.McpServerNotFoundError: 404,
    wire.CredentialNotFoundError: 404,
    wire.SessionNotFoundError: 404,
    GoalNotFoundError: 404,
    seats.SeatNotFoundError: 404,
    seats.EventNotFoundError: 404,
    seats.ApprovalNotFoundError: 404,
    errors.DeliveryConflictError: 409,
    errors.UnconfirmedError: 409,
    errors.RevisionConflictError: 409,
    errors.SettingsConflictError: 409,
    errors.TransitionRefusedError: 409,
    errors.RunInProgressError: 409,
    SeatDrivesError: 409,
    seats.AttachmentConflictError: 409,
    seats.SeatSupersededError: 409,
    seats.OccupantChangedError: 409,
    seats.SessionConflictError: 409,
    errors.CursorAheadError: 409,
    WakeLimitError: 409,
    errors.CursorGoneError: 410,
    errors.ReceiptExpiredError: 410,
    errors.ConversationClosedError: 410,
    seats.GrantUnknownError: 410,
    wire.BodyTooLargeError: 413,
    wire.UnsupportedMediaTypeError: 415,
    wire.UnknownHostError: 421,
    errors.InvalidFieldError: 422,
    errors.UnsupportedError: 422,
    wire.TooManyStreamsError: 429,
    wire.HeadersTooLargeError: 431,
    FencedError: 503,
    errors.FaultError: 503,
    errors.UncertainError: 503,
}

RETRY_AFTER: Final[Mapping[type[errors.ClankieError], str]] = {
    errors.ShuttingDownError: "5",
    errors.BackpressureError: "1",
    errors.StorageUnavailableError: "10",
    errors.ReceiptsUnreadableError: "30",
    errors.CommitUnknownError: "1",
}

_ROUTING: Final = {404: "not_found", 405: "method_not_allowed"}
_CHALLENGE: Final = (b"www-authenticate", b'Bearer realm="clankie"')


def problem(
    status: int,
    code: str,
    detail: str,
    facts: Mapping[str, object] | None = None,
    headers: Iterable[tuple[bytes, bytes]] = (),
) -> Reply:
    """``{type, title, status, code, detail, …facts}``."""
    body: dict[str, object] = {
        **(facts or {}),
        "type": f"urn:clankie:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
    }
    return Reply(status, msgspec.json.encode(body), MEDIA_TYPE, tuple(headers))


def explain(error: Exception, ids: Ids) -> Reply:
    """The answer to a request that raised `error`; what nobody foresaw is logged under an id."""
    match error:
        case errors.ClankieError():
            return _known(error, ids)
        case RequestValidationError():
            found = [_field(one) for one in error.errors()]
            detail = f"The field {found[0]['path']!r}: {found[0]['rule']}."
            return problem(422, "invalid_field", detail, {"errors": found})
        case HTTPException():
            return _routing(error)
        case _:
            return _unforeseen(error, ids)


def _known(error: errors.ClankieError, ids: Ids) -> Reply:
    kind = next((one for one in type(error).__mro__ if one in STATUS), None)
    if kind is None:
        return _unforeseen(error, ids)
    status, headers = STATUS[kind], list[tuple[bytes, bytes]]()
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers.append((b"retry-after", RETRY_AFTER.get(type(error), "1").encode()))
    if isinstance(error, errors.ShuttingDownError):
        # Whoever comes back comes to the next start, on another connection.
        headers.append((b"connection", b"close"))
    if status == HTTPStatus.UNAUTHORIZED:
        headers.append(_CHALLENGE)
    return problem(status, error.code, error.detail, error.facts, headers)


def _field(one: Mapping[str, Any]) -> dict[str, str]:
    """``{path, rule}``: where it stands in the body or the query, and what it should be."""
    where = [str(part) for part in one["loc"][1:]]
    return {"path": ".".join(where) or str(one["loc"][0]), "rule": str(one["msg"])}


def _routing(error: HTTPException) -> Reply:
    code = _ROUTING.get(error.status_code, "refused")
    headers = [(k.lower().encode(), v.encode()) for k, v in (error.headers or {}).items()]
    sentence = {
        404: "There is no such resource; /openapi.json lists what there is.",
        405: "This resource does not take that method; see the Allow header.",
    }.get(error.status_code, str(error.detail))
    return problem(error.status_code, code, sentence, headers=headers)


def _unforeseen(error: Exception, ids: Ids) -> Reply:
    name = ids.new("error")
    journal.defect("request failed", error, id=name)
    detail = f"Something went wrong that should not be possible. The log has it under {name}."
    return problem(500, "internal_error", detail, {"id": name})
