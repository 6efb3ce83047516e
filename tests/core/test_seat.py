"""Who sits there, and the ids under which a harness is given words."""

import uuid
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clankie.core.seat import (
    Capabilities,
    EventKind,
    Native,
    Occupant,
    cut,
    delivery_uuid,
    refusal,
)

NAMESPACE = uuid.UUID("5f0c9a52-5f61-5d0e-9f0b-5a8f0d6d1c3e")
NATIVE = Native(session_id="s-1", pid=4711, process_started_at="linux:b00t:99")
SITTING = Occupant(harness="claude", native=NATIVE, pane="%1")


@given(st.text(max_size=200).filter(lambda text: text.isprintable()), st.integers(0, 2**31))
def test_the_id_of_an_attempt_is_a_uuid_of_version_5_the_same_on_both_sides(
    event: str, attempt: int
) -> None:
    assert delivery_uuid(event, attempt) == str(uuid.uuid5(NAMESPACE, f"{event}#{attempt}"))


def test_another_attempt_or_delivery_has_another_id() -> None:
    given_ids = {delivery_uuid(event, n) for event in ("m-1", "m-2", "discord/1") for n in range(5)}
    assert len(given_ids) == 15


def test_an_occupant_has_one_id_which_a_service_that_started_anew_finds_again() -> None:
    again = Occupant(
        harness="claude",
        pane="%1",
        native=Native(session_id="s-1", pid=4711, process_started_at="linux:b00t:99"),
    )
    assert again.id == SITTING.id
    assert SITTING.id == "o-" + SITTING.id[2:]
    assert len(SITTING.id) == 28


@pytest.mark.parametrize(
    "other",
    [
        replace(SITTING, fleet="attic"),
        replace(SITTING, pane="%2"),
        replace(SITTING, pane=None),
        replace(SITTING, harness="codex"),
        replace(SITTING, native=replace(NATIVE, session_id="s-2")),
        replace(SITTING, native=replace(NATIVE, pid=4712)),
        replace(SITTING, native=replace(NATIVE, process_started_at="linux:b00t:100")),
        replace(SITTING, native=replace(NATIVE, session_id="s-1\udc80")),
    ],
    ids=["fleet", "pane", "no pane", "harness", "session", "process", "start", "odd session"],
)
def test_whatever_differs_makes_another_occupant(other: Occupant) -> None:
    # proves: SEAT-14
    assert other.id != SITTING.id


def test_an_adapter_that_says_nothing_else_takes_every_kind_and_cannot_interrupt() -> None:
    told = Capabilities()
    assert told.kinds == frozenset(EventKind)
    assert (told.transcript, told.steer, told.interrupt) == (True, True, False)


@given(st.integers(0, 40_000), st.integers(64, 20_000))
def test_a_row_that_is_cut_keeps_to_its_bound_and_says_how_long_it_was(
    length: int, limit: int
) -> None:
    text = "x" * length
    shown = cut(text, limit)
    assert len(shown) <= limit
    assert (shown == text) is (length <= limit)
    assert length <= limit or f"{length} characters" in shown
    assert cut(shown, limit) == shown


def test_a_refusal_is_told_in_plain_words_and_never_in_those_of_the_harness() -> None:
    assert refusal("claude", "usage_limited") == (
        "claude did not take this message, so it goes on without it: its usage limit is reached."
    )
    for own in ("usage_limit", "\x1b[31mPay here: example.org", ""):
        assert refusal("pi", own) == (
            "pi did not take this message, so it goes on without it: the reason is on its receipt."
        )


@pytest.mark.parametrize(
    "code",
    [
        "app_server_gone",
        "not_now",
        "pi_cannot_reply",
        "session_ended",
        "socket_silent",
        "stale_generation",
        "too_late",
        "turns_change_too_fast",
        "unreadable_event",
        "usage_limited",
    ],
)
def test_each_code_of_a_refusal_has_words(code: str) -> None:
    told = refusal("codex", code)
    assert "receipt" not in told
    assert code not in told
    assert "_" not in told
