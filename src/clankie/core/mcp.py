"""Servers of further tools, as the owner set them. Secrets stand here by name only."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, cast

from clankie.core.errors import InvalidFieldError

SERVERS: Final = 16
"""Servers at most."""

# No underscore: a tool is named server__tool, and no name may pass for another's.
_NAME: Final = re.compile(r"(?=.{1,32}\Z)[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_CREDENTIAL: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_HEADER: Final = re.compile(r"[A-Za-z0-9-]{1,64}")
# No user name or password: an address is shown to whoever may read the settings.
_URL: Final = re.compile(r"https?://[^\s/?#@\\]+(?:[/?][^\s#\\]*)?")
_TEXT: Final = 1_024
_ITEMS: Final = 64
_TIMEOUT: Final = (1.0, 600.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """One server: a program to start (`command`), or an address to call (`url`).

    `env` and `headers` map names to the names of stored credentials, never to secrets. `timeout`:
    seconds for one call.
    """

    command: str = ""
    args: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout: float = 60.0
    on: bool = True

    def to_wire(self) -> dict[str, Any]:
        """All its fields, so that one sent back whole changes what was emptied too."""
        return {**asdict(self), "args": list(self.args)}


_BLANK: Final = McpServer()


def merged(current: Mapping[str, McpServer], patch: object) -> Mapping[str, McpServer]:
    """Servers after a merge patch (RFC 7396) of name to server.

    Null removes a server, a variable or a header, and brings the default of any other field back.

    Raises:
        InvalidFieldError: names the path and the rule.
    """
    if not isinstance(patch, Mapping):
        raise InvalidFieldError("mcp.servers", "an object of name to server, or null")
    after = dict(current)
    for name, given in cast("Mapping[str, object]", patch).items():
        path = f"mcp.servers.{name}"
        if _NAME.fullmatch(name) is None:
            rule = "a name of 1 to 32 of a-z 0-9 with single dashes between, a letter first"
            raise InvalidFieldError(path, rule)
        if given is None:
            after.pop(name, None)
        else:
            after[name] = _server(path, after.get(name, _BLANK), given)
    if len(after) > SERVERS:
        raise InvalidFieldError("mcp.servers", f"at most {SERVERS} servers")
    return after


def _server(path: str, current: McpServer, given: object) -> McpServer:
    if not isinstance(given, Mapping):
        raise InvalidFieldError(path, "an object or null")
    changed: dict[str, Any] = {}
    for name, value in cast("Mapping[str, object]", given).items():
        if name not in _FIELDS:
            raise InvalidFieldError(f"{path}.{name}", f"one of {', '.join(_FIELDS)}")
        if value is None:
            changed[name] = getattr(_BLANK, name)
        else:
            changed[name] = _FIELDS[name](f"{path}.{name}", value, current)
    server = replace(current, **changed)
    if bool(server.command) == bool(server.url):
        raise InvalidFieldError(path, "either command or url")
    return server


def _text(path: str, given: object) -> str:
    if not isinstance(given, str) or len(given) > _TEXT or not given.isprintable():
        raise InvalidFieldError(path, f"printable text of at most {_TEXT} characters")
    return given


def _command(path: str, given: object, _: McpServer) -> str:
    command = _text(path, given)
    if command != command.strip():
        raise InvalidFieldError(path, "a program, without blanks around it")
    return command


def _args(path: str, given: object, _: McpServer) -> tuple[str, ...]:
    if not isinstance(given, list | tuple) or len(cast("list[object]", given)) > _ITEMS:
        raise InvalidFieldError(path, f"a list of at most {_ITEMS} texts")
    return tuple(_text(path, one) for one in cast("list[object]", given))


def _url(path: str, given: object, _: McpServer) -> str:
    url = _text(path, given)
    if url and _URL.fullmatch(url) is None:
        raise InvalidFieldError(path, "an http or https address without user name")
    return url


def _env(path: str, given: object, current: McpServer) -> Mapping[str, str]:
    return _credentials(path, given, current.env, _VARIABLE)


def _headers(path: str, given: object, current: McpServer) -> Mapping[str, str]:
    return _credentials(path, given, current.headers, _HEADER)


def _credentials(
    path: str, given: object, current: Mapping[str, str], allowed: re.Pattern[str]
) -> Mapping[str, str]:
    if not isinstance(given, Mapping):
        raise InvalidFieldError(path, "an object of name to the name of a stored credential")
    after = dict(current)
    for name, credential in cast("Mapping[str, object]", given).items():
        if allowed.fullmatch(name) is None:
            raise InvalidFieldError(f"{path}.{name}", "a plain name of at most 64 characters")
        if credential is None:
            after.pop(name, None)
        elif isinstance(credential, str) and _CREDENTIAL.fullmatch(credential):
            after[name] = credential
        else:
            # The rule never repeats what was given: it may be the secret itself.
            rule = "the name of a stored credential: 1 to 64 of a-z 0-9 . _ -"
            raise InvalidFieldError(f"{path}.{name}", rule)
    if len(after) > _ITEMS:
        raise InvalidFieldError(path, f"at most {_ITEMS} names")
    return after


def _timeout(path: str, given: object, _: McpServer) -> float:
    low, high = _TIMEOUT
    if isinstance(given, bool) or not isinstance(given, int | float) or not low <= given <= high:
        raise InvalidFieldError(path, f"a number from {low:g} to {high:g}")
    return float(given)


def _on(path: str, given: object, _: McpServer) -> bool:
    if not isinstance(given, bool):
        raise InvalidFieldError(path, "true or false")
    return given


_FIELDS: Final[Mapping[str, Callable[[str, object, McpServer], object]]] = {
    "command": _command,
    "args": _args,
    "url": _url,
    "env": _env,
    "headers": _headers,
    "timeout": _timeout,
    "on": _on,
}
