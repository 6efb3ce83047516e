"""What is admitted, what is the same again, what is refused, and which of these is asked first."""

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from clankie.core.admission import (
    Known,
    Mode,
    Offer,
    Origin,
    Reach,
    Standing,
    Verdict,
    decide,
    fingerprint,
    normalise,
)
from clankie.core.conversation import Kind, Role
from clankie.core.delivery import InputState
from clankie.core.errors import (
    BackpressureError,
    ClankieError,
    ConversationClosedError,
    ConversationReadOnlyError,
    DeliveryConflictError,
    DeliveryNotFoundError,
    ReceiptExpiredError,
    RevisionConflictError,
    TransitionRefusedError,
    UnconfirmedError,
)
from core.kit import conversation

ANY_TEXT = st.text(st.characters(codec=None))
LONE = st.sampled_from(["\ud83d", "\ude00", "\U0001f600", "\r", "\n", '"', "\\", "\\ud83d"])
AWKWARD = ANY_TEXT | st.lists(LONE).map("".join)
WHOLE = st.tuples(st.text(), st.sampled_from(Mode), AWKWARD, st.lists(st.text()).map(tuple))
ROOM = conversation(id="discord-text-9", kind=Kind.ROOM)


def offer(**changed: Any) -> Offer:
    return Offer(**{"delivery_id": "m-1", "conversation": "garden", "text": "Hello.", **changed})


def standing(**changed: Any) -> Standing:
    return Standing(**{"conversation": conversation(), "bound": 5, **changed})


def known(given: Offer, state: InputState = InputState.SETTLED, *, pruned: bool = False) -> Known:
    return Known(given.fingerprint, state, pruned)


@given(ANY_TEXT)
def test_a_fingerprint_does_not_see_line_ends_and_blanks_around(text: str) -> None:
    # proves: FENCE-1
    text = text.replace("\r", "\n")  # one kind of line end; the others are made from it below
    plain = fingerprint("garden", Mode.AUTO, text)
    for other in (text.replace("\n", "\r\n"), text.replace("\n", "\r"), f" \r\n{text}\t\n"):
        assert fingerprint("garden", Mode.AUTO, other) == plain
    assert normalise(normalise(text)) == normalise(text)
    assert "\r" not in normalise(text)


@given(WHOLE, WHOLE)
@example(("c", Mode.AUTO, "\ud83d\ude00", ()), ("c", Mode.AUTO, "\U0001f600", ()))
@example(("c", Mode.AUTO, "a", ("b", "c")), ("c", Mode.AUTO, "a", ("b,c",)))
@example(("c", Mode.AUTO, 'a","b', ()), ("c", Mode.AUTO, "a", ("b",)))
def test_only_what_is_the_same_in_every_part_has_the_same_fingerprint(
    one: tuple[str, Mode, str, tuple[str, ...]], other: tuple[str, Mode, str, tuple[str, ...]]
) -> None:
    # proves: FENCE-1
    same = (*one[:2], normalise(one[2]), one[3]) == (*other[:2], normalise(other[2]), other[3])
    assert (fingerprint(*one) == fingerprint(*other)) == same


@given(WHOLE, st.integers(0, 3), AWKWARD, st.sampled_from(Mode))
def test_a_change_of_one_part_changes_the_fingerprint(
    whole: tuple[str, Mode, str, tuple[str, ...]], part: int, text: str, mode: Mode
) -> None:
    # proves: FENCE-1
    conversation_id, before, words, attached = whole
    changed = [
        (f"{conversation_id}x", before, words, attached),
        (conversation_id, mode, words, attached),
        (conversation_id, before, text, attached),
        (conversation_id, before, words, (*attached, text)),
    ][part]
    assume((changed[1], normalise(changed[2]), part) != (before, normalise(words), 1))
    assume(part != 2 or normalise(text) != normalise(words))
    assert fingerprint(*changed) != fingerprint(*whole)


def test_a_fingerprint_is_a_sha_256_and_never_changes_between_releases() -> None:
    # What is on somebody's disk was made by this very encoding.
    whole = json.dumps(["garden", "auto", "Hello.", []], separators=(",", ":"))
    expected = hashlib.sha256(whole.encode()).hexdigest()
    assert fingerprint("garden", Mode.AUTO, " Hello.\r\n") == expected
    assert re.fullmatch("[0-9a-f]{64}", expected)


