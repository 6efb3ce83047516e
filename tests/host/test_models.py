"""Which model answers, and the announcement of a key that was found."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from clankie.core.delivery import InputState
from clankie.core.settings import Models, Settings
from clankie.host import conversations, models, settings
from clankie.host.doctor import Level, examine
from clankie.host.ports import ModelChoice
from fakes.clock import FakeClock
from fakes.hall import Hall, Machine
from fakes.loop import virtual
from fakes.trouble import refuse, trouble

PRACTICE = ModelChoice(
    provider="practice", model=None, source="practice", ready=True, sentence="It practises."
)
FOUND = ModelChoice(
    provider="openai",
    model="large",
    source="environment",
    ready=True,
    sentence="A key stands in the environment.",
)


class Chooser:
    """A port ModelChoices with a key in the environment."""

    def __init__(self, found: ModelChoice = FOUND) -> None:
        self.found = found
        self.looked = 0

    def current(self, settings: Settings) -> ModelChoice:
        name = settings.models.model
        if name == "practice":
            return self.found
        provider, _, model = name.partition(":")
        return replace(self.found, provider=provider, model=model, source="settings")

    async def choices(self, settings: Settings) -> Sequence[ModelChoice]:
        self.looked += 1
        return [self.current(settings), PRACTICE]

    def announcement(self, models: Models) -> str | None:
        paid = models.model.startswith("openai:")
        return f"{models.model} is used with a key from the environment." if paid else None


async def notices(hall: Hall) -> list[str]:
    return [one["text"] for one in await hall.log() if one.get("code") == models.PAID_KEY]


@virtual
async def test_a_key_that_was_found_is_announced_once_before_its_first_use(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEC-3
    machine = Machine(tmp_path, clock)
    for name in ("m-1", "m-2"):
        async with machine.on(models=Chooser()) as hall:
            first = (await hall.log())[0]
            assert (first["kind"], first["code"]) == ("notice", models.PAID_KEY)
            await hall.send("hello", name)
            await hall.ended(name)
            assert hall.lane.requests[0].settings.models.model == "openai:large"
            assert len(await notices(hall)) == 1


@virtual
async def test_another_paid_model_is_announced_when_a_conversation_first_uses_it(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEC-3
    async with Machine(tmp_path, clock).on(models=Chooser(PRACTICE)) as hall:
        await hall.send("hello", "m-1")
        await hall.ended("m-1")
        assert await notices(hall) == []
        side = await hall.make("side")
        made = await hall.house.store.conversations.get(side)
        await conversations.set_model(hall.house, side, "openai:small", made.revision)
        await hall.send("hello", "m-2", conversation=side)
        await hall.ended("m-2")
        assert await notices(hall) == ["openai:small is used with a key from the environment."]


@virtual
async def test_no_paid_model_is_asked_while_its_announcement_cannot_be_stored(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEC-3
    async with Machine(tmp_path, clock).on(models=Chooser(PRACTICE)) as hall:
        side = await hall.make("side")
        made = await hall.house.store.conversations.get(side)
        await conversations.set_model(hall.house, side, "openai:small", made.revision)
        trouble(hall.house, "conversations").plan("notice", refuse())
        await hall.send("hello", "m-1", conversation=side)
        ended = await hall.ended("m-1")
        assert (ended.state, ended.code) == (InputState.FAILED, "storage_unavailable")
        assert hall.lane.requests == []


@virtual
async def test_a_run_that_is_told_to_practise_uses_no_key_that_it_finds(
    clock: FakeClock, tmp_path: Path
) -> None:
    told = {"models": {"model": "practice"}}
    async with Machine(tmp_path, clock).on(models=Chooser(), override=told) as hall:
        assert models.current(hall.house).provider == "practice"
        await hall.send("hello", "m-1")
        await hall.ended("m-1")
        assert hall.lane.requests[0].settings.models.model == "practice"
        assert await notices(hall) == []


@virtual
async def test_a_local_server_that_the_owner_agreed_to_is_looked_for_at_the_start(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEC-3
    machine, chooser = Machine(tmp_path, clock), Chooser(PRACTICE)
    async with machine.on(models=chooser) as hall:
        assert chooser.looked == 0
        change = {"models": {"confirmed_local": "http://127.0.0.1:11434"}}
        await settings.patch(hall.house, change, 0)
    async with machine.on(models=chooser):
        assert chooser.looked == 1


@virtual
async def test_the_doctor_says_when_the_model_that_is_set_cannot_answer(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: BASE-4
    sick = replace(FOUND, ready=False, sentence="There is no key.")
    async with Machine(tmp_path, clock).on(models=Chooser(sick)) as hall:
        found = {one.name: one for one in await examine(hall.house)}
        assert (found["model"].level, found["model"].sentence) == (Level.FAIL, "There is no key.")


@virtual
async def test_a_start_that_cannot_store_the_announcement_leaves_it_to_the_first_turn(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEC-3
    async with Machine(tmp_path, clock).on(models=Chooser(PRACTICE)) as hall:
        hall.house.models = Chooser()
        trouble(hall.house, "conversations").plan("notice", refuse())
        await models.begin(hall.house)
        assert await notices(hall) == []
        await hall.send("hello", "m-1")
        await hall.ended("m-1")
        assert len(await notices(hall)) == 1
        assert [one["kind"] for one in await hall.log()].index("notice") == 2


@virtual
async def test_an_announcement_far_back_in_the_log_is_still_found(
    clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clankie.host.models._PAGE", 2)
    machine = Machine(tmp_path, clock)
    async with machine.on(models=Chooser()) as hall:
        for name in ("m-1", "m-2"):
            await hall.send("hello", name)
            await hall.ended(name)
    async with machine.on(models=Chooser()) as hall:
        assert len(await notices(hall)) == 1
    monkeypatch.setattr("clankie.host.models._LOOKED_THROUGH", 1)
    async with machine.on(models=Chooser()) as hall:
        assert len(await notices(hall)) == 2
