"""A projection costs what its budget costs, however long the log is, and never exceeds it."""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clankie.core.conversation import OPERATOR
from clankie.core.delivery import ServiceState
from clankie.core.ids import HEAD
from clankie.core.projection import Projection
from clankie.core.settings import ProjectionLimits
from clankie.host.storage import Call, Outcome
from clankie.store.sqlite import SqliteStore
from contracts.store_kit import DONE, Told, World, admitted, started
from fakes.clock import FakeClock, FakeIds
from fakes.crash import NoCrash

# Turns between two messages must not be read either, so there are many more of them.
_FILL = """
WITH RECURSIVE step (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM step WHERE i < :count)
INSERT INTO event (conversation, cursor, at, kind, ordinal, body)
SELECT 1, i, 0, iif(i % 50 = 0, 'message', 'turn'), iif(i % 50 = 0, i / 50, NULL),
  json_object('kind', 'message', 'author', json_object('principal', 'operator', 'id', 'operator'),
    'at', '', 'role', 'owner', 'text', printf('%0700d', i)) FROM step"""
_HEAD = "UPDATE conversation SET cursor = :count, ordinal = :count / 50 WHERE n = 1"


class Work:
    """Counts what the engine does for the statements of connections opened meanwhile."""

    def __init__(self) -> None:
        self.steps = 0

    def __call__(self, database: apsw.Connection) -> None:
        database.trace_v2(apsw.SQLITE_TRACE_PROFILE, self._profile)

    def _profile(self, event: dict[str, object]) -> None:
        status = event["stmt_status"]
        assert isinstance(status, dict)
        self.steps += int(status["SQLITE_STMTSTATUS_VM_STEP"])


async def cost(
    build: Callable[[bool], World], path: Path, count: int, work: Work
) -> tuple[int, Projection]:
    """Steps of the engine for one projection of a log of `count` events."""
    async with build(True).open() as store:
        await store.boot()
    database = apsw.Connection(str(path))
    database.execute("PRAGMA synchronous = OFF")
    database.execute(_FILL, {"count": count})
    database.execute(_HEAD, {"count": count})
    database.close()
    async with build(True).open() as store:
        await store.conversations.project(HEAD, ProjectionLimits())
        before = work.steps
        seen = await store.conversations.project(HEAD, ProjectionLimits())
        return work.steps - before, seen


@pytest.mark.parametrize("count", [5_000, 50_000])
async def test_a_longer_log_costs_no_more(
    build: Callable[[bool], World], path: Path, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # proves: CONV-6
    work = Work()
    monkeypatch.setattr(apsw, "connection_hooks", [work])
    steps, seen = await cost(build, path, count, work)
    assert len(seen.entries) + seen.omitted == count // 50
    assert 0 < steps < 1_500


SENT = st.tuples(
    st.sampled_from(["answered", "waiting", "failed", "tool", "reset"]),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=60),
    st.integers(1, 40),
)


@settings(max_examples=40)
@given(
    st.lists(SENT, max_size=25),
    st.builds(
        ProjectionLimits,
        budget=st.integers(1_000, 6_000),
        message=st.integers(200, 2_000),
        tool_detail=st.integers(50, 400),
    ),
)
def test_the_budget_is_a_hard_maximum_and_the_marker_counts_the_rest(
    sent: list[tuple[str, str, int]], limits: ProjectionLimits
) -> None:
    # proves: CONV-6
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(projected(Path(directory) / "clankie.db", sent, limits))


async def projected(path: Path, sent: list[tuple[str, str, int]], limits: ProjectionLimits) -> None:
    """Fill a log, look at it, and compare with an account kept beside it."""
    visible = 0
    async with SqliteStore(
        path,
        clock=FakeClock(),
        ids=FakeIds(),
        crash=NoCrash(),
        committed=Told(),
        inline=True,
        durable=False,
    ) as store:
        await store.boot()
        waiting: list[str] = []
        for n, (what, text, times) in enumerate(sent):
            if what == "reset":
                await store.conversations.reset(HEAD, None, OPERATOR)
                visible = 0
                continue
            await admitted(store, f"m-{n}", text * times)
            if what == "waiting":
                waiting.append(f"m-{n}")
                continue
            for one in waiting:
                await store.deliveries.cancel_waiting(one)
                visible += 1
            waiting.clear()
            run = await started(store)
            if what == "tool":
                call = Call(call_id="c", name="t", effect=False, arguments_sha256="", detail="")
                await store.deliveries.tool_started(run, call)
                await store.deliveries.tool_ended(run, call, ok=True, detail=text * times)
            failed = Outcome(state=ServiceState.FAILED, code="model_down")
            await store.deliveries.settle(run, failed if what == "failed" else DONE)
            visible += 1 + (what == "tool") + (what != "failed")
        seen = await store.conversations.project(HEAD, limits)
    assert len(seen.text) <= limits.budget
    if not any(what == "reset" for what, _, _ in sent):
        assert len(seen.entries) + seen.omitted == visible
    cursors = [one.cursor for one in seen.entries]
    assert cursors == sorted(cursors)