def test_an_offer_has_the_fingerprint_of_its_conversation_mode_and_text() -> None:
    # proves: FENCE-1
    assert offer(mode=Mode.STEER).fingerprint == fingerprint("garden", Mode.STEER, "Hello.")


def test_what_nobody_sent_before_is_admitted() -> None:
    assert decide(offer(), standing()) is Verdict.ADMIT


@pytest.mark.parametrize("state", InputState)
@pytest.mark.parametrize(
    "changed",
    [
        {"conversation": conversation(revision=9)},
        {"conversation": conversation(closed=True)},
        {"conversation": conversation(waiting=99)},
        {"unresolved": "m-0"},
    ],
    ids=["revision moved on", "closed", "queue full", "equal content unresolved"],
)
def test_the_same_id_with_the_same_content_is_the_same_again_before_anything_is_compared(
    state: InputState, changed: dict[str, Any]
) -> None:
    # proves: FENCE-1, FENCE-10
    again = offer(text=" Hello.\r\n", expected_revision=3)
    found = standing(known=known(offer(), state), **changed)
    assert decide(again, found) is Verdict.REPEAT


@pytest.mark.parametrize("state", [s for s in InputState if s is not InputState.UNCERTAIN])
@pytest.mark.parametrize("pruned", [False, True])
@pytest.mark.parametrize(
    "changed", [{"text": "Bye."}, {"mode": Mode.QUEUE}, {"conversation": "kitchen"}]
)
def test_a_known_id_with_other_content_is_refused(
    state: InputState, pruned: bool, changed: dict[str, Any]
) -> None:
    # proves: FENCE-1
    with pytest.raises(DeliveryConflictError) as refused:
        decide(offer(**changed), standing(known=known(offer(), state, pruned=pruned)))
    assert refused.value.facts == {"delivery": "m-1"}


def test_a_pruned_id_answers_that_its_receipt_expired() -> None:
    # proves: FENCE-7
    with pytest.raises(ReceiptExpiredError):
        decide(offer(), standing(known=known(offer(), pruned=True)))


@pytest.mark.parametrize("changed", [{"text": "Bye."}, {"automatic": True}])
def test_an_unresolved_id_blocks_other_content_and_programs_that_repeat(
    changed: dict[str, Any],
) -> None:
    # proves: FENCE-10
    found = standing(known=known(offer(), InputState.UNCERTAIN))
    with pytest.raises(UnconfirmedError) as refused:
        decide(offer(**changed), found)
    assert refused.value.facts == {"blocker": "m-1"}


def test_unresolved_content_blocks_a_program_under_a_new_id_and_names_the_blocker() -> None:
    # proves: FENCE-10
    with pytest.raises(UnconfirmedError) as refused:
        decide(offer(delivery_id="m-2", automatic=True), standing(unresolved="m-1"))
    assert refused.value.facts == {"blocker": "m-1"}


def test_the_owner_may_say_again_what_is_unresolved() -> None:
    # proves: FENCE-1, FENCE-10
    assert decide(offer(delivery_id="m-2"), standing(unresolved="m-1")) is Verdict.ADMIT


@pytest.mark.parametrize("reach", Reach)
@pytest.mark.parametrize("text", ["Hello.", "Something else."])
def test_an_unresolved_delivery_to_an_occupant_keeps_every_other_away_and_is_named(
    reach: Reach, text: str
) -> None:
    # proves: FENCE-10
    second = offer(delivery_id="m-2", text=text, reach=reach, occupant="o-1")
    assert decide(second, standing()) is Verdict.ADMIT
    if reach in {Reach.CONVERSATION, Reach.HELD_QUEUE}:
        # A conversation's own outbox goes on beside what is unresolved there.
        assert decide(second, standing(reserved="m-1")) is Verdict.ADMIT
        return
    with pytest.raises(UnconfirmedError) as refused:
        decide(second, standing(reserved="m-1"))
    assert refused.value.facts["blocker"] == "m-1"


def test_an_unresolved_input_does_not_hold_up_a_program_with_other_content() -> None:
    # proves: FENCE-10
    assert decide(offer(delivery_id="m-2", automatic=True), standing()) is Verdict.ADMIT


