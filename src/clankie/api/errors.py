"""What can be wrong with a request before any verb of the host is reached.

RefusedError
├── BadJsonError, UnsupportedMediaTypeError, BodyTooLargeError, HeadersTooLargeError   its form
├── UnknownHostError, ForeignOriginError                                     where it comes from
├── TokenMissingError, TokenUnknownError                                     who sends it
├── CredentialNotFoundError, SessionNotFoundError                           what it names
└── TooManyStreamsError                                                      how much it wants
"""

from __future__ import annotations

from clankie.core.errors import RefusedError


class BadJsonError(RefusedError):
    """The body is not one JSON document that we read."""

    code = "bad_json"

    def __init__(self, why: str) -> None:
        super().__init__(f"The body is not valid JSON here: {why}. Send one JSON object in UTF-8.")


class UnsupportedMediaTypeError(RefusedError):
    """The body is something else than what this route takes."""

    code = "unsupported_media_type"

    def __init__(self, wanted: str = "application/json") -> None:
        super().__init__(f"Send the body as Content-Type: {wanted}.")


class BodyTooLargeError(RefusedError):
    """The body goes beyond the bound; it was read no further."""

    code = "body_too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"The body is larger than {limit} bytes. Send less.", limit=limit)


class HeadersTooLargeError(RefusedError):
    """The request's head goes beyond the bound."""

    code = "headers_too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"The headers are larger than {limit} bytes. Send less.", limit=limit)


class UnknownHostError(RefusedError):
    """The request was meant for a name that is not ours: what DNS rebinding looks like."""

    code = "unknown_host"

    def __init__(self) -> None:
        super().__init__(
            "The Host header names another server. Use 127.0.0.1, [::1] or localhost with the "
            "service's port, or add the name to its configuration."
        )


class ForeignOriginError(RefusedError):
    """A page of another site sent this."""

    code = "foreign_origin"

    def __init__(self) -> None:
        super().__init__(
            "The Origin header is not this service's own. Other sites may not call it."
        )


class TokenMissingError(RefusedError):
    """Nobody says who is asking."""

    code = "token_missing"

    def __init__(self) -> None:
        super().__init__(
            "Send Authorization: Bearer with a token; `clankie token` prints the operator's."
        )


class TokenUnknownError(RefusedError):
    """The token, session or login code is not one of ours, or not any more."""

    code = "token_unknown"

    def __init__(self) -> None:
        super().__init__(
            "The token, session or code is unknown, used up or revoked. `clankie token` prints the "
            "operator's token; other tokens are made at /v1/tokens."
        )


class CredentialNotFoundError(RefusedError):
    """There is no credential of this name."""

    code = "credential_not_found"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no credential {name!r}. List them with `clankie credentials list`.",
            name=name,
        )


class SessionNotFoundError(RefusedError):
    """There is no such session of this token, or not any more."""

    code = "session_not_found"

    def __init__(self) -> None:
        super().__init__("There is no such session of this token. Begin a new one (initialize).")


class TooManyStreamsError(RefusedError):
    """More event streams are open than the settings allow."""

    code = "too_many_streams"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"{limit} event streams are open already. Close one, or raise streams.per_principal or "
            "streams.total in the settings.",
            limit=limit,
        )
