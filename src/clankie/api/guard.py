"""What every request must be before anybody asks who sends it.

Rule 1: `Host` is one of our names with our port: a page that rebinds DNS to us is turned away.
Rule 2: an `Origin` that is not ours is turned away; there are no CORS headers, ever.
Rule 3: heads are at most 16 KiB, bodies at most 1 MiB (attachments as the setting says), and
        neither is read any further.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from clankie.api.errors import (
    BodyTooLargeError,
    ForeignOriginError,
    HeadersTooLargeError,
    UnknownHostError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import Message, Receive, Scope, Send

HEAD_LIMIT: Final = 16_384
BODY_LIMIT: Final = 1_048_576
SHORT: Final = 4_096
LOOPBACK: Final = ("127.0.0.1", "[::1]", "localhost")
_LOGIN: Final = "/v1/login"

HEAD: Final = "clankie.head"
"""Key of the scope: the request's headers as a mapping."""


@dataclass(frozen=True, slots=True)
class Names:
    """What we may be called. `given` are configured names, with or without a port."""

    port: int
    given: tuple[str, ...] = ()
    _hosts: frozenset[bytes] = field(init=False)
    _origins: frozenset[bytes] = field(init=False)

    def __post_init__(self) -> None:
        """Spell every name out once."""
        own = {f"{name}:{self.port}" for name in (*LOOPBACK, *self.given)} | set(self.given)
        if self.port == 80:  # noqa: PLR2004 - the port that a browser leaves out
            own |= set(LOOPBACK)
        hosts = frozenset(name.lower().encode() for name in own)
        origins = frozenset(scheme + name for scheme in (b"http://", b"https://") for name in hosts)
        object.__setattr__(self, "_hosts", hosts)
        object.__setattr__(self, "_origins", origins)

    def check(self, scope: Scope, head: dict[bytes, bytes]) -> None:
        """Raises UnknownHostError, ForeignOriginError."""
        host, origin = head.get(b"host", b"").lower(), head.get(b"origin")
        if _on_socket(scope):
            name: bytes = host.partition(b":")[0]
            known = name == b"localhost"
        else:
            known = host in self._hosts
        if not known:
            raise UnknownHostError
        if origin is not None and not self._ours(scope, origin):
            raise ForeignOriginError

    def _ours(self, scope: Scope, origin: bytes) -> bool:
        if _on_socket(scope):
            return False
        if origin == b"null":
            # The page that `clankie up` writes to disk sends its single-use code from no origin.
            return bool(scope["type"] == "http" and scope["path"] == _LOGIN)
        return origin.lower() in self._origins


def _on_socket(scope: Scope) -> bool:
    """Whether it came over the unix socket, where only our own user gets in."""
    server = scope.get("server")
    return server is None or server[1] is None


def read_head(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """The headers by name; of a repeated one the last, but never two hosts.

    Raises:
        HeadersTooLargeError, UnknownHostError.
    """
    head: dict[bytes, bytes] = {}
    size = 0
    for name, value in headers:
        size += len(name) + len(value) + 4
        if name == b"host" and name in head:
            raise UnknownHostError
        head[name] = value
    if size > HEAD_LIMIT:
        raise HeadersTooLargeError(HEAD_LIMIT)
    return head


class Exchange:
    """One request and its answer: bounds the body, and sets what every answer carries."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._limit = BODY_LIMIT
        self._length = 0
        self._taken = 0
        self._read = True
        self.started = False

    def expect(self, head: dict[bytes, bytes], limit: int = BODY_LIMIT) -> None:
        """Learn from the head whether a body follows; at most `limit` bytes of it are read."""
        self._limit = limit
        length = head.get(b"content-length", b"0")
        self._length = int(length) if length.isdigit() else 0
        self._read = self._length == 0 and b"transfer-encoding" not in head

    async def receive(self) -> Message:
        """The next piece of the body. Raises BodyTooLargeError, and reads no further."""
        if self._length > self._limit or self._taken > self._limit:
            raise BodyTooLargeError(self._limit)
        message = await self._receive()
        if message["type"] == "http.request":
            self._taken += len(message.get("body", b""))
            if self._taken > self._limit:
                raise BodyTooLargeError(self._limit)
            self._read = self._read or not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        """Pass on; a connection whose request was not read to its end is closed.

        A short body that nobody wanted is read first: closing on it could cost its sender the
        answer.
        """
        if message["type"] == "http.response.start":
            self.started = True
            while not self._read and 0 < self._length <= min(SHORT, self._limit):
                self._read = (await self.receive())["type"] != "http.request" or self._read
            headers = message["headers"] = list(message.get("headers", ()))
            headers.append((b"x-content-type-options", b"nosniff"))
            if all(name != b"cache-control" for name, _ in headers):
                headers.append((b"cache-control", b"no-store"))
            if not self._read:
                headers.append((b"connection", b"close"))
        await self._send(message)
