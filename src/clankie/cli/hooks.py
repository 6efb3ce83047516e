"""Commands that a harness runs at its own pace: `prompt`. No library is imported for them.

They speak HTTP/1.0 over the service's socket with `socket` alone, which halves their start: one
request, one answer, read to its end. What only a seat needs stands in `seat_hooks`.
"""

from __future__ import annotations

import os
import sys

from clankie.cli import places
from clankie.seats import unix

TYPE_CHECKING = False  # the name that checkers know; importing `typing` for it takes 4 ms
if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = """\
Usage: clankie prompt [--sections A,B] [--conversation ID] [--json]
       clankie prompt --seat [--sections A,B]

  Print what a harness should read at the start of a session. Moves nothing, but with --seat.

Options:
  --seat              As the hook of a seat: the hook's JSON is read from standard input, and the
                      seat has read the log once it is printed. Without a seat it prints nothing.
  --sections A,B      Only these parts, in this order.
  --conversation ID   Default: the seat's, in a seat; else global-default.
  --json              Print {"text": ...}.
  --help              Show this and exit.
"""
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
        if "--seat" in options:
            from clankie.cli.seat_hooks import session_start  # noqa: PLC0415 - a seat pays for it

            return session_start(options.get("--sections"))
        text = _get(options)
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
        if name in {"--json", "--help", "--seat"} and not given:
            options[name] = ""
        elif name in {"--sections", "--conversation"}:
            if not given and not rest:
                raise UsageError(f"Option {name!r} needs a value.")
            options[name] = value if given else rest.pop(0)
        else:
            raise UsageError(f"No such option or argument: {name!r}.")
    return options


def _prompt_path(options: dict[str, str], default: str) -> str:
    conversation = quoted(options.get("--conversation", default))
    query = f"?sections={quoted(options['--sections'])}" if "--sections" in options else ""
    return f"/v1/conversations/{conversation}/prompt{query}"


def quoted(text: str) -> str:
    """Percent-encode for a path segment or a query value; a comma stays."""
    raw = text.encode("utf-8", "replace")
    return "".join(chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in raw)


def _get(options: dict[str, str]) -> str:
    token, default = _seat() if os.environ.get("CLANKIE_SEAT_GRANT") else ("", "")
    if not token:
        token, default = _operator(), "global-default"
    headers = {"Authorization": f"Bearer {token}", "Accept": "text/plain"}
    try:
        path = _prompt_path(options, default)
        status, body = unix.call(places.socket_path(), f"GET {path}", headers=headers)
    except unix.WireError as error:
        raise HookError(str(error)) from error
    if status == 200:  # noqa: PLR2004 - what HTTP calls success
        return body.decode("utf-8", "replace")
    raise HookError(_problem(body))


def _operator() -> str:
    try:
        token = places.operator_token()
    except OSError as error:
        raise HookError(str(error)) from error
    if token is None:
        raise HookError("Clankie has never run here. Start it with `clankie up`.")
    return token


def _seat() -> tuple[str, str]:
    """The token and the conversation of the seat that we are in; empty ones in none."""
    from clankie.seats import folder, registration  # noqa: PLC0415 - only a seat pays for it

    try:
        seated = registration.seated(folder.current(os.environ))
    except (folder.SeatFolderError, OSError) as error:
        raise HookError(str(error)) from error
    return ("", "") if seated is None else (seated.token, seated.conversation)


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
