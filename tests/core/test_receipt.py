"""The receipt of a delivery, and the one sentence that says what is known."""

import json
from datetime import timedelta
from typing import Any

import pytest

from clankie.core.conversation import Usage
from clankie.core.delivery import InputState, SeatState, ServiceState
from clankie.core.receipt import Attempt, Delivery, ToolCall, explain, tool_started
from core.kit import NOON, delivery

LOOK = ToolCall(call_id="c-1", name="look", effect=False, state="completed")
POST = ToolCall(call_id="c-2", name="post", effect=True, state="uncertain")


def attempt(state: ServiceState | SeatState, **changed: Any) -> Attempt:
    return Attempt(**{"n": 1, "state": state, "started_at": NOON, **changed})


def lost(state: InputState = InputState.UNCERTAIN, **changed: Any) -> Delivery:
    asked = attempt(ServiceState.UNCERTAIN, asked_at=NOON + timedelta(hours=2, minutes=2))
    return delivery(**{"state": state, "attempts": (asked,), **changed})


def test_what_is_uncertain_says_when_the_model_was_asked_what_happened_and_which_tools_ran() -> (
    None
):
    # proves: DAY-1
    assert explain(lost()) == (
        "The model was asked at 14:02 UTC; the process died before an answer was stored; "
        "tools run: none."
    )


def test_the_sentence_names_each_tool_and_how_it_ended() -> None:
    # proves: DAY-1
    found = lost(attempts=(attempt(ServiceState.UNCERTAIN, tools=(LOOK, POST)),))
    assert explain(found) == (
        "The model was asked at 12:00 UTC; the process died before an answer was stored; "
        "tools run: look (completed), post (uncertain)."
    )


def test_the_sentence_is_of_the_last_attempt_that_nobody_can_tell_of() -> None:
    first = attempt(ServiceState.FAILED, asked_at=NOON)
    second = attempt(ServiceState.UNCERTAIN, n=2, asked_at=NOON + timedelta(minutes=5))
    third = attempt(ServiceState.UNCERTAIN, n=3, asked_at=NOON + timedelta(minutes=9))
    text = explain(lost(attempts=(first, second, third)))
    assert text is not None
    assert text.startswith("The model was asked at 12:09 UTC;")


def test_the_cause_that_is_known_takes_the_place_of_the_usual_one() -> None:
    text = explain(lost(detail="the state was restored from a backup"))
    assert text == (
        "The model was asked at 14:02 UTC; the state was restored from a backup; tools run: none."
    )


def test_what_the_owner_closed_still_says_what_is_known() -> None:
    # proves: DAY-1
    text = explain(lost(InputState.ABANDONED))
    assert text is not None
    assert text.endswith("tools run: none; closed as unknown.")


def test_without_an_attempt_that_was_lost_nothing_more_is_claimed() -> None:
    found = lost(attempts=(attempt(SeatState.RELEASED, seat="seat-1", occupant="o-1"),))
    assert explain(found) == "Nothing is known of how it ended."


def at_seat(state: SeatState, **changed: Any) -> Attempt:
    whole: dict[str, Any] = {
        "seat": "seat-1",
        "occupant": "o-1",
        "asked_at": NOON + timedelta(hours=2, minutes=2),
        **changed,
    }
    return attempt(state, **whole)


GIVEN = "It was given to the seat seat-1 at 14:02 UTC; "
ACKNOWLEDGED = {"acknowledged_at": NOON + timedelta(hours=2, minutes=3)}


@pytest.mark.parametrize(
    ("evidence", "known"),
    [
        ({}, "no acknowledgement came"),
        (ACKNOWLEDGED, "it was acknowledged at 14:03 UTC"),
        ({**ACKNOWLEDGED, "proof": "uuid"}, "its transcript shows the words"),
    ],
    ids=["nothing", "acknowledged", "shown"],
)
def test_what_a_seat_may_have_says_when_it_was_given_and_what_came_back(
    evidence: dict[str, Any], known: str
) -> None:
    # proves: DAY-1, FENCE-7
    tried = at_seat(SeatState.UNCERTAIN, **evidence)
    assert explain(lost(attempts=(tried,))) == f"{GIVEN}{known}."
    cut = lost(attempts=(tried,), detail="the service restarted")
    assert explain(cut) == f"{GIVEN}{known}; the service restarted."
    closed = lost(InputState.ABANDONED, attempts=(tried,))
    assert explain(closed) == f"{GIVEN}{known}; closed as unknown."


def test_a_seat_that_lost_it_is_told_also_where_the_moment_of_giving_is_not_known() -> None:
    text = explain(lost(attempts=(at_seat(SeatState.UNCERTAIN, asked_at=None),)))
    assert text == "It was given to the seat seat-1 at 12:00 UTC; no acknowledgement came."


