"""HTTP to the service: over its Unix socket, or over TCP where somebody named an address."""

from __future__ import annotations

import http.client
import ipaddress
import json
import os
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlencode, urlsplit

from clankie.cli import places
from clankie.cli.failures import (
    CommandError,
    ConnectionLostError,
    ProblemError,
    ServiceDownError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = dict[str, Any]
TIMEOUT: Final = 30.0
LIMIT: Final = 64 * 1024 * 1024
"""Bytes of one answer. An export of a long log is the longest."""
NEVER_RAN: Final = "Clankie has never run here. Start it with `clankie up`."
NOT_RUNNING: Final = "Clankie is not running. Start it with `clankie up`, or `clankie serve`."


@dataclass(frozen=True, slots=True)
class Address:
    """Where the service is, and what proves who we are. `url` is None for the socket."""

    token: str
    socket_path: str | None = None
    url: str | None = None

    @property
    def base(self) -> str:
        """What a client puts before a path."""
        return self.url or "http://localhost"

    @property
    def shown(self) -> str:
        """For people."""
        return self.url or str(self.socket_path)


def find(url: str | None) -> Address:
    """The address to use. A token goes over TCP only to a `url` somebody gave.

    Raises:
        CommandError: no token, or one that others can read, or an address we do not send it to.
    """
    if url is not None:
        token = os.environ.get("CLANKIE_TOKEN", "").strip()
        if not token:
            raise CommandError(
                "With --url, put the token into the environment variable CLANKIE_TOKEN.",
                code="token_missing",
            )
        return Address(token, url=_checked(url))
    try:
        token = places.operator_token() or ""
    except OSError as error:
        raise CommandError(str(error), code="token_unreadable") from error
    if not token:
        raise ServiceDownError(NEVER_RAN)
    return Address(token, socket_path=places.socket_path())


def _checked(url: str) -> str:
    parts = urlsplit(url if "//" in url else f"//{url}", scheme="http")
    host = parts.hostname
    if parts.scheme not in {"http", "https"} or not host or parts.username or parts.query:
        raise CommandError(
            f"{url!r} is not an address such as http://127.0.0.1:4310.", code="bad_url"
        )
    if parts.scheme == "http" and not _loopback(host):
        raise CommandError(
            f"The token would cross the network to {host} unencrypted. Use https, or a tunnel to "
            "the machine (ssh -L).",
            code="bad_url",
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request. `timeout` is in seconds, for each read.

    `body` is sent as JSON, or `raw` as it is, of `media_type`.
    """

    method: str
    path: str
    query: Mapping[str, object] | None = None
    body: Json | None = None
    timeout: float = TIMEOUT
    accept: str = "application/json"
    raw: bytes | None = None
    media_type: str = "application/octet-stream"

    @property
    def content(self) -> bytes | None:
        """What is sent."""
        return self.raw if self.body is None else json.dumps(self.body).encode()

    @property
    def kind(self) -> str:
        """The media type of what is sent."""
        return self.media_type if self.body is None else "application/json"

    @property
    def target(self) -> str:
        """Path and query; a value of None is left out, True is ``true``."""
        given = {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in (self.query or {}).items()
            if value is not None
        }
        return f"{self.path}?{urlencode(given)}" if given else self.path


def exchange(address: Address, call: Call) -> bytes:
    """Send one request and read its answer whole.

    Raises:
        ServiceDownError: nobody listens; nothing was sent.
        ConnectionLostError: it was sent, or partly, and no whole answer came.
        ProblemError: the service said no.
    """
    connection = _connection(address, call.timeout)
    try:
        _connect(connection, address)
        try:
            return _ask(connection, address, call)
        except (OSError, http.client.HTTPException) as error:
            reason = str(error) or type(error).__name__
            raise ConnectionLostError(f"The connection to the service broke ({reason}).") from error
    finally:
        connection.close()


def _connection(address: Address, timeout: float) -> http.client.HTTPConnection:
    if address.socket_path is not None:
        return _UnixConnection(address.socket_path, timeout)
    parts = urlsplit(address.base)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(str(parts.hostname), parts.port, timeout=timeout)


def _connect(connection: http.client.HTTPConnection, address: Address) -> None:
    try:
        connection.connect()
    except OSError as error:
        if address.url is None:
            raise ServiceDownError(NOT_RUNNING) from error
        raise ServiceDownError(f"Nobody answers at {address.shown} ({error}).") from error


def _ask(connection: http.client.HTTPConnection, address: Address, call: Call) -> bytes:
    headers = {"Authorization": f"Bearer {address.token}", "Accept": call.accept}
    body = call.content
    if body is not None:
        headers["Content-Type"] = call.kind
    prefix = urlsplit(address.base).path
    connection.request(call.method, prefix + call.target, body=body, headers=headers)
    response = connection.getresponse()
    data = response.read(LIMIT + 1)
    if len(data) > LIMIT:
        raise CommandError(f"The answer is longer than {LIMIT} bytes.", code="answer_too_large")
    if response.status >= http.client.BAD_REQUEST or response.status < http.client.OK:
        problem = problem_of(response.status, data)
        problem.retry_after = _seconds(response.getheader("Retry-After"))
        raise problem
    return data


def part(answer: Json, name: str) -> Json:
    """The object under `name`; an empty one when there is none."""
    found: object = answer.get(name)
    return cast("Json", found) if isinstance(found, dict) else {}


def problem_of(status: int, data: bytes) -> ProblemError:
    """The typed error of an answer that is not 2xx."""
    try:
        problem = json.loads(data)
    except ValueError:
        problem = None
    return ProblemError(status, cast("Json", problem) if isinstance(problem, dict) else {})


def _seconds(header: str | None) -> float | None:
    try:
        return None if header is None else max(0.0, float(header))
    except ValueError:
        return None
