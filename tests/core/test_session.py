"""What a native session means for its seat: whether it is the same, and what its rows prove."""

from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clankie.core import session
from clankie.core.errors import RefusedError
from clankie.core.seat import Activity, Entry, EntryKind, Evidence, Limited, Proof, delivery_uuid
from clankie.core.session import Handed, Peer, Turn
from clankie.core.settings import SeatLimits
from core.kit import NOON

LIMITS = SeatLimits()
SOURCES = [None, "startup", "resume", "clear", "compact", "fork", "what nobody knows"]
HANDED = Handed(event="m-1", attempt=2, text="Water the beans.", at=NOON)
OURS = delivery_uuid("m-1", 2)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("same_session", [False, True])
def test_another_process_is_another_occupant(source: str | None, same_session: bool) -> None:
    # proves: SEAT-14
    told = session.continues(source, same_process=False, same_session=same_session)
    assert told == "unbind"


@pytest.mark.parametrize(("source", "same_session"), list(product(SOURCES, [False, True])))
def test_within_a_process_a_session_goes_on_when_it_is_provably_the_same(
    source: str | None, same_session: bool
) -> None:
    expected = "keep" if same_session else "unbind"
    if not same_session and source in {"clear", "compact"}:
        expected = "adopt"
    if source == "fork":
        expected = "unbind"
    assert session.continues(source, same_process=True, same_session=same_session) == expected


def row(proof: Proof | None = Proof.TEXT, value: str | None = None, **changed: Any) -> Entry:
    evidence = None if proof is None else Evidence(event="m-1", attempt=2, proof=proof, value=value)
    whole: dict[str, Any] = {
        "id": "row-1",
        "kind": EntryKind.USER,
        "at": NOON + timedelta(seconds=1),
        "text": "Water the beans.",
        "evidence": evidence,
        **changed,
    }
    return Entry(**whole)


@pytest.mark.parametrize("proof", [Proof.UUID, Proof.CLIENT_ID])
@pytest.mark.parametrize(
    "value", [None, "", delivery_uuid("m-1", 1), delivery_uuid("m-2", 2), OURS.upper()]
)
def test_an_id_proves_a_delivery_only_when_it_is_the_one_we_derived(
    proof: Proof, value: str | None
) -> None:
    # proves: SEC-4, FENCE-7
    assert session.proves(row(proof, OURS, text="Other words."), HANDED, LIMITS)
    assert not session.proves(row(proof, value), HANDED, LIMITS)


@pytest.mark.parametrize("proof", Proof)
@pytest.mark.parametrize(("event", "attempt"), [("m-2", 2), ("m-1", 1)])
def test_evidence_of_another_delivery_or_attempt_proves_nothing(
    proof: Proof, event: str, attempt: int
) -> None:
    # proves: FENCE-7
    other = Evidence(event=event, attempt=attempt, proof=proof, value=OURS)
    assert not session.proves(row(evidence=other), HANDED, LIMITS)
    value = None if proof is Proof.TEXT else OURS
    assert session.proves(row(proof, value), HANDED, LIMITS)


def test_a_row_without_evidence_proves_nothing_though_its_words_are_equal() -> None:
    # proves: SEC-4
    assert not session.proves(row(None), HANDED, LIMITS)


def test_an_answer_on_the_harness_s_own_socket_proves_the_attempt_that_it_names() -> None:
    assert session.proves(row(Proof.SOCKET), HANDED, LIMITS)


@pytest.mark.parametrize(
    ("after", "proven"), [(-0.001, False), (0.0, True), (10.0, True), (10.001, False)]
)
def test_typed_words_prove_a_delivery_within_ten_seconds(after: float, proven: bool) -> None:
    # proves: SEC-4
    typed = row(at=NOON + timedelta(seconds=after))
    assert session.proves(typed, HANDED, LIMITS) == proven


@pytest.mark.parametrize(
    ("typed", "shown", "proven"),
    [
        (30.0, 30.0, True),
        (30.0, 40.0, True),
        (30.0, 40.1, False),
        (30.0, 29.9, False),
        (60.0, 61.0, True),
        (60.1, 61.0, False),
        (-0.1, 0.0, False),
    ],
)
def test_the_ten_seconds_run_from_the_keystrokes_where_they_are_told(
    typed: float, shown: float, proven: bool
) -> None:
    # proves: SEC-4
    pressed = (NOON + timedelta(seconds=typed)).isoformat()
    late = row(Proof.TEXT, pressed, at=NOON + timedelta(seconds=shown))
    assert session.proves(late, HANDED, LIMITS) == proven


@pytest.mark.parametrize("value", ["", "soon", "2026-11-30", "2026-11-30T12:00:00", OURS])
def test_a_moment_that_is_none_proves_nothing(value: str) -> None:
    # proves: SEC-4
    assert not session.proves(row(Proof.TEXT, value), HANDED, LIMITS)


@pytest.mark.parametrize("alike", [0, 2, 3])
def test_typed_words_prove_nothing_unless_exactly_one_new_row_has_them(alike: int) -> None:
    # proves: SEC-4
    assert session.proves(row(), HANDED, LIMITS, alike=1)
    assert not session.proves(row(), HANDED, LIMITS, alike=alike)


