"""What the tools of a turn may reach: its own conversation, its files, and others it may read."""

import json
from pathlib import Path

import pytest

from clankie.core.conversation import OPERATOR, Attachment, Kind
from clankie.core.errors import AttachmentNotFoundError, ConversationNotFoundError
from clankie.core.goal import GoalNotFoundError
from clankie.core.ids import HEAD
from clankie.host import attachments, conversations, goals
from clankie.host.ports import LaneResult, TurnHost, TurnRequest
from clankie.host.reach import TurnOverError
from fakes.clock import FakeClock
from fakes.hall import Machine
from fakes.loop import virtual


@virtual
async def test_a_turn_reads_its_files_its_directory_and_what_was_said_elsewhere(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: DAY-2
    seen: list[object] = []

    async def look(_request: TurnRequest, host: TurnHost) -> LaneResult:
        seen.append(await host.attachment(file.digest))
        with pytest.raises(AttachmentNotFoundError):
            await host.attachment("0" * 64)
        seen.append(await host.workspace())
        other = await host.read_conversation(HEAD, before=None, limit=2)
        seen.append([json.loads(one.data)["kind"] for one in other.events])
        own = await host.read_conversation(None, before=2, limit=9)
        seen.append([one.cursor for one in own.events])
        with pytest.raises(ConversationNotFoundError):
            await host.read_conversation("nowhere", before=None, limit=1)
        with pytest.raises(GoalNotFoundError):
            await host.finish_goal(reached=True)
        return LaneResult(text="looked")

    async with Machine(tmp_path, clock).on() as hall:
        file = await attachments.keep(hall.house, "a.txt", "text/plain", b"words")
        assert isinstance(file, Attachment)
        await hall.send("hello", "m-1")
        await hall.ended("m-1")
        made, _ = await conversations.create(
            hall.house,
            request_id="r-1",
            name="work",
            kind=Kind.WORKSPACE,
            directory="/srv/code",
            by=OPERATOR,
        )
        hall.lane.plays(look)
        await hall.send("look", "m-2", conversation=made.id, attachments=(file,))
        await hall.ended("m-2")
        assert seen == [b"words", "/srv/code", ["message", "turn"], [1]]


@virtual
async def test_a_step_ends_its_own_goal_and_nothing_is_reached_after_the_turn(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SERV-5
    hosts: list[TurnHost] = []

    async def done(_request: TurnRequest, host: TurnHost) -> LaneResult:
        hosts.append(host)
        await host.finish_goal(reached=True)
        return LaneResult(text="done")

    async with Machine(tmp_path, clock).on() as hall:
        hall.lane.plays(done)
        await goals.put(hall.house, HEAD, "tidy up", 1_000)
        await clock.sleep(1)
        goal = await goals.get(hall.house, HEAD)
        assert goal is not None
        assert (goal.state, goal.step, len(hosts)) == ("done", 1, 1)
        with pytest.raises(TurnOverError):
            await hosts[0].workspace()
        with pytest.raises(TurnOverError):
            await hosts[0].attachment("0" * 64)
