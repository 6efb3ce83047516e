"""The verbs of the API that the command line uses, and the rule for sending a message again.

Rule: a message has one delivery id from the moment somebody pressed Enter. When an answer is lost
the same id is sent again, which is always safe; this client never makes a second id by itself.
"""

from __future__ import annotations

import json
import secrets
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote

from clankie.cli.failures import (
    CommandError,
    ConnectionLostError,
    ProblemError,
    ServiceDownError,
    UnconfirmedSendError,
)
from clankie.cli.wire import Address, Call, Json, exchange

if TYPE_CHECKING:
    from collections.abc import Callable

HTTP_UNAVAILABLE: Final = 503
WAITS: Final = (0.2, 0.5, 1.0, 2.0, 4.0)
"""Seconds between the tries of one admission; a Retry-After may ask for more, to a bound."""
LONGEST_WAIT: Final = 15.0


def new_delivery_id() -> str:
    """A fresh id: 80 random bits."""
    return f"cli-{secrets.token_hex(10)}"


def _pause(seconds: float) -> None:
    threading.Event().wait(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """A message to send. The id stays the same however often it is tried."""

    conversation: str
    text: str
    delivery_id: str = field(default_factory=new_delivery_id)
    mode: str = "auto"
    expected_revision: int | None = None
    retry_of: str | None = None
    attachments: tuple[Json, ...] = ()

    def to_json(self) -> Json:
        """The request body; what is None is left out."""
        body: Json = {
            "delivery_id": self.delivery_id,
            "text": self.text,
            "mode": self.mode,
            "expected_revision": self.expected_revision,
            "retry_of": self.retry_of,
            "attachments": list(self.attachments) or None,
        }
        return {name: value for name, value in body.items() if value is not None}


def temporary(error: CommandError) -> bool:
    """Whether the same request may be repeated, with hope."""
    if isinstance(error, ProblemError):
        return error.status == HTTP_UNAVAILABLE
    return isinstance(error, ServiceDownError | ConnectionLostError)


class Client:
    """Speaks to the service. `transport` sends one call; `pause` waits between tries."""

    def __init__(
        self,
        address: Address,
        transport: Callable[[Address, Call], bytes] = exchange,
        pause: Callable[[float], None] = _pause,
    ) -> None:
        self.address = address
        self._transport = transport
        self._pause = pause

    def call(self, call: Call) -> Json:
        """Send one request; its JSON object. An empty answer is an empty object."""
        data = self._transport(self.address, call)
        if not data:
            return {}
        try:
            answer = json.loads(data)
        except ValueError as error:
            raise CommandError("The service's answer is not JSON.", code="bad_answer") from error
        return cast("Json", answer) if isinstance(answer, dict) else {"items": answer}

    def get(self, path: str, *, timeout: float = 30.0, **query: object) -> Json:
        """GET a path."""
        return self.call(Call(method="GET", path=path, query=query, timeout=timeout))

    def post(self, path: str, body: Json | None = None) -> Json:
        """POST a JSON object to a path."""
        return self.call(Call(method="POST", path=path, body=body or {}))

    def insist(self, path: str, body: Json) -> Json:
        """POST what makes something once under its request id: a lost answer is asked for again.

        Raises CommandError: as at the last try. Where nobody listens there is no second one.
        """
        tries = 0
        while True:
            try:
                return self.post(path, body)
            except CommandError as error:
                pause = again(error, tries)
                if pause is None:
                    raise
                self._pause(pause)
                tries += 1

    def patch(self, path: str, body: Json) -> Json:
        """PATCH a path."""
        return self.call(Call(method="PATCH", path=path, body=body))

    def put(self, path: str, body: Json) -> Json:
        """PUT a JSON object to a path."""
        return self.call(Call(method="PUT", path=path, body=body))

    def delete(self, path: str) -> Json:
        """DELETE a path."""
        return self.call(Call(method="DELETE", path=path))

    def admit(self, send: Send, *, tries: int = len(WAITS) + 1) -> Json:
        """Have a message stored: ``{delivery, revision, cursor}``. Lost answers are asked again.

        Raises:
            ServiceDownError: nobody listened at any try; nothing was sent.
            UnconfirmedSendError: it may be stored; the same id can be tried again.
            ProblemError: it was refused; nothing was stored.
        """
        path = f"/v1/conversations/{segment(send.conversation)}/inputs"
        unknown = False
        error: CommandError | None = None
        for attempt in range(tries):
            if error is not None:
                self._pause(_wait(error, attempt - 1))
            try:
                return self.post(path, send.to_json())
            except CommandError as failed:
                if not temporary(failed):
                    raise
                error = failed
                unknown = unknown or _maybe_stored(failed)
        if error is None:
            raise CommandError("The message was not tried at all.")
        if unknown:
            raise UnconfirmedSendError(send.delivery_id, error.detail.rstrip(".")) from error
        raise error


def again(error: CommandError, tries: int) -> float | None:
    """Seconds until what is safe to repeat is tried again, after so many tries before this one.

    None: not at all.
    """
    unsent = isinstance(error, ServiceDownError) and tries == 0
    if unsent or not temporary(error) or tries >= len(WAITS):
        return None
    return _wait(error, tries)


def _wait(error: CommandError, attempt: int) -> float:
    planned = WAITS[min(attempt, len(WAITS) - 1)]
    asked = error.retry_after if isinstance(error, ProblemError) else None
    return min(LONGEST_WAIT, max(planned, asked or 0.0))


def _maybe_stored(error: CommandError) -> bool:
    return isinstance(error, ConnectionLostError) or error.code == "commit_unknown"


def segment(name: str) -> str:
    """A name as one path segment."""
    return quote(name, safe="")


def items(answer: Json, name: str) -> list[Json]:
    """The list under `name`; a bare list is taken too."""
    found: Any = answer.get(name, answer.get("items", []))
    return cast("list[Json]", found) if isinstance(found, list) else []
