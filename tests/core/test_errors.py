"""What can go wrong: whose it is to mend, under which stable code, with which facts."""

import inspect
import re

import pytest

from clankie.core import errors
from clankie.core.errors import ClankieError, FaultError, RefusedError, UncertainError

CASES: list[tuple[ClankieError, type[ClankieError], str, dict[str, object]]] = [
    (
        errors.InvalidFieldError("text", "not blank"),
        RefusedError,
        "invalid_field",
        {"errors": [{"path": "text", "rule": "not blank"}]},
    ),
    (errors.UnsupportedError("Not yet."), RefusedError, "unsupported", {}),
    (errors.NotAllowedError("Not yours."), RefusedError, "not_allowed", {}),
    (
        errors.ConversationReadOnlyError("r-1"),
        RefusedError,
        "conversation_read_only",
        {"conversation": "r-1"},
    ),
    (
        errors.ConversationNotFoundError("c-1"),
        RefusedError,
        "conversation_not_found",
        {"conversation": "c-1"},
    ),
    (errors.DeliveryNotFoundError("m-1"), RefusedError, "delivery_not_found", {"delivery": "m-1"}),
    (errors.WakeNotFoundError("w-1"), RefusedError, "wake_not_found", {"wake": "w-1"}),
    (errors.TokenNotFoundError("t-1"), RefusedError, "token_not_found", {"token": "t-1"}),
    (errors.AttachmentNotFoundError("ab"), RefusedError, "attachment_not_found", {"digest": "ab"}),
    (
        errors.McpServerNotFoundError("notes"),
        RefusedError,
        "mcp_server_not_found",
        {"name": "notes"},
    ),
    (errors.DeliveryConflictError("m-1"), RefusedError, "delivery_conflict", {"delivery": "m-1"}),
    (errors.UnconfirmedError("m-1"), RefusedError, "unconfirmed", {"blocker": "m-1"}),
    (
        errors.RevisionConflictError(3, 17),
        RefusedError,
        "revision_conflict",
        {"revision": 3, "cursor": 17},
    ),
    (errors.SettingsConflictError(4), RefusedError, "revision_conflict", {"revision": 4}),
    (
        errors.TransitionRefusedError("The delivery 'm-1'", "settled", "queued"),
        RefusedError,
        "transition_refused",
        {"record": "The delivery 'm-1'", "state": "settled", "event": "queued"},
    ),
    (errors.RunInProgressError("c-1"), RefusedError, "run_in_progress", {"conversation": "c-1"}),
    (errors.CursorAheadError(9), RefusedError, "cursor_ahead", {"head_cursor": 9}),
    (errors.CursorGoneError(5), RefusedError, "cursor_gone", {"oldest_cursor": 5}),
    (errors.ReceiptExpiredError("m-1"), RefusedError, "receipt_expired", {"delivery": "m-1"}),
    (
        errors.ConversationClosedError("c-1"),
        RefusedError,
        "conversation_closed",
        {"conversation": "c-1"},
    ),
    (errors.ShuttingDownError(), FaultError, "service_shutting_down", {}),
    (errors.BackpressureError(), FaultError, "admission_backpressure", {}),
    (
        errors.StorageUnavailableError("disk full"),
        FaultError,
        "storage_unavailable",
        {"cause": "disk full"},
    ),
    (errors.ReceiptsUnreadableError("torn"), FaultError, "receipts_unreadable", {"cause": "torn"}),
    (errors.CommitUnknownError("torn"), UncertainError, "commit_unknown", {"cause": "torn"}),
]


@pytest.mark.parametrize(("error", "root", "code", "facts"), CASES, ids=lambda one: str(one)[:40])
def test_an_error_has_a_code_a_sentence_and_its_facts(
    error: ClankieError, root: type[ClankieError], code: str, facts: dict[str, object]
) -> None:
    assert isinstance(error, root)
    assert (error.code, error.facts) == (code, facts)
    assert str(error) == error.detail
    assert error.detail.endswith(".")
    for fact in facts.values():
        assert not isinstance(fact, str) or fact in error.detail


def test_every_error_there_is_stands_in_the_list_above_and_says_what_it_means() -> None:
    roots = {ClankieError, RefusedError, FaultError, UncertainError}
    classes = {one for _, one in inspect.getmembers(errors, inspect.isclass)}
    assert {type(error) for error, *_ in CASES} == classes - roots
    assert all(one.__doc__ and "code" in vars(one) for one in classes - roots)


def test_an_error_is_exactly_one_of_refused_fault_and_uncertain() -> None:
    for error, *_ in CASES:
        kinds = [isinstance(error, one) for one in (RefusedError, FaultError, UncertainError)]
        assert kinds.count(True) == 1


def test_a_code_tells_one_error_from_another_but_for_the_two_revisions() -> None:
    codes = [code for _, _, code, _ in CASES]
    assert {code for code in codes if codes.count(code) > 1} == {"revision_conflict"}
    assert all(re.fullmatch("[a-z]+(_[a-z]+)*", code) for code in codes)


def test_the_tree_at_the_head_of_the_module_names_every_error() -> None:
    drawn = set(re.findall(r"\b\w+Error\b", errors.__doc__ or ""))
    classes = {name for name, _ in inspect.getmembers(errors, inspect.isclass)}
    assert drawn == classes


def test_a_field_error_keeps_its_path_and_rule() -> None:
    error = errors.InvalidFieldError("wakes.depth", "a whole number")
    assert (error.path, error.rule) == ("wakes.depth", "a whole number")
    assert error.detail == "The field 'wakes.depth' must be: a whole number."
