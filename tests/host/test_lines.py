"""Pages of a log as text."""

import json
from typing import Any

import pytest

from clankie.host import lines
from clankie.host.storage import EventPage, Stored

AT = "2026-11-30T12:00:00.000Z"


def page(*events: dict[str, Any]) -> EventPage:
    stored = [
        Stored("c-1", n, json.dumps({"cursor": n, "at": AT, **event}).encode())
        for n, event in enumerate(events, 1)
    ]
    return EventPage(stored, head=len(stored), oldest=1, has_more=False)


@pytest.mark.parametrize(
    ("event", "rest"),
    [
        (
            {"kind": "message", "role": "agent", "author": {"id": "captain"}, "text": "Hi"},
            "message agent captain: Hi",
        ),
        (
            {"kind": "tool", "name": "shell", "phase": "completed", "detail": "ls"},
            "tool shell completed: ls",
        ),
        (
            {"kind": "notice", "code": "seat_attached", "text": "Here."},
            "notice seat_attached: Here.",
        ),
        ({"kind": "turn", "phase": "failed", "code": "model_timeout"}, "turn failed model_timeout"),
        ({"kind": "handoff", "span": "h-1", "phase": "open"}, "handoff h-1 open"),
        ({"kind": "reset"}, "reset"),
    ],
)
def test_each_kind_of_event_is_one_line(event: dict[str, Any], rest: str) -> None:
    found, first = lines.lines(page(event), lines.ALL, 10)
    assert (" ".join(found).strip(), first) == (f"1 {AT} {rest}", 1)


def test_only_the_kinds_that_were_asked_for_and_the_newest_that_fit() -> None:
    said: dict[str, Any] = {
        "kind": "message",
        "role": "owner",
        "author": {"id": "operator"},
        "text": "x" * 5_000,
    }
    reset = {"kind": "reset"}
    log: list[dict[str, Any]] = [said, reset] * 30
    found, first = lines.lines(page(*log), lines.SAID, 100)
    assert all(" message " in one for one in found)
    assert sum(map(len, found)) <= lines.CHARACTERS
    assert first is not None
    assert first > 1
    assert len(lines.lines(page(*[said] * 5), lines.SAID, 2)[0]) == 2
