"""What the house says of itself: status, doctor, and the text a harness starts with."""

import asyncio
import os
from pathlib import Path

import pytest

from clankie import __version__
from clankie.core.errors import ConversationNotFoundError, InvalidFieldError
from clankie.core.ids import HEAD
from clankie.host import selfstate, settings
from clankie.host.captain import Captain
from clankie.host.credentials import put
from clankie.host.doctor import Level, examine
from clankie.host.ports import LaneResult, TurnHost, TurnRequest
from clankie.host.status import status
from fakes.clock import FakeClock
from fakes.hall import Machine, die
from fakes.lane import ScriptedLane, call, fails, silence
from fakes.loop import virtual

BRIEF = {"name": "Ada", "instructions": "Be brief."}


@virtual
async def test_status_shows_what_runs_waits_and_is_held(clock: FakeClock, tmp_path: Path) -> None:
    async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
        async with host.tool(call("c-1")):
            return await silence(request, host)

    async with Machine(tmp_path, clock).on(ScriptedLane(play, fails("x"))) as hall:
        other = await hall.make("other")
        await hall.send("one", "m-1")
        await hall.send("two", "m-2")
        await clock.sleep(2.5)
        found = await status(hall.house)
        store = found.pop("store")
        assert isinstance(store, dict)
        assert store["schema"] >= 1
        assert found == {
            "version": __version__,
            "pid": os.getpid(),
            "now": "2026-11-30T12:00:02.500Z",
            "started_at": "2026-11-30T12:00:00.000Z",
            "uptime_seconds": 2.5,
            "stopping": False,
            "settings_revision": 0,
            "lane": {"kind": "scripted", "turns": 1},
            "running": [
                {
                    "conversation": HEAD,
                    "delivery": "m-1",
                    "phase": "execution",
                    "silent_seconds": 2.5,
                    "tools": ["c-1"],
                }
            ],
            "conversations": {"open": 2, "closed": 0},
            "deliveries": {"running": 1, "waiting": 1, "held": 0, "uncertain": 0},
            "seats": {"open": 0, "live": 0, "parked": 0},
            "writer_backlog": 0,
        }
        assert other


@virtual
async def test_the_doctor_says_what_is_odd_and_how_to_mend_it(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: BASE-4
    machine = Machine(tmp_path, clock)
    async with machine.on(ScriptedLane(silence)) as hall:
        found = {one.name: one for one in await examine(hall.house)}
        assert found.keys() == {"store", "model", "credentials"}
        assert found["model"].level is Level.WARN
        assert "settings set models.model" in found["model"].fix
        assert found["store"].level is Level.OK
        assert found["credentials"].sentence.startswith("None is kept. ")
        assert found["model"].to_wire()["level"] == "warn"
        await hall.send("one", "m-1")
        await clock.sleep(1)
        die()
    async with machine.on(ScriptedLane(*[fails("model_credential_rejected")])) as hall:
        await put(hall.house, "openai", "https://api.example.com", "sk-1")
        await settings.patch(hall.house, {"models": {"model": "openai-chat:any"}}, 0)
        await hall.wake()
        await clock.sleep(120)
        found = {one.name: one for one in await examine(hall.house)}
        assert found["model"].sentence.startswith("The settings name it")
        assert "openai for https://api.example.com" in found["credentials"].sentence
        assert found["uncertain deliveries"].sentence.startswith("1 deliveries")
        assert found["held wakes"].sentence.startswith("1 wakes")
        assert all(one.fix for one in found.values() if one.level is not Level.OK)


@virtual
async def test_the_doctor_names_secrets_that_cannot_be_used_instead_of_failing(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: BASE-4
    async with Machine(tmp_path, clock).on() as hall:
        await put(hall.house, "openai", "https://api.example.com", "sk-1")
        (tmp_path / "credentials.json").chmod(0o644)
        found = {one.name: one for one in await examine(hall.house)}
        assert found["credentials"].level is Level.FAIL
        assert "chmod 600" in found["credentials"].sentence


@virtual
async def test_a_harness_starts_with_the_sections_it_asks_for(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        await settings.patch(hall.house, {"persona": BRIEF}, 0)
        empty = await selfstate.prompt(hall.house, HEAD, ("conversation",))
        assert empty.startswith("# The conversation so far\n\n")
        assert empty.endswith("\n\n(nothing yet)\n")
        await hall.send("hello", "m-1")
        await hall.ended("m-1")
        before = await hall.log()
        text = await selfstate.prompt(hall.house, HEAD, selfstate.SECTIONS)
        assert text.startswith(
            "# Who you are\n\nYou are Ada, a persistent agent. Your conversation is a durable "
            "log.\n\nBe brief.\n\n# Where you are\n\nConversation 'Clankie' (global-default, "
            "global), revision 1, last event 5.\n\n# The conversation so far\n\n"
        )
        assert "\n\n[2026-11-30 12:00] owner: hello\n\n[2026-11-30 12:00] you:\n<<data " in text
        assert await hall.log() == before
        with pytest.raises(InvalidFieldError):
            await selfstate.prompt(hall.house, HEAD, ("secrets",))
        with pytest.raises(ConversationNotFoundError):
            await selfstate.prompt(hall.house, "nowhere", ("persona",))


def test_a_captain_that_was_not_started_says_so() -> None:
    async def scenario() -> None:
        with pytest.raises(RuntimeError, match="not started"):
            Captain().snapshot()

    asyncio.run(scenario())
