"""Alarms: one moment for each name, the soonest first, and a word when that became sooner."""

from hypothesis import given
from hypothesis import strategies as st

from clankie.host.seats.alarms import Alarms

NAMES = st.sampled_from("abcde")
TIMES = st.one_of(st.none(), st.integers(0, 20).map(float))


def test_a_name_rings_once_at_the_last_moment_that_was_said() -> None:
    alarms = Alarms[str]()
    alarms.put("a", 5.0)
    alarms.put("b", 3.0)
    alarms.put("a", 9.0)
    assert (alarms.next(), alarms.due(4.0), alarms.due(8.0)) == (3.0, ["b"], [])
    assert alarms.has("a")
    assert alarms.due(9.0) == ["a"]
    assert (alarms.due(99.0), alarms.next()) == ([], None)
    assert not alarms.has("a")


def test_only_a_sooner_moment_is_news() -> None:
    alarms = Alarms[str]()
    alarms.put("a", 5.0)
    assert alarms.changed.is_set()
    alarms.changed.clear()
    alarms.put("b", 6.0)
    alarms.put("a", 5.0)
    alarms.put("c", None)
    assert not alarms.changed.is_set()
    alarms.put("b", 4.0)
    assert alarms.changed.is_set()


def test_moments_that_are_moved_a_thousand_times_ring_once_and_in_order() -> None:
    alarms = Alarms[str]()
    for n in range(1_000):
        alarms.put("far", 9_000.0 - n)
        alarms.put("near", 10.0 + n % 2)
        alarms.put("never", 5.0)
        alarms.put("never", None)
    assert alarms.next() == 11.0
    assert alarms.due(8_000.0) == ["near"]
    assert alarms.due(8_001.0) == ["far"]
    assert alarms.next() is None


@given(st.lists(st.tuples(NAMES, TIMES), max_size=40), st.integers(0, 20))
def test_what_is_due_is_what_a_plain_table_says(
    puts: list[tuple[str, float | None]], now: int
) -> None:
    alarms, table = Alarms[str](), dict[str, float]()
    for name, at in puts:
        alarms.put(name, at)
        if at is None:
            table.pop(name, None)
        else:
            table[name] = at
    due = alarms.due(float(now))
    assert sorted(map(str, due)) == sorted(name for name, at in table.items() if at <= now)
    assert [table[str(name)] for name in due] == sorted(table[str(name)] for name in due)
    assert alarms.next() == min((at for at in table.values() if at > now), default=None)
