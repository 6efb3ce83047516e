"""What is refused around seats: stable codes, a sentence that says what to do, facts."""

import inspect

import pytest

from clankie.core import seat_errors as errors
from clankie.core.errors import RefusedError

CASES: list[tuple[RefusedError, str, dict[str, object]]] = [
    (errors.SeatNotFoundError("seat-1"), "seat_not_found", {"seat": "seat-1"}),
    (errors.EventNotFoundError("m-1"), "event_not_found", {"event": "m-1"}),
    (errors.ApprovalNotFoundError("a-1"), "approval_not_found", {"approval": "a-1"}),
    (errors.GrantUnknownError(), "grant_unknown", {}),
    (
        errors.AttachmentConflictError("garden", "seat-2"),
        "attachment_conflict",
        {"conversation": "garden", "current": "seat-2"},
    ),
    (
        errors.AttachmentConflictError("garden", None),
        "attachment_conflict",
        {"conversation": "garden", "current": None},
    ),
    (errors.SeatSupersededError("seat-1"), "seat_superseded", {"seat": "seat-1"}),
    (errors.OccupantChangedError("seat-1"), "occupant_changed", {"seat": "seat-1"}),
    (errors.SessionConflictError("s-1"), "session_conflict", {"session": "s-1"}),
]


@pytest.mark.parametrize(("error", "code", "facts"), CASES, ids=lambda one: str(one)[:40])
def test_a_refusal_has_its_code_and_its_facts(
    error: RefusedError, code: str, facts: dict[str, object]
) -> None:
    assert (error.code, error.facts) == (code, facts)
    assert error.detail[0].isupper()
    assert error.detail.endswith(".")


def test_every_refusal_is_in_the_list() -> None:
    mine = {
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, RefusedError) and kind.__module__ == errors.__name__
    }
    assert mine == {type(error) for error, _, _ in CASES}


def test_a_conflict_says_which_seat_is_there_now() -> None:
    # proves: SEAT-1
    assert (
        "the seat 'seat-2' is attached now" in errors.AttachmentConflictError("g", "seat-2").detail
    )
    assert "no seat is attached now" in errors.AttachmentConflictError("g", None).detail


def test_a_grant_that_is_refused_does_not_say_why() -> None:
    assert "used, is too old, or never was" in errors.GrantUnknownError().detail
