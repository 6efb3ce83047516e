"""Settings through the house: revisioned, checked, laid over, and at work at once."""

import asyncio
from pathlib import Path

import pytest

from clankie.core.delivery import InputState
from clankie.core.errors import (
    CommitUnknownError,
    InvalidFieldError,
    SettingsConflictError,
    StorageUnavailableError,
)
from clankie.core.settings import DEFAULTS
from clankie.host.settings import patch
from fakes.clock import FakeClock
from fakes.hall import Machine
from fakes.lane import ScriptedLane, silence
from fakes.loop import virtual
from fakes.trouble import lose, pause_after, refuse, trouble


@virtual
async def test_a_change_counts_at_once_and_after_a_restart(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: BASE-1
    machine = Machine(tmp_path, clock)
    async with machine.on(ScriptedLane(silence)) as hall:
        revision, after = await patch(hall.house, {"watchdog": {"idle": 10}}, 0)
        assert (revision, after.watchdog.idle) == (1, 10.0)
        await hall.send("one", "m-1")
        await clock.sleep(10)
        assert (await hall.ended("m-1", 1)).code == "conversation_turn_stalled"
    async with machine.on() as hall:
        assert hall.house.settings.watchdog.idle == 10.0
        assert hall.house.settings_revision == 1
        _, back = await patch(hall.house, {"watchdog": None}, 1)
        assert back == DEFAULTS


@virtual
async def test_a_change_to_what_somebody_else_changed_is_refused(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: BASE-1
    async with Machine(tmp_path, clock).on() as hall:
        both = await asyncio.gather(
            patch(hall.house, {"persona": {"name": "Ada"}}, 0),
            patch(hall.house, {"watchdog": {"idle": 10}}, 0),
            return_exceptions=True,
        )
        assert isinstance(both[1], SettingsConflictError)
        assert both[1].facts == {"revision": 1}
        assert hall.house.settings.persona.name == "Ada"
        await patch(hall.house, {"watchdog": {"idle": 10}}, 1)
        assert (hall.house.settings.persona.name, hall.house.settings.watchdog.idle) == ("Ada", 10)


@virtual
async def test_what_cannot_be_is_refused_and_changes_nothing(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: BASE-1
    async with Machine(tmp_path, clock).on() as hall:
        wrong: list[dict[str, object]] = [
            {"watchdog": {"idle": 0}},
            {"nothing": {}},
            {"persona": {"name": 7}},
            {"models": {"base_url": "http://me:secret@127.0.0.1/v1"}},
            {"models": {"base_url": "http://[::1"}},
            {"models": {"model": "openai-chat:a\nb"}},
            {"time": {"zone": "Foo/Bar"}},
        ]
        for change in wrong:
            with pytest.raises(InvalidFieldError):
                await patch(hall.house, change, 0)
        assert (hall.house.settings, hall.house.settings_revision) == (DEFAULTS, 0)


@virtual
async def test_what_the_environment_says_lies_over_the_stored_choice_and_is_not_stored(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: BASE-1
    machine = Machine(tmp_path, clock)
    async with machine.on(override={"models": {"model": "openai-chat:env"}}) as hall:
        _, saved = await patch(hall.house, {"models": {"model": "openai-chat:own"}}, 0)
        assert saved.models.model == "openai-chat:own"
        assert hall.house.settings.models.model == "openai-chat:env"
    async with machine.on() as hall:
        assert hall.house.settings.models.model == "openai-chat:own"


@virtual
async def test_a_change_that_may_be_stored_is_neither_lost_nor_undone(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: BASE-1
    async with Machine(tmp_path, clock).on() as hall:
        stands = trouble(hall.house, "owner")
        stands.plan("save_settings", refuse(), lose())
        with pytest.raises(StorageUnavailableError):
            await patch(hall.house, {"persona": {"name": "Ada"}}, 0)
        assert hall.house.settings == DEFAULTS
        with pytest.raises(CommitUnknownError):
            await patch(hall.house, {"persona": {"name": "Ada"}}, 0)
        with pytest.raises(SettingsConflictError):
            await patch(hall.house, {"watchdog": {"idle": 10}}, 0)
        _, after = await patch(hall.house, {"watchdog": {"idle": 10}}, 1)
        assert (after.persona.name, after.watchdog.idle) == ("Ada", 10.0)


@virtual
async def test_a_change_counts_although_its_client_went_away(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: BASE-1
    async with Machine(tmp_path, clock).on() as hall:
        saved, go = asyncio.Event(), asyncio.Event()
        trouble(hall.house, "owner").plan("save_settings", pause_after(saved, go))
        async with asyncio.TaskGroup() as tasks:
            client = tasks.create_task(patch(hall.house, {"persona": {"name": "Ada"}}, 0))
            await saved.wait()
            client.cancel()
            go.set()
        assert hall.house.settings.persona.name == "Ada"
        await hall.send("one", "m-1")
        assert (await hall.ended("m-1")).state is InputState.SETTLED
        assert hall.lane.requests[0].settings.persona.name == "Ada"
