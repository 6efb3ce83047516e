"""Where a model is: provider, name and address, taken from the settings and checked.

An address is http or https, without a user, a query or a fragment. A credential is never sent over
plain http to another machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, urlsplit

from clankie.host.credentials import origin_of
from clankie.lanes.model import ModelUnknownError

if TYPE_CHECKING:
    from clankie.core.settings import Models

PRACTICE: Final = "practice"

PROVIDERS: Final = {
    "openai-chat": "https://api.openai.com/v1",
    "ollama": "http://127.0.0.1:11434/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
}
"""Providers that speak the chat completions protocol, and where each is by default."""

_SCHEMES: Final = {"http", "https"}
_PATH: Final = "/chat/completions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A checked address. `base` has no slash at its end; `origin` is scheme, host and port."""

    provider: str
    model: str
    base: str
    origin: str
    encrypted: bool
    loopback: bool

    @property
    def remedy(self) -> str:
        """The command that stores a credential for it."""
        return f"`clankie credentials set {self.provider} --origin {self.origin}`"

    @property
    def url(self) -> str:
        """Where chat requests go."""
        return self.base + _PATH


def endpoint(models: Models) -> Endpoint:
    """The server that these settings name.

    Raises:
        ModelUnknownError: no provider of ours, no model name, or an address that cannot be used.
    """
    provider, _, model = models.model.partition(":")
    if provider not in PROVIDERS or not model.strip():
        known = ", ".join(f"{one}:NAME" for one in PROVIDERS)
        raise ModelUnknownError(
            f"The setting models.model is {models.model!r}, which names no model that can be used. "
            f"Set it to {PRACTICE} or one of {known} with `clankie settings set models.model …`."
        )
    parts = _checked(models.base_url.strip() or PROVIDERS[provider])
    path = parts.path.rstrip("/").removesuffix(_PATH).rstrip("/")
    origin = origin_of(f"{parts.scheme}://{parts.netloc}")
    return Endpoint(
        provider=provider,
        model=model.strip(),
        base=origin + path,
        origin=origin,
        encrypted=parts.scheme == "https",
        loopback=_is_loopback(parts.hostname or ""),
    )


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
