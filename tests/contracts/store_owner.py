"""Settings, tokens and what was used: what every store must do, whatever engine is below.

Whoever runs this gives the fixtures `world` and `store`.
"""

from datetime import timedelta

import pytest

from clankie.core.admission import Mode
from clankie.core.conversation import OPERATOR, Usage
from clankie.core.delivery import ServiceState
from clankie.core.errors import (
    SettingsConflictError,
    TokenNotFoundError,
)
from clankie.core.settings import DEFAULTS, merge
from clankie.host.bearer import Token
from clankie.host.storage import DayUsage, Outcome, Store
from contracts.store_kit import World, admitted, log, reserved, started


async def test_settings_are_the_defaults_until_they_are_saved(store: Store) -> None:
    # proves: BASE-1
    assert await store.owner.settings() == (0, DEFAULTS)
    chosen = merge(DEFAULTS, {"models": {"model": "openai-chat:x"}, "wakes": {"attempts": 5}})
    assert await store.owner.save_settings(chosen, 0) == 1
    assert await store.owner.settings() == (1, chosen)
    with pytest.raises(SettingsConflictError):
        await store.owner.save_settings(DEFAULTS, 0)
    assert await store.owner.settings() == (1, chosen)


async def test_tokens_are_kept_and_revoked(store: Store, world: World) -> None:
    token = Token(id="t-1", principal=OPERATOR, label="laptop", created_at=world.clock.now())
    for _ in range(2):
        await store.owner.add_token(token, "ab" * 32)
    assert await store.owner.tokens() == [(token, "ab" * 32)]
    await store.owner.revoke_token("t-1")
    ((kept, _),) = await store.owner.tokens()
    assert kept.revoked
    with pytest.raises(TokenNotFoundError):
        await store.owner.revoke_token("t-2")


def usage(given: int, written: int, cost: float | None = None) -> Usage:
    return Usage(input_tokens=given, output_tokens=written, requests=1, model="m", cost_usd=cost)


async def spent(store: Store, delivery: str, cost: Usage) -> None:
    """A turn that cost so much."""
    await admitted(store, delivery)
    outcome = Outcome(state=ServiceState.COMPLETED, text="Done.", usage=cost)
    await store.deliveries.settle(await started(store), outcome)


async def test_what_turns_cost_is_added_up_by_day(store: Store, world: World) -> None:
    # proves: SERV-8
    assert await store.owner.usage(30, world.clock.now()) == []
    await spent(store, "m-1", usage(10, 5))
    await spent(store, "m-2", usage(20, 1, 0.25))
    await spent(store, "m-3", usage(0, 0, 0.5))
    today = world.clock.now().date()
    first = DayUsage(day=today, input_tokens=30, output_tokens=6, requests=3, cost_usd=0.75)
    assert await store.owner.usage(1, world.clock.now()) == [first]
    await world.clock.advance(2 * 86_400)
    assert await store.owner.usage(1, world.clock.now()) == []
    await spent(store, "m-4", usage(1, 1))
    second = DayUsage(day=today + timedelta(days=2), input_tokens=1, output_tokens=1, requests=1)
    assert await store.owner.usage(2, world.clock.now()) == [second]
    assert await store.owner.usage(3, world.clock.now()) == [second, first]


async def test_a_turn_that_failed_is_paid_for_as_well(store: Store, world: World) -> None:
    # proves: SERV-8
    await admitted(store, "m-1")
    refused = Outcome(state=ServiceState.FAILED, code="x", usage=usage(1, 0))
    await store.deliveries.refuse(await reserved(store), refused)
    await admitted(store, "m-2")
    failed = Outcome(state=ServiceState.STALLED, code="x", usage=usage(2, 0))
    await store.deliveries.settle(await started(store), failed)
    (day,) = await store.owner.usage(1, world.clock.now())
    assert (day.input_tokens, day.requests) == (3, 2)


async def test_what_an_attempt_cost_stands_in_its_receipt_and_in_the_log(store: Store) -> None:
    # proves: SERV-8
    await admitted(store, "m-1")
    run = await started(store)
    await admitted(store, "m-2", mode=Mode.STEER)
    await store.deliveries.join(run)
    cost = usage(3, 4, 0.001)
    await store.deliveries.settle(
        run, Outcome(state=ServiceState.COMPLETED, text="Done.", usage=cost)
    )
    first, second = [(await store.deliveries.get(one)).attempts[0] for one in ("m-1", "m-2")]
    assert (first.usage, second.usage) == (cost, None)
    assert [one.get("usage") for one in await log(store) if one.get("phase") == "completed"] == [
        cost.to_wire(),
        None,
    ]


async def test_what_a_server_says_it_used_spoils_no_sum(store: Store, world: World) -> None:
    await spent(store, "m-1", usage(10**30, -5, float("inf")))
    await spent(store, "m-2", usage(1, 1, float("nan")))
    await spent(store, "m-3", usage(1, 1, -1.0))
    (day,) = await store.owner.usage(1, world.clock.now())
    assert (day.input_tokens, day.output_tokens) == (10**12 + 2, 2)
    assert day.cost_usd is None
