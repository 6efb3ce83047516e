"""What a pump took stands in a file before its words leave, and is still there afterwards."""

from datetime import timedelta
from pathlib import Path

import pytest

from clankie.core.seat import delivery_uuid
from clankie.seats import journal as journals
from clankie.seats.folder import Folder
from clankie.seats.journal import Journal, known
from fakes.clock import FakeClock
from fakes.seat_service import event


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_what_was_taken_is_known_to_the_next(granted: Folder, clock: FakeClock) -> None:
    first = Journal(granted, clock)
    first.begin(event("a", generation=3), "binding")
    first.taken("a", 1)
    first.begin(event("b"), "binding")
    first.refused("b", 1, "busy")
    first.begin(event("c"), "binding")
    second = Journal(granted, clock)
    assert all(second.has(event(name)) for name in "abc")
    assert not second.has(event("a", attempt=2))
    assert [(one.event, one.state) for one in second.untold()] == [
        ("a", journals.KnownState.TAKEN),
        ("b", journals.KnownState.REFUSED),
    ]
    assert second.generation == 3
    second.told("a", 1)
    second.told("b", 1)
    assert Journal(granted, clock).untold() == []


def test_a_line_that_a_crash_cut_off_does_not_spoil_the_next(
    granted: Folder, clock: FakeClock
) -> None:
    Journal(granted, clock).begin(event("a"), "binding")
    path = Path(granted.file("taken.jsonl"))
    path.write_bytes(path.read_bytes() + b'{"event": "b", "att')
    Journal(granted, clock).begin(event("c"), "binding")
    found = Journal(granted, clock)
    assert (found.has(event("a")), found.has(event("b")), found.has(event("c"))) == (
        True,
        False,
        True,
    )


@pytest.mark.parametrize(
    "line", ["[]", "{}", '{"event": 1}', '{"digest": "d"}', '{"digest": "d", "at": "soon"}']
)
def test_lines_of_another_version_are_passed_over(
    granted: Folder, clock: FakeClock, line: str
) -> None:
    granted.put("taken.jsonl", line.encode() + b"\n")
    found = Journal(granted, clock)
    assert found.untold() == []
    assert found.known().typed == ()


def test_a_long_life_keeps_the_newest(
    granted: Folder, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "LARGEST", 20_000)
    monkeypatch.setattr(journals, "KEPT", 20)
    found = Journal(granted, clock)
    for n in range(400):
        found.begin(event(f"m-{n}"), "binding")
        found.typed(event(f"m-{n}"), f"words {n}")
        found.taken(f"m-{n}", 1)
    assert Path(granted.file("taken.jsonl")).stat().st_size <= 20_000
    again = Journal(granted, clock)
    assert again.has(event("m-399"))
    assert not again.has(event("m-0"))
    assert again.known().by_words("words 399", clock.now()) is not None


def test_rows_are_joined_to_what_was_given(granted: Folder, clock: FakeClock) -> None:
    found = Journal(granted, clock)
    found.begin(event("a", attempt=2), "binding")
    what = known([granted])
    assert what.ids == {delivery_uuid("a", 2): ("a", 2)}


# proves: SEC-4
def test_words_are_known_for_ten_seconds_and_only_as_a_digest(
    granted: Folder, clock: FakeClock
) -> None:
    found = Journal(granted, clock)
    found.typed(event("a"), "the same\nwords")
    assert b"the same" not in granted.get("taken.jsonl")
    what, now = known([granted]), clock.now()
    typed = what.by_words(" the same\r\nwords ", now + timedelta(seconds=10))
    assert typed is not None
    assert (typed.event, typed.attempt) == ("a", 1)
    assert typed.moment == "2026-11-30T12:00:00.000Z"
    assert what.by_words("the same\nwords", now + timedelta(seconds=11)) is None
    assert what.by_words("the same\nwords", now - timedelta(seconds=1)) is None
    assert what.by_words("other words", now) is None


# proves: SEC-4
def test_words_that_were_typed_twice_prove_nothing(granted: Folder, clock: FakeClock) -> None:
    found = Journal(granted, clock)
    found.typed(event("a"), "yes")
    found.typed(event("b"), "yes")
    assert found.known().by_words("yes", clock.now()) is None