@pytest.mark.parametrize("state", InputState)
def test_what_went_well_or_still_goes_on_cannot_be_retried(state: InputState) -> None:
    again = offer(delivery_id="m-2", retry_of="m-1")
    found = standing(retried=state)
    if state in {"uncertain", "failed", "not_sent", "abandoned"}:
        assert decide(again, found) is Verdict.ADMIT
        return
    with pytest.raises(TransitionRefusedError) as refused:
        decide(again, found)
    assert refused.value.facts["state"] == state


def test_a_retry_of_what_nobody_knows_is_refused() -> None:
    with pytest.raises(DeliveryNotFoundError) as refused:
        decide(offer(delivery_id="m-2", retry_of="m-1"), standing())
    assert refused.value.facts == {"delivery": "m-1"}


@pytest.mark.parametrize("seen", [2, 4])
def test_a_client_that_saw_another_revision_is_told_where_to_read_on(seen: int) -> None:
    # proves: CONV-5
    with pytest.raises(RevisionConflictError) as refused:
        decide(offer(expected_revision=seen), standing())
    assert refused.value.facts == {"revision": 3, "cursor": 17}


@pytest.mark.parametrize("seen", [3, None])
def test_the_revision_of_now_and_none_at_all_are_admitted(seen: int | None) -> None:
    # proves: CONV-5
    assert decide(offer(expected_revision=seen), standing()) is Verdict.ADMIT


@pytest.mark.parametrize(("waiting", "full"), [(4, False), (5, True), (6, True)])
def test_no_more_wait_than_the_bound(waiting: int, full: bool) -> None:
    found = standing(conversation=conversation(waiting=waiting))
    if not full:
        assert decide(offer(), found) is Verdict.ADMIT
        return
    with pytest.raises(BackpressureError):
        decide(offer(), found)


@pytest.mark.parametrize("origin", Origin)
def test_a_room_is_run_by_its_room_and_not_by_a_generic_send(origin: Origin) -> None:
    # proves: CONV-2
    given = offer(conversation=ROOM.id, origin=origin)
    if origin is not Origin.OWNER:
        assert decide(given, standing(conversation=ROOM)) is Verdict.ADMIT
        return
    with pytest.raises(ConversationReadOnlyError):
        decide(given, standing(conversation=ROOM))


def refusal(given: Offer, found: Standing) -> type[ClankieError] | None:
    try:
        decide(given, found)
    except ClankieError as error:
        return type(error)
    return None


EVERYTHING = offer(
    delivery_id="m-2", conversation=ROOM.id, automatic=True, retry_of="m-0", expected_revision=1
)
CURES: list[tuple[type[ClankieError], Callable[[dict[str, Any]], None]]] = [
    (ConversationReadOnlyError, lambda w: w["conversation"].update(kind=Kind.WORKSPACE)),
    (DeliveryConflictError, lambda w: w.update(known=None)),
    (ConversationClosedError, lambda w: w["conversation"].update(closed=False)),
    (UnconfirmedError, lambda w: w.update(unresolved=None)),
    (TransitionRefusedError, lambda w: w.update(retried=InputState.FAILED)),
    (RevisionConflictError, lambda w: w["conversation"].update(revision=1)),
    (BackpressureError, lambda w: w["conversation"].update(waiting=0)),
]


def test_rights_come_first_then_the_known_id_then_the_revision_then_the_bound() -> None:
    """Everything is wrong at once; each cure uncovers the next reason, in the protocol's order."""
    wrong: dict[str, Any] = {
        "conversation": {"kind": Kind.ROOM, "closed": True, "waiting": 9, "revision": 4},
        "known": Known("another", InputState.SETTLED, pruned=False),
        "unresolved": "m-1",
        "retried": InputState.SETTLED,
    }
    for error, cure in CURES:
        found = standing(**{**wrong, "conversation": conversation(**wrong["conversation"])})
        assert refusal(EVERYTHING, found) is error
        cure(wrong)
    found = standing(**{**wrong, "conversation": conversation(**wrong["conversation"])})
    assert decide(EVERYTHING, found) is Verdict.ADMIT


@pytest.mark.parametrize("origin", Origin)
def test_the_log_calls_only_the_owners_words_the_owners(origin: Origin) -> None:
    expected = {Origin.OWNER: Role.OWNER, Origin.ROOM: Role.ROOM}
    assert origin.role is expected.get(origin, Role.EXTERNAL)


@pytest.mark.parametrize("origin", Origin)
def test_only_a_wake_is_tried_again_by_itself(origin: Origin) -> None:
    # proves: FENCE-12
    assert origin.retries is (origin is Origin.WAKE)
