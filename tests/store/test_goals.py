"""Several hands at one goal: only who saw it as it is changes it."""

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from clankie.core.goal import Goal, GoalState
from clankie.core.ids import HEAD
from clankie.store.sqlite import SqliteStore
from contracts.store_kit import Told
from fakes.clock import FakeClock, FakeIds
from fakes.crash import NoCrash

HANDS = 3
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["look", "put", "advance", "advance", "remove"]),
        st.integers(0, HANDS - 1),
        st.integers(0, 2),
        st.sampled_from(GoalState),
        st.booleans(),
    ),
    max_size=40,
)


@settings(max_examples=60)
@given(STEPS)
def test_a_goal_changes_only_from_what_it_is(
    steps: list[tuple[str, int, int, GoalState, bool]],
) -> None:
    # proves: SERV-5
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(lived(Path(directory) / "clankie.db", steps))


async def lived(path: Path, steps: list[tuple[str, int, int, GoalState, bool]]) -> None:
    clock = FakeClock()
    first = Goal(id="g-0", conversation=HEAD, text="Tidy", token_budget=9, created_at=clock.now())
    async with SqliteStore(
        path,
        clock=clock,
        ids=FakeIds(),
        crash=NoCrash(),
        committed=Told(),
        inline=True,
        durable=False,
    ) as store:
        await store.boot()
        is_now: Goal | None = None
        seen: list[Goal] = [first] * HANDS
        for verb, hand, number, state, counted in steps:
            match verb:
                case "look":
                    seen[hand] = is_now or seen[hand]
                case "put":
                    is_now = seen[hand] = replace(first, id=f"g-{number}")
                    await store.goals.put(is_now)
                case "advance":
                    after = replace(seen[hand], step=number, state=state, counted=counted)
                    moved = await store.goals.advance(seen[hand], after)
                    assert moved == (is_now == seen[hand])
                    if moved:
                        is_now = seen[hand] = after
                case _:
                    await store.goals.remove(HEAD)
                    is_now = None
            assert await store.goals.get(HEAD) == is_now
            active = is_now is not None and is_now.state is GoalState.ACTIVE
            assert await store.goals.active() == ([is_now] if active else [])
