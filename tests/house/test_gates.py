"""The gates of .ci/run see what they are there for."""

import pytest

import coverage_gate
import words_gate


def numbers(reached: float) -> coverage_gate.Summary:
    return {"percent_covered": reached, "missing_lines": 1, "missing_branches": 2}


@pytest.mark.parametrize(
    ("path", "reached", "good"),
    [
        ("src/clankie/core/a.py", 100.0, True),
        ("src/clankie/core/a.py", 99.9, False),
        ("src/clankie/store/a.py", 95.0, True),
        ("src/clankie/host/a.py", 94.9, False),
        ("src/clankie/cli/a.py", 0.0, True),
    ],
)
def test_a_file_below_the_floor_of_its_room_is_named(path: str, reached: float, good: bool) -> None:
    found = coverage_gate.complaints({path: numbers(reached)}, {})
    assert [line.split(":")[0] for line in found] == ([] if good else [path])


def test_an_exception_has_a_floor_of_its_own_and_ends_when_it_is_not_needed() -> None:
    listed = {"src/clankie/store/a.py": (80.0, "the reason")}
    path = "src/clankie/store/a.py"
    assert coverage_gate.complaints({path: numbers(80.0)}, listed) == []
    assert "must be 80 %" in coverage_gate.complaints({path: numbers(79.0)}, listed)[0]
    assert "needs no exception" in coverage_gate.complaints({path: numbers(96.0)}, listed)[0]
    assert "not there" in coverage_gate.complaints({}, listed)[0]


@pytest.mark.parametrize(
    "word", ["Sub" + "agent", "/wo" + "rk/x", "." + "library", "bef" + "ore-stop"]
)
def test_words_about_the_workplace_are_found(word: str) -> None:
    assert words_gate.PATTERNS.search(f"see {word} for more")


@pytest.mark.parametrize("text", ["the work is done", "a library of fakes", "agents", "/workers/1"])
def test_ordinary_words_are_left_alone(text: str) -> None:
    assert not words_gate.PATTERNS.search(text)
