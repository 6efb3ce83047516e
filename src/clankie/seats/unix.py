"""One request over the service's unix socket, with `socket` alone: hooks cannot pay for more."""

from __future__ import annotations

import socket

TYPE_CHECKING = False  # the name that checkers know; importing `typing` for it takes 4 ms
if TYPE_CHECKING:
    from collections.abc import Mapping

TIMEOUT = 10.0
LIMIT = 4 * 1024 * 1024
"""Bytes of one answer; a prompt is the longest."""


class WireError(Exception):
    """No whole answer came; the text says what to do. `sent`: it may have been carried out."""

    def __init__(self, sentence: str, *, sent: bool) -> None:
        super().__init__(sentence)
        self.sent = sent


def call(
    path: str, line: str, *, headers: Mapping[str, str] | None = None, body: bytes | None = None
) -> tuple[int, bytes]:
    """Send ``METHOD /target`` to the socket at `path`; the status and the body of the answer.

    HTTP/1.0: one request, one answer, read to its end. Raises WireError.
    """
    status, _, answer = parsed(_exchange(path, request(line, headers or {}, body)))
    return status, answer


def request(line: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
    """The bytes of a request whose body, if any, is JSON."""
    lines = [f"{line} HTTP/1.0", "Host: localhost"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    head = "\r\n".join(lines) + "\r\n\r\n"
    return head.encode("latin-1") + (body or b"")


def _exchange(path: str, request: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as service:
        service.settimeout(TIMEOUT)
        try:
            service.connect(path)
        except OSError as error:
            raise WireError(
                "Clankie is not running. Start it with `clankie up`.", sent=False
            ) from error
        try:
            service.sendall(request)
            parts = bytearray()
            while part := service.recv(65_536):
                parts += part
                if len(parts) > LIMIT:
                    raise WireError("The service's answer is longer than it can be.", sent=True)
        except OSError as error:
            raise WireError(
                f"The service did not answer ({error}). Try again.", sent=True
            ) from error
    return bytes(parts)


def parsed(whole: bytes) -> tuple[int, dict[str, str], bytes]:
    """Status, headers (names in small letters) and body of an answer. Raises WireError."""
    head, found, body = whole.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    status = first.split(" ")[1:2]
    parts = [line.partition(":") for line in lines]
    headers = {name.strip().lower(): value.strip() for name, _, value in parts}
    length = headers.get("content-length", "")
    if not found or not status or not status[0].isdigit():
        raise WireError("The service's answer was cut off. Try again.", sent=True)
    if length.isdigit() and int(length) != len(body):
        raise WireError("The service's answer was cut off. Try again.", sent=True)
    return int(status[0]), headers, body
