"""Commands that a harness runs at its own pace: `prompt`. No library is imported for them.

They speak HTTP/1.0 over the service's socket with `socket` alone, which halves their start: one
request, one answer, read to its end.
"""

from __future__ import annotations

import socket
import sys

from clankie.cli import places

TYPE_CHECKING = False  # the name that checkers know; importing `typing` for it takes 4 ms
if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = """\
Usage: clankie prompt [--sections A,B] [--conversation ID] [--json]

  Print what a harness should read at the start of a session. Moves nothing.

Options:
  --sections A,B      Only these parts, in this order.
  --conversation ID   Default: global-default.
  --json              Print {"text": ...}.
  --help              Show this and exit.
"""
TIMEOUT = 10.0
LIMIT = 4 * 1024 * 1024
_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~,")


class HookError(Exception):
    """The command could not do its work; the text says why and what to do."""


class UsageError(HookError):
    """The arguments are wrong."""


def prompt(arguments: Sequence[str]) -> int:
    """Print the prompt text for a harness. Returns the exit code."""
    try:
        options = _options(arguments)
        if "--help" in options:
            sys.stdout.write(USAGE)
            return 0
        text = _get(_prompt_path(options))
    except UsageError as error:
        sys.stderr.write(f"{USAGE}\nError: {error}\n")
        return 2
    except HookError as error:
        sys.stderr.write(f"clankie: {error}\n")
        return 1
    _write(text, as_json="--json" in options)
    return 0


def _options(arguments: Sequence[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        name, given, value = rest.pop(0).partition("=")
        if name in {"--json", "--help"} and not given:
            options[name] = ""
        elif name in {"--sections", "--conversation"}:
            if not given and not rest:
                raise UsageError(f"Option {name!r} needs a value.")
            options[name] = value if given else rest.pop(0)
        else:
            raise UsageError(f"No such option or argument: {name!r}.")
    return options


def _prompt_path(options: dict[str, str]) -> str:
    conversation = quoted(options.get("--conversation", "global-default"))
    query = f"?sections={quoted(options['--sections'])}" if "--sections" in options else ""
    return f"/v1/conversations/{conversation}/prompt{query}"


def quoted(text: str) -> str:
    """Percent-encode for a path segment or a query value; a comma stays."""
    raw = text.encode("utf-8", "replace")
    return "".join(chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in raw)


def _get(path: str) -> str:
    try:
        token = places.operator_token()
    except OSError as error:
        raise HookError(str(error)) from error
    if token is None:
        raise HookError("Clankie has never run here. Start it with `clankie up`.")
    head = (
        f"GET {path} HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        "Accept: text/plain\r\n\r\n"
    )
    return _answer(_exchange(head.encode("ascii")))


def _exchange(request: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as service:
        service.settimeout(TIMEOUT)
        try:
            service.connect(places.socket_path())
        except OSError as error:
            raise HookError("Clankie is not running. Start it with `clankie up`.") from error
        try:
            service.sendall(request)
            parts = bytearray()
            while part := service.recv(65_536):
                parts += part
                if len(parts) > LIMIT:
                    raise HookError("The service's answer is longer than a prompt can be.")
        except OSError as error:
            raise HookError(f"The service did not answer ({error}). Try again.") from error
    return bytes(parts)


def _answer(whole: bytes) -> str:
    head, found, body = whole.partition(b"\r\n\r\n")
    status, *headers = head.split(b"\r\n")
    lengths = [line[15:] for line in headers if line[:15].lower() == b"content-length:"]
    if not found or (lengths and int(lengths[0]) != len(body)):
        raise HookError("The service's answer was cut off. Try again.")
    if status.split(b" ")[1:2] == [b"200"]:
        return body.decode("utf-8", "replace")
    raise HookError(_problem(body))


def _problem(body: bytes) -> str:
    import json  # noqa: PLC0415 - only a refusal pays for it

    from clankie.cli.clean import line  # noqa: PLC0415 - only a refusal pays for it

    try:
        problem = json.loads(body)
        return f"{line(str(problem['detail']))} ({line(str(problem['code']))})"
    except (ValueError, TypeError, KeyError):
        return "The service answered with an error that this version does not understand."


def _write(text: str, *, as_json: bool) -> None:
    if as_json:
        import json  # noqa: PLC0415 - only --json pays for it

        text = json.dumps({"text": text}) + "\n"
    elif sys.stdout.isatty():
        from clankie.cli.clean import plain  # noqa: PLC0415 - a harness reads a pipe

        text = plain(text)
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
