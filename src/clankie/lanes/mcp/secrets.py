"""The secrets that the settings name for a server: looked up by name, given to nobody else."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from clankie.host.credentials import origin_of
from clankie.lanes.surroundings import scrubbed

if TYPE_CHECKING:
    from clankie.core.mcp import McpServer
    from clankie.host.ports import Credentials


class UnusableError(Exception):
    """The settings of the server cannot be used; the sentence says what to do."""


def environment(server: McpServer, credentials: Credentials) -> dict[str, str]:
    """What a program is started with: a scrubbed environment, and the secrets that it is to have.

    The program is the owner's choice, and so is which secret it gets; it is asked for under the
    origin that it is kept for.

    Raises:
        UnusableError: a secret is missing.
    """
    env = scrubbed()
    origins = {one.name: one.origin for one in credentials.list()} if server.env else {}
    for variable, name in server.env.items():
        origin = origins.get(name)
        secret = None if origin is None else credentials.secret_for(name, origin)
        if secret is None:
            raise UnusableError(
                f"The credential {name!r} for {variable} is missing; store it with "
                f"`clankie credentials set {name}`"
            )
        env[variable] = secret
    return env


def headers(server: McpServer, credentials: Credentials) -> dict[str, str]:
    """What is sent to an address. A secret goes only to the origin that it is kept for.

    Raises:
        UnusableError: a secret is missing, or would travel in the clear.
    """
    if not server.headers:
        return {}
    parts = urlsplit(server.url)
    if parts.scheme != "https" and not _is_loopback(parts.hostname or ""):
        raise UnusableError("Its address is http on another machine, so no secret is sent to it")
    origin = origin_of(f"{parts.scheme}://{parts.netloc}")
    sent: dict[str, str] = {}
    for header, name in server.headers.items():
        secret = credentials.secret_for(name, origin)
        if secret is None:
            raise UnusableError(
                f"The credential {name!r} for {header} is missing; store it with "
                f"`clankie credentials set {name} --origin {origin}`"
            )
        sent[header] = f"Bearer {secret}" if header.lower() == "authorization" else secret
    return sent


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
