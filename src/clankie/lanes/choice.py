"""Which model could answer, and which one does.

Rule 1: a model that the settings name is taken, ready or not: nothing silently replaces it.
Rule 2: a key that the owner stored, or that stands in the environment, names a provider; which of
        its models is a table here.
Rule 3: a model server on this machine is named when it answers, and taken only when the owner
        agreed to its address: any user of the machine may listen there.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec

from clankie.core.errors import InvalidFieldError
from clankie.host.credentials import origin_of
from clankie.host.framing import one_line
from clankie.host.ports import ModelChoice
from clankie.lanes.endpoint import PRACTICE, PROVIDERS, endpoint, home
from clankie.lanes.model import ModelUnknownError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    import httpx2

    from clankie.core.settings import Models, Settings
    from clankie.host.ports import Credentials


class Source(StrEnum):
    """Why a model is a choice."""

    SETTINGS = "settings"
    CREDENTIAL = "credential"
    ENVIRONMENT = "environment"
    LOCAL = "local"
    PRACTICE = "practice"


PROBE: Final = 0.3
"""Seconds that a model server on this machine has to answer."""

LOCAL: Final[Mapping[str, str]] = {
    name: provider.base for name, provider in PROVIDERS.items() if not provider.paid
}
"""Where model servers usually listen on this machine."""

_NAMES: Final = {
    "anthropic": "Anthropic",
    "openai": "OpenAI",
    "openai-chat": "OpenAI",
    "google": "Google",
    "xai": "xAI",
    "ollama": "Ollama",
    "lmstudio": "LM Studio",
}
_ENVIRONMENT: Final = "environment"
_BODY: Final = 1 << 20
_NAME: Final = 200
_PRACTICE: Final = ModelChoice(
    provider=PRACTICE,
    model=None,
    source=Source.PRACTICE,
    ready=True,
    sentence="The practice model follows fixed rules, offline; it shows how things work.",
)


class _Model(msgspec.Struct):
    """A model as a server lists it."""

    id: str


class _Listed(msgspec.Struct):
    """The answer to ``GET …/models``."""

    data: list[_Model]


@dataclass(slots=True)
class Chooser:
    """Implements `host.ports.ModelChoices`. `client` opens the HTTP client of the lane.

    `servers` are looked for on this machine by `choices`; `current` knows what it found last.
    """

    credentials: Credentials
    client: Callable[[], Awaitable[httpx2.AsyncClient]]
    servers: Mapping[str, str]
    _found: Mapping[str, list[str]] = field(default_factory=dict[str, list[str]])

    def current(self, settings: Settings) -> ModelChoice:
        """See the port."""
        every = self._all(settings.models)
        return every[0] if settings.models.model != PRACTICE else next(filter(_ready, every))

    async def choices(self, settings: Settings) -> Sequence[ModelChoice]:
        """See the port."""
        self._found = await self._on_this_machine()
        return self._all(settings.models)

    def _all(self, models: Models) -> Sequence[ModelChoice]:
        local = [self._local(name, found, models) for name, found in self._found.items()]
        others = [*self._with_keys(), *local, _PRACTICE]
        if models.model == PRACTICE:
            return others
        named = self._named(models)
        return [named, *(one for one in others if setting_of(one) != setting_of(named))]

    def announcement(self, models: Models) -> str | None:
        """What the owner is told before a key from the environment is first used; else None."""
        try:
            at = endpoint(models)
        except ModelUnknownError:
            return None
        if self._keys().get((at.provider, at.origin)) != _ENVIRONMENT:
            return None
        return (
            f"Turns now use {models.model} with a key found in the environment of the service. It "
            f"is sent to {at.origin} and nowhere else; what it costs is charged to its account. "
            "Choose another model with `clankie settings set models.model …` if that is not meant."
        )

    def _named(self, models: Models) -> ModelChoice:
        """What the settings say."""
        provider, _, model = models.model.partition(":")
        ready, sentence = True, f"{models.model} is set in models.model."
        try:
            at = endpoint(models)
        except ModelUnknownError as error:
            ready, sentence = False, error.detail
        else:
            if at.own and PROVIDERS[provider].paid and (provider, at.origin) not in self._keys():
                ready = False
                sentence = f"{models.model} is set, but there is no key. Store one: {at.remedy}."
        return ModelChoice(
            provider=provider,
            model=model or None,
            source=Source.SETTINGS,
            ready=ready,
            sentence=sentence,
        )

    def _keys(self) -> Mapping[tuple[str, str], str]:
        """For each name with a key, and the origin it is for: where the key is kept."""
        return {(one.name, origin_of(one.origin)): one.source for one in self.credentials.list()}

    def _with_keys(self) -> Iterator[ModelChoice]:
        """A provider for each key; both ways to OpenAI count once."""
        seen: set[str] = set()
        keys = self._keys()  # once: to list them may open a file
        for provider, facts in PROVIDERS.items():
            kept = keys.get((provider, home(provider))) if facts.usual else None
            if kept is None or home(provider) in seen:
                continue
            seen.add(home(provider))
            source = Source.ENVIRONMENT if kept == _ENVIRONMENT else Source.CREDENTIAL
            where = "stands in the environment" if source is Source.ENVIRONMENT else "is stored"
            yield ModelChoice(
                provider=provider,
                model=facts.usual,
                source=source,
                ready=True,
                sentence=f"A key for {_NAMES[provider]} {where}; {facts.usual} would answer.",
            )

    async def _on_this_machine(self) -> Mapping[str, list[str]]:
        async with asyncio.TaskGroup() as group:
            looking = {
                provider: group.create_task(self._listed(base))
                for provider, base in self.servers.items()
            }
        found = {provider: task.result() for provider, task in looking.items()}
        return {provider: names for provider, names in found.items() if names is not None}

    def _local(self, provider: str, names: list[str], models: Models) -> ModelChoice:
        origin = _origin(self.servers[provider])
        server = f"{_NAMES[provider]} answers at {origin}"
        agreed = _origin(models.confirmed_local) == origin
        if not names:
            sentence = f"{server}, but has no model yet."
        elif agreed:
            sentence = f"{server}; you agreed to use it, and {names[0]} would answer."
        else:
            sentence = (
                f"{server} and has {names[0]}. It is used once you agree: `clankie settings set "
                f"models.confirmed_local {origin}`."
            )
        return ModelChoice(
            provider=provider,
            model=names[0] if names else None,
            source=Source.LOCAL,
            ready=agreed and bool(names),
            sentence=sentence,
            address=origin,
        )

    async def _listed(self, base: str) -> list[str] | None:
        """The models of a server; None when none answers there as one does, and in time."""
        parts = urlsplit(base)
        try:
            async with asyncio.timeout(PROBE):
                # Most machines have no such server: then the HTTP library stays where it is.
                _, writer = await asyncio.open_connection(parts.hostname, parts.port)
                writer.close()
        except (OSError, TimeoutError):
            return None
        client = await self.client()
        try:
            async with asyncio.timeout(PROBE):
                return _names_in(await _fetched(client, f"{base}/models"))
        except (OSError, TimeoutError, ValueError):
            return None


def setting_of(choice: ModelChoice) -> str:
    """What models.model has to be for it."""
    return choice.provider if choice.model is None else f"{choice.provider}:{choice.model}"


def _ready(choice: ModelChoice) -> bool:
    return choice.ready


async def _fetched(client: httpx2.AsyncClient, url: str) -> bytes:
    """The beginning of what stands there. Raises OSError when nobody serves it."""
    import httpx2  # noqa: PLC0415 - loaded with the client that was opened just now

    found = b""
    try:
        async with client.stream("GET", url, headers={"accept-encoding": "identity"}) as response:
            response.raise_for_status()
            async for data in response.aiter_raw():
                found += data
                if len(found) > _BODY:
                    break
    except httpx2.HTTPError as error:
        raise ConnectionError(url) from error
    return found


def _names_in(body: bytes) -> list[str]:
    """The names, those that are no chat models left out. Raises ValueError."""
    listed = msgspec.json.decode(body, type=_Listed)
    names = [one_line(one.id, _NAME) for one in listed.data]
    return [name for name in names if name and "embed" not in name.lower()]


def _origin(address: str) -> str | None:
    try:
        return origin_of(address.strip())
    except InvalidFieldError:
        return None
