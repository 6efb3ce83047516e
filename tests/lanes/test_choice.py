"""Which model answers: settings, then keys, then servers of this machine, then practice."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx2
import pytest

from clankie.core.settings import DEFAULTS, Models, Settings
from clankie.host.ports import Credential, ModelChoice, ModelChoices
from clankie.lanes.choice import Chooser, Source, setting_of
from clankie.lanes.service import ServiceLane
from fakes.clock import FakeClock, FakeIds
from fakes.credentials import FakeCredentials
from fakes.model_server import Act, ModelServer, status, stays_silent

ANTHROPIC = "https://api.anthropic.com"
LISTED = status(200, '{"data": [{"id": "text-embedding-x"}, {"id": "llama3.2"}]}')


class Keys(FakeCredentials):
    """Keys in the environment, by name and origin."""

    def __init__(self, **origins: str) -> None:
        super().__init__()
        self.origins = origins

    def list(self) -> list[Credential]:
        kept = [
            Credential(name=name, origin=origin, source="environment")
            for name, origin in self.origins.items()
        ]
        return [*super().list(), *kept]


@asynccontextmanager
async def chooser(
    keys: FakeCredentials | None = None, servers: Mapping[str, str] | None = None
) -> AsyncIterator[Chooser]:
    async with httpx2.AsyncClient(trust_env=False) as client:

        async def opened() -> httpx2.AsyncClient:
            return client

        yield Chooser(keys or FakeCredentials(), opened, servers or {})


def agreed(address: str) -> Settings:
    """Settings in which the owner agreed to a server."""
    return Settings(models=Models(confirmed_local=address))


def named(model: str) -> Settings:
    return Settings(models=Models(model=model))


async def seen(it: Chooser, settings: Settings = DEFAULTS) -> tuple[ModelChoice, list[str]]:
    """What is taken, and why each is there."""
    every = await it.choices(settings)
    return it.current(settings), [one.source for one in every]


async def test_without_anything_the_practice_model_answers() -> None:
    async with chooser() as it:
        current, every = await seen(it)
    assert (current.provider, current.model, current.ready) == ("practice", None, True)
    assert every == ["practice"]


async def test_the_model_in_the_settings_comes_before_every_key() -> None:
    async with chooser(Keys(anthropic=ANTHROPIC)) as it:
        current, every = await seen(it, named("ollama:x"))
    assert setting_of(current) == "ollama:x"
    assert every == ["settings", "environment", "practice"]


async def test_a_model_without_its_key_is_taken_all_the_same_and_says_what_is_missing() -> None:
    async with chooser(Keys(xai="https://api.x.ai")) as it:
        current, _ = await seen(it, named("anthropic:claude-x"))
    assert setting_of(current) == "anthropic:claude-x"
    assert not current.ready
    assert "clankie credentials set anthropic" in current.sentence


async def test_a_setting_that_names_nothing_is_not_ready() -> None:
    async with chooser() as it:
        current, _ = await seen(it, named("gpt"))
    assert not current.ready
    assert "models.model" in current.sentence


async def test_a_stored_key_is_taken_before_practice_and_names_a_model() -> None:
    keys = FakeCredentials()
    keys.put("google", "https://generativelanguage.googleapis.com:443", "k")
    async with chooser(keys) as it:
        current, _ = await seen(it)
    assert current.provider == "google"
    assert current.source == Source.CREDENTIAL
    assert current.model


async def test_one_key_for_both_ways_to_openai_is_one_choice() -> None:
    both = {"openai": "https://api.openai.com", "openai-chat": "https://api.openai.com"}
    async with chooser(Keys(**both)) as it:
        every = await it.choices(DEFAULTS)
    assert [one.provider for one in every] == ["openai", "practice"]


# proves: SEC-3
async def test_a_key_for_another_address_is_no_choice() -> None:
    async with chooser(Keys(anthropic="https://proxy.example.com")) as it:
        _, every = await seen(it)
        assert it.announcement(Models(model="anthropic:x")) is None
    assert every == ["practice"]


# proves: SEC-3
async def test_a_server_of_this_machine_is_named_and_taken_only_once_agreed() -> None:
    async with (
        ModelServer(script=[LISTED]) as server,
        chooser(servers={"ollama": server.base_url}) as it,
    ):
        assert it.current(agreed(server.origin)).provider == "practice"  # nobody has looked yet
        [found, practice] = await it.choices(DEFAULTS)
        assert setting_of(found) == "ollama:llama3.2"
        assert found.address is not None
        assert f"models.confirmed_local {found.address}" in found.sentence
        assert it.current(DEFAULTS) == practice
        assert it.current(agreed("http://127.0.0.1:9")) == practice
        assert it.current(agreed("nonsense")) == practice
        assert setting_of(it.current(agreed(server.origin))) == "ollama:llama3.2"
        assert all("authorization" not in asked.headers for asked in server.asked)


@pytest.mark.parametrize(
    "act", [stays_silent, status(404), status(200, "<html>"), status(200, '{"data": 1}')]
)
async def test_what_is_no_model_server_or_too_slow_is_no_choice(act: Act) -> None:
    async with (
        ModelServer(script=[act]) as server,
        chooser(servers={"lmstudio": server.base_url}) as it,
    ):
        _, every = await seen(it, agreed(server.origin))
    assert every == ["practice"]


async def test_a_server_that_went_away_is_no_choice_any_more() -> None:
    async with chooser(servers={"ollama": "http://127.0.0.1:9/v1"}) as it:
        _, every = await seen(it, agreed("http://127.0.0.1:9"))
    assert every == ["practice"]


async def test_a_server_without_a_model_says_so() -> None:
    async with (
        ModelServer(script=[status(200, '{"data": []}')]) as server,
        chooser(servers={"ollama": server.base_url}) as it,
    ):
        [found, _] = await it.choices(agreed(server.origin))
    assert not found.ready
    assert found.model is None
    assert "has no model yet" in found.sentence


# proves: SEC-3
async def test_a_key_of_the_environment_is_announced_and_a_stored_one_is_not() -> None:
    async with chooser(Keys(anthropic=ANTHROPIC)) as it:
        said = it.announcement(Models(model="anthropic:claude-x"))
        assert said is not None
        assert "https://api.anthropic.com" in said
        assert it.announcement(Models(model="openai:x")) is None
        assert it.announcement(Models(model="practice")) is None
    stored = FakeCredentials()
    stored.put("anthropic", ANTHROPIC, "k")
    async with chooser(stored) as it:
        assert it.announcement(Models(model="anthropic:claude-x")) is None


async def test_the_lane_has_one() -> None:
    async with ServiceLane(FakeClock(), FakeIds(), FakeCredentials()) as lane:
        it: ModelChoices = lane.chooser
        assert it.current(DEFAULTS).provider == "practice"