@pytest.mark.parametrize("kind", EntryKind)
def test_only_a_row_of_the_user_can_be_what_was_typed(kind: EntryKind) -> None:
    # proves: SEC-4
    assert session.proves(row(kind=kind), HANDED, LIMITS) == (kind is EntryKind.USER)


def test_typed_words_are_compared_as_fingerprints_are() -> None:
    assert session.proves(row(text="  Water the beans.\r\n"), HANDED, LIMITS)
    assert not session.proves(row(text="Water the beans"), HANDED, LIMITS)


def test_a_usage_limit_parks_until_its_reset_else_for_an_hour_from_when_it_happened() -> None:
    # proves: LIMIT-1
    reset = NOON + timedelta(hours=3)
    assert session.parked_until(
        Limited(window="5h", occurred_at=NOON, resets_at=reset), LIMITS
    ) == (reset)
    untold = Limited(window="5h", occurred_at=NOON)
    assert session.parked_until(untold, LIMITS) == NOON + timedelta(hours=1)


RESPONDING, WAITING = Activity.RESPONDING, Activity.WAITING
OLD, NEW = "session-1", "session-2"


def test_only_the_session_that_holds_the_turn_ends_it() -> None:
    # proves: SEAT-15
    turn = session.heard(Turn(), RESPONDING, NEW, current=NEW)
    assert turn == Turn(NEW, RESPONDING)
    assert session.heard(turn, WAITING, OLD, current=NEW) == turn
    assert session.heard(turn, WAITING, NEW, current=NEW) == Turn(NEW, WAITING)


def test_a_late_report_of_an_older_session_changes_nothing() -> None:
    # proves: SEAT-15
    for turn in (Turn(), Turn(NEW, WAITING), Turn(NEW, RESPONDING)):
        for report in Activity:
            assert session.heard(turn, report, OLD, current=NEW) == turn


def test_a_session_that_holds_the_turn_may_end_it_after_another_took_its_place() -> None:
    turn = Turn(OLD, RESPONDING)
    assert session.heard(turn, WAITING, NEW, current=NEW) == turn
    assert session.heard(turn, WAITING, OLD, current=NEW) == Turn(OLD, WAITING)
    assert session.heard(turn, RESPONDING, NEW, current=NEW) == Turn(NEW, RESPONDING)


def test_a_seat_that_waits_from_the_start_says_so() -> None:
    assert session.heard(Turn(), WAITING, NEW, current=NEW) == Turn(NEW, WAITING)


@given(st.lists(st.tuples(st.sampled_from(Activity), st.sampled_from([OLD, NEW, "other"]))))
def test_a_running_turn_ends_only_by_the_word_of_its_session(
    reports: list[tuple[Activity, str]],
) -> None:
    # proves: SEAT-15
    turn = Turn()
    for report, who in reports:
        after = session.heard(turn, report, who, current=NEW)
        if turn.activity is RESPONDING and after.activity is WAITING:
            assert who == turn.session
        assert after == turn or after == Turn(who, report)
        turn = after


@pytest.mark.parametrize(
    ("activity", "alive_at", "ends"),
    [
        (None, None, None),
        (None, 100.0, None),
        (RESPONDING, None, None),
        (WAITING, 100.0, None),
        (RESPONDING, 100.0, 1_000.0),
        (RESPONDING, 0.0, 900.0),
    ],
)
def test_a_turn_holds_a_queue_back_for_15_minutes_after_its_last_sign_of_life(
    activity: Activity | None, alive_at: float | None, ends: float | None
) -> None:
    # proves: SEAT-8, SEAT-15
    assert session.turn_ends(activity, alive_at, LIMITS) == ends


def check(**changed: Any) -> None:
    whole: dict[str, Any] = {
        "harness": "claude",
        "uid": 1000,
        "expires_at": NOON + timedelta(minutes=5),
        "offered": "claude",
        "peer": Peer(pid=77, uid=1000),
        "now": NOON,
        **changed,
    }
    session.check_grant(**whole)


@pytest.mark.parametrize(
    "changed",
    [
        {"now": NOON + timedelta(minutes=5)},
        {"offered": "codex"},
        {"peer": Peer(pid=77, uid=1001)},
    ],
    ids=["too old", "another harness", "another person"],
)
def test_a_grant_is_good_once_for_its_harness_and_its_person(changed: dict[str, Any]) -> None:
    check()
    check(peer=None, now=NOON + timedelta(seconds=299))
    with pytest.raises(RefusedError) as refused:
        check(**changed)
    assert refused.value.code == "grant_unknown"


PARENTS = {30: 20, 20: 10, 10: 1, 1: 0, 40: 10}


@pytest.mark.parametrize(
    ("one", "other", "kin"),
    [
        (30, 20, True),
        (30, 10, True),
        (10, 30, True),
        (30, 30, True),
        (30, 40, False),
        (7, 8, False),
    ],
)
def test_a_peer_is_kin_when_it_descends_from_the_harness_or_the_harness_from_it(
    one: int, other: int, kin: bool
) -> None:
    assert session.related(one, other, PARENTS) == kin


def test_a_torn_table_of_processes_is_read_to_an_end() -> None:
    assert not session.related(5, 9, {5: 6, 6: 5})
    assert not session.related(0, 9, {})
