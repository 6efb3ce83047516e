"""Making, renaming, resetting and closing conversations."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from clankie.core.conversation import OPERATOR, Kind, State
from clankie.core.delivery import InputState
from clankie.core.errors import (
    ConversationClosedError,
    DeliveryConflictError,
    InvalidFieldError,
    NotAllowedError,
    RevisionConflictError,
    RunInProgressError,
    WakeNotFoundError,
)
from clankie.core.ids import HEAD
from clankie.host import conversations, wakes
from clankie.host.conversations import close, create, rename, reset
from clankie.host.ports import LaneResult, TurnHost, TurnRequest
from fakes.clock import FakeClock
from fakes.hall import Machine
from fakes.lane import ScriptedLane, waits
from fakes.loop import virtual
from fakes.trouble import pause_after, refuse, trouble


@virtual
async def test_the_head_is_there_from_the_first_start_and_cannot_be_closed(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: CONV-1
    machine = Machine(tmp_path, clock)
    for _ in range(2):
        async with machine.on() as hall:
            found = await hall.house.store.conversations.list()
            assert [(one.id, one.kind, one.state) for one in found] == [
                (HEAD, Kind.GLOBAL, State.IDLE)
            ]
            with pytest.raises(NotAllowedError):
                await close(hall.house, HEAD, OPERATOR)


@virtual
async def test_one_request_makes_one_conversation(clock: FakeClock, tmp_path: Path) -> None:
    # proves: CONV-1
    async with Machine(tmp_path, clock).on() as hall:
        first = await hall.make("plans")
        assert await hall.make("plans") == first
        with pytest.raises(DeliveryConflictError):
            await create(
                hall.house,
                request_id="make-plans",
                name="other plans",
                kind=Kind.GLOBAL,
                directory=None,
                by=OPERATOR,
            )
        assert len(await hall.house.store.conversations.list()) == 2


@pytest.mark.parametrize(
    ("request_id", "name", "kind", "directory", "path"),
    [
        ("r/1", "plans", Kind.GLOBAL, None, "delivery_id"),
        ("r-1", "", Kind.GLOBAL, None, "name"),
        ("r-1", "x" * 81, Kind.GLOBAL, None, "name"),
        ("r-1", "a\nb", Kind.GLOBAL, None, "name"),
        ("r-1", "plans", Kind.ROOM, None, "kind"),
        ("r-1", "plans", Kind.GLOBAL, "/home", "directory"),
        ("r-1", "plans", Kind.WORKSPACE, None, "directory"),
        ("r-1", "plans", Kind.WORKSPACE, "home", "directory"),
        ("r-1", "plans", Kind.WORKSPACE, "/ho\0me", "directory"),
    ],
)
def test_what_cannot_be_a_conversation_is_refused(
    tmp_path: Path, request_id: str, name: str, kind: Kind, directory: str | None, path: str
) -> None:
    # proves: CONV-1
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async with Machine(tmp_path, clock).on() as hall:
            with pytest.raises(InvalidFieldError) as refused:
                await create(
                    hall.house,
                    request_id=request_id,
                    name=name,
                    kind=kind,
                    directory=directory,
                    by=OPERATOR,
                )
            assert refused.value.path == path
            assert len(await hall.house.store.conversations.list()) == 1

    scenario()


@virtual
async def test_a_workspace_has_a_directory(clock: FakeClock, tmp_path: Path) -> None:
    # proves: CONV-1
    async with Machine(tmp_path, clock).on() as hall:
        made, fresh = await create(
            hall.house,
            request_id="r-1",
            name="house",
            kind=Kind.WORKSPACE,
            directory="/home/me/house",
            by=OPERATOR,
        )
        assert fresh
        assert (made.kind, made.directory) == (Kind.WORKSPACE, "/home/me/house")


@virtual
async def test_a_rename_needs_the_revision_that_stands(clock: FakeClock, tmp_path: Path) -> None:
    # proves: CONV-1, CONV-5
    async with Machine(tmp_path, clock).on() as hall:
        renamed = await rename(hall.house, HEAD, "Home", 0)
        assert (renamed.name, renamed.revision) == ("Home", 1)
        with pytest.raises(RevisionConflictError):
            await rename(hall.house, HEAD, "Work", 0)
        with pytest.raises(InvalidFieldError):
            await rename(hall.house, HEAD, " ", 1)
        assert [one["code"] for one in await hall.log()] == ["renamed"]


@virtual
async def test_a_reset_is_a_marker_after_which_the_view_begins(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: CONV-7
    async with Machine(tmp_path, clock).on() as hall:
        await hall.send("before", "m-1")
        await hall.ended("m-1")
        before = await hall.log()
        after = await reset(hall.house, HEAD, 1, OPERATOR)
        assert (after.revision, after.cursor) == (2, len(before) + 1)
        limits = hall.house.settings.projection
        projection = await hall.house.store.conversations.project(HEAD, limits)
        assert (projection.entries, projection.omitted) == ((), 0)
        log = await hall.log()
        assert log[:-1] == before
        assert log[-1]["kind"] == "reset"
        assert hall.lane.evicted == [HEAD]
        with pytest.raises(RevisionConflictError):
            await reset(hall.house, HEAD, 1, OPERATOR)
        assert (await reset(hall.house, HEAD, None, OPERATOR)).revision == 3


@virtual
async def test_no_reset_and_no_close_while_a_turn_runs(clock: FakeClock, tmp_path: Path) -> None:
    # proves: CONV-7
    done = asyncio.Event()
    async with Machine(tmp_path, clock).on(ScriptedLane(waits(done))) as hall:
        other = await hall.make("other")
        await hall.send("one", "m-1", conversation=other)
        await clock.sleep(1)
        before = await hall.log(other)
        with pytest.raises(RunInProgressError):
            await reset(hall.house, other, None, OPERATOR)
        with pytest.raises(RunInProgressError):
            await close(hall.house, other, OPERATOR)
        assert await hall.log(other) == before
        assert hall.lane.evicted == []
        done.set()
        assert (await hall.ended("m-1")).state is InputState.SETTLED


@virtual
async def test_what_waits_survives_a_reset(clock: FakeClock, tmp_path: Path) -> None:
    # proves: CONV-7
    async with Machine(tmp_path, clock).on() as hall:
        # Its disk refuses for a while, so that the message still waits at the reset.
        trouble(hall.house).plan("reserve", *[refuse()] * 3)
        await hall.send("one", "m-1")
        name = await hall.wake()
        await reset(hall.house, HEAD, None, OPERATOR)
        assert (await hall.ended("m-1")).state is InputState.SETTLED
        await clock.sleep(60)
        assert (await hall.ended(name)).state is InputState.SETTLED


@virtual
async def test_the_session_is_forgotten_although_who_reset_it_went_away(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: CONV-7
    async with Machine(tmp_path, clock).on() as hall:
        other = await hall.make("other")
        stands = trouble(hall.house, "conversations")
        work = {
            "reset": reset(hall.house, HEAD, None, OPERATOR),
            "close": close(hall.house, other, OPERATOR),
        }
        for verb, request in work.items():
            written, go = asyncio.Event(), asyncio.Event()
            stands.plan(verb, pause_after(written, go))
            async with asyncio.TaskGroup() as tasks:
                client = tasks.create_task(request)
                await written.wait()
                client.cancel()
                go.set()
        assert hall.lane.evicted == [HEAD, other]


@virtual
async def test_closing_ends_what_waits_and_keeps_the_log(clock: FakeClock, tmp_path: Path) -> None:
    # proves: CONV-1
    async with Machine(tmp_path, clock).on() as hall:
        other = await hall.make("other")
        await hall.send("one", "m-1", conversation=other)
        await hall.ended("m-1")
        trouble(hall.house).plan("reserve", *[refuse()] * 3)
        await hall.send("two", "m-2", conversation=other)
        await hall.wake("never", conversation=other)
        before = await hall.log(other)
        closed = await close(hall.house, other, OPERATOR)
        assert (closed.state, closed.revision) == (State.CLOSED, 3)
        left = await hall.receipt("m-2")
        assert (left.state, left.code) == (InputState.NOT_SENT, "conversation_closed")
        assert (await hall.log(other))[: len(before)] == before
        with pytest.raises(ConversationClosedError):
            await hall.send("three", "m-3", conversation=other)
        assert (await hall.send("two", "m-2", conversation=other)).delivery == left
        for verb in (
            lambda: reset(hall.house, other, None, OPERATOR),
            lambda: rename(hall.house, other, "x", 3),
            lambda: hall.wake("later", "w-2", conversation=other),
        ):
            with pytest.raises(ConversationClosedError):
                await verb()
        await clock.sleep(3_600)
        assert hall.lane.asked == ["m-1"]
        assert await wakes.listed(hall.house) == []
        assert hall.lane.evicted == [other]


@virtual
async def test_a_turn_that_began_before_the_reset_ends_in_it(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: CONV-7
    async def play(_request: TurnRequest, host: TurnHost) -> LaneResult:
        return LaneResult(text=f"{len((await host.projection()).entries)} before me")

    async with Machine(tmp_path, clock).on(ScriptedLane(play, play, play)) as hall:
        await hall.send("one", "m-1")
        await hall.ended("m-1")
        await hall.send("two", "m-2")
        await hall.ended("m-2")
        await conversations.reset(hall.house, HEAD, None, OPERATOR)
        await hall.send("three", "m-3")
        await hall.ended("m-3")
        assert await hall.said() == ["0 before me", "2 before me", "0 before me"]


@virtual
async def test_a_wake_that_nobody_knows_cannot_be_removed(clock: FakeClock, tmp_path: Path) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        with pytest.raises(WakeNotFoundError):
            await wakes.remove(hall.house, "w-9")
        await hall.wake(due_at=clock.now() + timedelta(days=1))
        assert [one.id for one in await wakes.listed(hall.house, HEAD)] == ["w-1"]


@virtual
async def test_a_conversation_may_be_answered_by_a_model_of_its_own(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        after = await conversations.set_model(hall.house, HEAD, "openai-chat:llama3", 0)
        assert (after.model, after.revision) == ("openai-chat:llama3", 1)
        await hall.send("one", "m-1")
        await hall.ended("m-1")
        assert hall.lane.requests[0].settings.models.model == "openai-chat:llama3"
        for model in ("llama3", "no\nmodel:x", ""):
            with pytest.raises(InvalidFieldError):
                await conversations.set_model(hall.house, HEAD, model, 2)
        assert (await conversations.set_model(hall.house, HEAD, None, 2)).model is None


@virtual
async def test_what_was_closed_can_be_removed_for_good(clock: FakeClock, tmp_path: Path) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        other = await hall.make("other")
        await hall.send("a secret", "m-1", conversation=other)
        await hall.ended("m-1")
        with pytest.raises(RunInProgressError):
            await conversations.purge(hall.house, other)
        await close(hall.house, other, OPERATOR)
        purged = await conversations.purge(hall.house, other)
        assert purged.state is State.CLOSED
        with pytest.raises(NotAllowedError):
            await conversations.purge(hall.house, HEAD)
    assert b"a secret" not in _stored(tmp_path)


def _stored(home: Path) -> bytes:
    return b"".join(one.read_bytes() for one in home.glob("clankie.db*"))
