"""Where a model is: provider, name and address, taken from the settings and checked.

An address is http or https, without a user, a query or a fragment. A credential is never sent over
plain http to another machine.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, quote, urlsplit

from clankie.host.credentials import origin_of
from clankie.lanes.model import ModelUnknownError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clankie.core.settings import Models

PRACTICE: Final = "practice"


class Protocol(StrEnum):
    """How a server is spoken to. The value ends the addresses of requests, where it can."""

    CHAT = "/chat/completions"
    MESSAGES = "/messages"
    RESPONSES = "/responses"
    GENERATE = "/models"


@dataclass(frozen=True, slots=True)
class Provider:
    """Where a provider is by default, and how it is spoken to.

    `version` is the path of an address that names none, `usual` the model of those who have a key
    and chose none.
    """

    base: str
    protocol: Protocol
    version: str = ""
    usual: str = ""

    @property
    def paid(self) -> bool:
        """Whether it asks for a key: what is not on this machine does."""
        return self.base.startswith("https:")


PROVIDERS: Final[Mapping[str, Provider]] = {
    "anthropic": Provider(
        "https://api.anthropic.com/v1", Protocol.MESSAGES, "/v1", "claude-sonnet-5-5"
    ),
    "openai": Provider("https://api.openai.com/v1", Protocol.RESPONSES, "/v1", "gpt-6.1-terra"),
    "openai-chat": Provider("https://api.openai.com/v1", Protocol.CHAT, "", "gpt-6.1-terra"),
    "google": Provider(
        "https://generativelanguage.googleapis.com/v1beta",
        Protocol.GENERATE,
        "/v1beta",
        "gemini-flash-latest",
    ),
    "xai": Provider("https://api.x.ai/v1", Protocol.CHAT, "/v1", "grok-4.7"),
    "ollama": Provider("http://127.0.0.1:11434/v1", Protocol.CHAT),
    "lmstudio": Provider("http://127.0.0.1:1234/v1", Protocol.CHAT),
}
"""The providers by the name that stands before the colon in models.model."""

_SCHEMES: Final = {"http", "https"}
_HOME: Final = ("models/", "tunedModels/")  # what a model's name may begin with at Google


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A checked address. `base` has no slash at its end; `origin` is scheme, host and port.

    `own`: it is the provider's own address, not one that the owner put in its place.
    """

    provider: str
    protocol: Protocol
    model: str
    base: str
    origin: str
    encrypted: bool
    loopback: bool
    own: bool

    @property
    def remedy(self) -> str:
        """The command that stores a credential for it."""
        return f"`clankie credentials set {self.provider} --origin {self.origin}`"

    @property
    def url(self) -> str:
        """Where requests go."""
        if self.protocol is not Protocol.GENERATE:
            return self.base + self.protocol
        home = next((one for one in _HOME if self.model.startswith(one)), "models/")
        name = quote(self.model.removeprefix(home), safe="")
        return f"{self.base}/{home}{name}:streamGenerateContent?alt=sse"


def endpoint(models: Models) -> Endpoint:
    """The server that these settings name.

    Raises:
        ModelUnknownError: no provider of ours, no model name, or an address that cannot be used.
    """
    name, _, model = models.model.partition(":")
    provider = PROVIDERS.get(name)
    if provider is None or not model.strip():
        known = ", ".join(f"{one}:NAME" for one in PROVIDERS)
        raise ModelUnknownError(
            f"The setting models.model is {models.model!r}, which names no model that can be used. "
            f"Set it to {PRACTICE} or one of {known} with `clankie settings set models.model …`."
        )
    parts = _checked(models.base_url.strip() or provider.base)
    path = parts.path.rstrip("/").removesuffix(provider.protocol).rstrip("/")
    origin = origin_of(f"{parts.scheme}://{parts.netloc}")
    return Endpoint(
        provider=name,
        protocol=provider.protocol,
        model=model.strip(),
        base=origin + (path or provider.version),
        origin=origin,
        encrypted=parts.scheme == "https",
        loopback=_is_loopback(parts.hostname or ""),
        own=origin == home(name),
    )


@functools.cache
def home(provider: str) -> str:
    """The origin of a provider of ours."""
    parts = urlsplit(PROVIDERS[provider].base)
    return origin_of(f"{parts.scheme}://{parts.netloc}")


def _checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _unusable("it cannot be read as an address") from None
    if parts.scheme not in _SCHEMES or not parts.hostname or port == 0:
        raise _unusable("it must begin with http:// or https:// and name a host")
    if "@" in parts.netloc:
        raise _unusable("a user or password must not stand in it; use `clankie credentials set`")
    if parts.query or parts.fragment:
        raise _unusable("it must have no query and no fragment")
    if any(character.isspace() or not character.isprintable() for character in url):
        raise _unusable("it must hold no blanks and no control characters")
    return parts


def _unusable(why: str) -> ModelUnknownError:
    # The address itself is not repeated: somebody may have put a password into it.
    return ModelUnknownError(
        f"The setting models.base_url cannot be used: {why}. "
        "Mend it with `clankie settings set models.base_url …`."
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
