"""The daily budget: the owner is warned, everything else stops."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clankie.core.admission import Origin
from clankie.core.budget import Spending, spending
from clankie.core.settings import DEFAULTS, Models

OTHERS = sorted(set(Origin) - {Origin.OWNER})
LIMITED = Models(daily_tokens=1_000)


@pytest.mark.parametrize("origin", Origin)
def test_below_the_budget_everything_runs_without_a_word(origin: Origin) -> None:
    # proves: SERV-8
    assert spending(origin, 0, LIMITED) is Spending.FREE
    assert spending(origin, 999, LIMITED) is Spending.FREE


@pytest.mark.parametrize("spent", [1_000, 1_001, 10**12])
def test_the_owner_is_warned_from_the_budget_on_and_never_stopped(spent: int) -> None:
    # proves: SERV-8
    assert spending(Origin.OWNER, spent, LIMITED) is Spending.WARN


@pytest.mark.parametrize("spent", [1_000, 1_001, 10**12])
@pytest.mark.parametrize("origin", OTHERS)
def test_what_is_not_the_owner_stops_from_the_budget_on(origin: Origin, spent: int) -> None:
    # proves: SERV-8
    assert spending(origin, spent, LIMITED) is Spending.STOP


def test_with_a_budget_of_nothing_only_the_owner_is_answered() -> None:
    # proves: SERV-8
    none = Models(daily_tokens=0)
    running = {origin for origin in Origin if spending(origin, 0, none) is not Spending.STOP}
    assert running == {Origin.OWNER}


def test_the_budget_is_two_million_a_day() -> None:
    # proves: SERV-8
    assert spending(Origin.WAKE, 1_999_999, DEFAULTS.models) is Spending.FREE
    assert spending(Origin.WAKE, 2_000_000, DEFAULTS.models) is Spending.STOP


@given(st.sampled_from(Origin), st.integers(0, 10**10), st.lists(st.integers(0, 10**11)))
def test_more_spent_never_allows_more(origin: Origin, budget: int, spent: list[int]) -> None:
    # proves: SERV-8
    order = [Spending.FREE, Spending.WARN, Spending.STOP]
    models = Models(daily_tokens=budget)
    found = [order.index(spending(origin, one, models)) for one in sorted(spent)]
    assert all(less <= more for less, more in pairwise(found))
