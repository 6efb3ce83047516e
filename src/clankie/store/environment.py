"""Keys of providers that stand in the environment, under the names that their own tools use.

They are read, never written anywhere, and each counts for its provider's own address only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from clankie.host.ports import Credential

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ENVIRONMENT: Final = "environment"


@dataclass(frozen=True, slots=True)
class Usual:
    """A credential's name, the origin it is for, and its variables: the first that is set."""

    name: str
    origin: str
    variables: tuple[str, ...]


USUAL: Final[Sequence[Usual]] = (
    Usual("anthropic", "https://api.anthropic.com", ("ANTHROPIC_API_KEY",)),
    Usual(
        "google",
        "https://generativelanguage.googleapis.com",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    Usual("openai", "https://api.openai.com", ("OPENAI_API_KEY",)),
    Usual("openai-chat", "https://api.openai.com", ("OPENAI_API_KEY",)),
    Usual("xai", "https://api.x.ai", ("XAI_API_KEY",)),
)


class EnvironmentKeys:
    """The keys in one environment."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def list(self) -> Sequence[Credential]:
        """Those that are set, by name."""
        return [
            Credential(name=one.name, origin=one.origin, source=ENVIRONMENT)
            for one in USUAL
            if self._secret(one) is not None
        ]

    def secret_for(self, name: str, origin: str) -> str | None:
        """The key of that name, only for its provider's own origin."""
        for one in USUAL:
            if (one.name, one.origin) == (name, origin):
                return self._secret(one)
        return None

    def secrets(self) -> Sequence[str]:
        """All of them, each once."""
        found = [self._environ.get(variable, "").strip() for variable in _VARIABLES]
        return [secret for secret in found if secret]

    def _secret(self, usual: Usual) -> str | None:
        values = (self._environ.get(variable, "").strip() for variable in usual.variables)
        return next((value for value in values if value), None)


_VARIABLES: Final = tuple(dict.fromkeys(variable for one in USUAL for variable in one.variables))