@pytest.mark.parametrize(
    ("state", "tried", "sentence"),
    [
        (
            InputState.QUEUED,
            at_seat(SeatState.OFFERED),
            "It waits at the seat seat-1 for its next poll.",
        ),
        (
            InputState.QUEUED,
            at_seat(SeatState.REFUSED, code="draft_in_the_way"),
            "The seat seat-1 refused it (draft_in_the_way); it waits again.",
        ),
        (
            InputState.QUEUED,
            at_seat(SeatState.RELEASED, code="hold_lapsed"),
            "The seat seat-1 did not take it (hold_lapsed); it waits again.",
        ),
        (
            InputState.QUEUED,
            at_seat(SeatState.RELEASED),
            "The seat seat-1 did not take it; it waits again.",
        ),
        (InputState.QUEUED, attempt(ServiceState.RELEASED), None),
        (InputState.RUNNING, attempt(ServiceState.RUNNING), None),
        (InputState.RUNNING, at_seat(SeatState.ATTEMPTING), f"{GIVEN}no acknowledgement came."),
        (
            InputState.RUNNING,
            at_seat(SeatState.TAKEN, **ACKNOWLEDGED),
            f"{GIVEN}it was acknowledged at 14:03 UTC.",
        ),
        (
            InputState.RUNNING,
            at_seat(SeatState.ACCEPTED, proof="uuid"),
            f"{GIVEN}its transcript shows the words.",
        ),
    ],
)
def test_what_is_at_a_seat_says_where_it_stands_there(
    state: InputState, tried: Attempt, sentence: str | None
) -> None:
    # proves: FENCE-5
    assert explain(delivery(state=state, attempts=(attempt(ServiceState.RELEASED), tried))) == (
        sentence
    )


def test_an_attempt_at_a_seat_shows_its_destination_and_its_evidence() -> None:
    # proves: FENCE-7
    tried = at_seat(SeatState.ACCEPTED, **ACKNOWLEDGED, proof="uuid")
    assert tried.to_wire() == {
        "n": 1,
        "destination": {"kind": "seat", "seat": "seat-1", "occupant": "o-1"},
        "state": "accepted",
        "started_at": "2026-11-30T12:00:00.000Z",
        "evidence": {"acknowledged_at": "2026-11-30T14:03:00.000Z", "proof": "uuid"},
    }


@pytest.mark.parametrize("state", InputState)
def test_only_what_did_not_end_well_is_explained(state: InputState) -> None:
    found = delivery(state=state, detail="The model is down.")
    expected = {
        InputState.FAILED: "The model is down.",
        InputState.NOT_SENT: "The model is down.",
        InputState.CANCELLED: "The model is down.",
        InputState.UNCERTAIN: "Nothing is known of how it ended.",
        InputState.ABANDONED: "Nothing is known of how it ended.",
    }
    assert explain(found) == expected.get(state)


def test_what_is_held_says_why() -> None:
    # proves: FENCE-12
    assert explain(delivery(held="credential_rejected")) == "It is held: credential_rejected."
    assert explain(delivery()) is None


def test_sending_again_warns_when_any_attempt_started_a_tool() -> None:
    # proves: DAY-1
    quiet = attempt(ServiceState.FAILED)
    loud = attempt(ServiceState.UNCERTAIN, n=2, tools=(LOOK,))
    assert not tool_started(delivery(attempts=(quiet,)))
    assert tool_started(delivery(attempts=(loud, quiet)))


def test_a_fresh_receipt_shows_what_is_known_and_nothing_else() -> None:
    # proves: FENCE-1
    assert json.loads(json.dumps(delivery().to_wire())) == {
        "id": "m-1",
        "fingerprint": "f" * 64,
        "state": "queued",
        "mode": "auto",
        "conversation": "garden",
        "origin": "owner",
        "admitted_at": "2026-11-30T12:00:00.000Z",
        "message_cursor": 18,
        "attempts": [],
    }


def test_a_full_receipt_shows_everything_but_the_words() -> None:
    # proves: FENCE-7
    cost = Usage(input_tokens=30, output_tokens=4, requests=2)
    whole = delivery(
        state=InputState.ABSORBED,
        settled_at=NOON + timedelta(seconds=9),
        code="some_code",
        reply_cursor=21,
        reply_delivery_id="m-0",
        absorbed_by="steer",
        retry_of="m-9",
        not_before=NOON + timedelta(seconds=5),
        held="credential_rejected",
        attempts=(
            attempt(ServiceState.RELEASED, ended_at=NOON, code="recipient_absent"),
            attempt(ServiceState.COMPLETED, n=2, into="m-0", usage=cost, tools=(LOOK, POST)),
        ),
    )
    assert json.loads(json.dumps(whole.to_wire())) == {
        "id": "m-1",
        "fingerprint": "f" * 64,
        "state": "absorbed",
        "mode": "auto",
        "conversation": "garden",
        "origin": "owner",
        "admitted_at": "2026-11-30T12:00:00.000Z",
        "message_cursor": 18,
        "settled_at": "2026-11-30T12:00:09.000Z",
        "code": "some_code",
        "reply_cursor": 21,
        "reply_delivery_id": "m-0",
        "absorbed_by": "steer",
        "retry_of": "m-9",
        "not_before": "2026-11-30T12:00:05.000Z",
        "held": "credential_rejected",
        "attempts": [
            {
                "n": 1,
                "destination": {"kind": "service"},
                "state": "released",
                "started_at": "2026-11-30T12:00:00.000Z",
                "ended_at": "2026-11-30T12:00:00.000Z",
                "code": "recipient_absent",
            },
            {
                "n": 2,
                "destination": {"kind": "service"},
                "state": "completed",
                "started_at": "2026-11-30T12:00:00.000Z",
                "into": "m-0",
                "usage": {"input_tokens": 30, "output_tokens": 4, "requests": 2},
                "evidence": {
                    "tools": [
                        {"call_id": "c-1", "name": "look", "effect": False, "state": "completed"},
                        {"call_id": "c-2", "name": "post", "effect": True, "state": "uncertain"},
                    ]
                },
            },
        ],
    }
