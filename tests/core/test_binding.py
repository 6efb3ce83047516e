"""Binding and hold: who may take from a seat, and for how long its silence is waited out."""

from collections.abc import Mapping
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clankie.core import binding
from clankie.core.binding import NOBODY, Asking, Phase, Signal
from clankie.core.driver import Presence
from clankie.core.errors import TransitionRefusedError
from clankie.core.mailbox import Policy
from clankie.core.settings import SeatLimits

LIMITS = SeatLimits()  # hold 45 s, grace 30 s, presumed 120 s
BRIDGE, OTHER = "bridge-1", "bridge-2"
ELSEWHERE = [Policy.LEAD, Policy.ROOM, Policy.WORKER]

TABLE: Mapping[str, Mapping[str, str]] = {
    "never": {"ask": "asking", "detach": "never"},
    "asking": {"ask": "asking", "complete": "grace", "abort": "unbound", "detach": "never"},
    "grace": {"ask": "asking", "lapse": "unbound", "detach": "never"},
    "unbound": {"ask": "asking", "detach": "never"},
}


def asking(ask: str = "1", before: Asking = NOBODY, bridge: str = BRIDGE) -> Asking:
    return binding.asked(before, ask=ask, binding=bridge, wait=30.0)


def completed(now: float = 100.0) -> Asking:
    return binding.completed(asking(), ask="1", now=now)


def aborted(now: float = 100.0) -> Asking:
    return binding.aborted(asking(), ask="1", now=now)


def presence(
    seat: Asking, now: float, policy: Policy = Policy.HEAD, *, parked: bool = False
) -> str:
    return binding.presence(seat, policy, LIMITS, now, parked=parked)


@pytest.mark.parametrize(("before", "signal"), list(product(Phase, Signal)))
def test_a_binding_moves_exactly_as_its_table_says(before: Phase, signal: Signal) -> None:
    # proves: SEAT-6
    after = TABLE[before].get(signal)
    if after is not None:
        assert binding.move(before, signal) == after
        return
    with pytest.raises(TransitionRefusedError, match=f"is {before} and cannot become {signal}"):
        binding.move(before, signal)


def test_a_seat_that_never_asked_is_absent_and_has_no_silence() -> None:
    assert presence(NOBODY, 5.0) == "absent"
    assert binding.bound(NOBODY, LIMITS, 5.0) is None
    assert binding.silent_since(NOBODY) is None
    assert binding.next_change(NOBODY, Policy.HEAD, LIMITS, 5.0) is None


@pytest.mark.parametrize("policy", Policy)
def test_a_poll_that_waits_keeps_its_seat_live_for_as_long_as_it_waits(policy: Policy) -> None:
    # proves: SEAT-5
    for now in (0.0, 60.0, 36_000.0):
        assert presence(asking(), now, policy) == "live"
        assert binding.bound(asking(), LIMITS, now) == BRIDGE
    assert binding.hold_ends(asking(), policy, LIMITS) is None
    assert binding.next_change(asking(), policy, LIMITS, 0.0) is None


@pytest.mark.parametrize("policy", Policy)
def test_a_poll_that_does_not_wait_is_no_ask(policy: Policy) -> None:
    # proves: SEAT-5
    for before in (NOBODY, completed(), aborted()):
        peeked = binding.asked(before, ask="2", binding=OTHER, wait=0.0)
        assert peeked == before
        assert binding.completed(peeked, ask="2", now=120.0) == before
    assert (
        presence(binding.asked(NOBODY, ask="1", binding=BRIDGE, wait=0.0), 1.0, policy) == "absent"
    )


def test_a_completed_poll_binds_for_the_grace_and_holds_the_head_for_45_s() -> None:
    # proves: SEAT-5, SEAT-6
    seat = completed(100.0)
    times = (100.0, 129.999, 130.0, 144.999, 145.0)
    assert [binding.bound(seat, LIMITS, now) for now in times] == [BRIDGE, BRIDGE, None, None, None]
    assert [presence(seat, now) for now in times] == [
        "live",
        "live",
        "holding",
        "holding",
        "absent",
    ]


def test_an_aborted_poll_ends_the_binding_at_once_and_the_hold_runs_on() -> None:
    # proves: SEAT-6
    seat = aborted(100.0)
    assert binding.bound(seat, LIMITS, 100.0) is None
    assert [presence(seat, now) for now in (100.0, 144.999, 145.0)] == [
        "holding",
        "holding",
        "absent",
    ]


@pytest.mark.parametrize("policy", ELSEWHERE)
def test_elsewhere_there_is_grace_and_no_hold(policy: Policy) -> None:
    # proves: SEAT-5
    assert [presence(completed(100.0), now, policy) for now in (129.999, 130.0)] == [
        "live",
        "absent",
    ]
    assert presence(aborted(100.0), 100.0, policy) == "absent"


@pytest.mark.parametrize("policy", Policy)
def test_parking_and_detaching_end_a_hold_at_once(policy: Policy) -> None:
    # proves: SEAT-6
    for seat in (asking(), completed(), aborted()):
        assert presence(seat, 101.0, policy, parked=True) == "absent"
        gone = binding.detached(seat)
        assert presence(gone, 101.0, policy) == "absent"
        assert binding.bound(gone, LIMITS, 101.0) is None
        assert binding.superseded(gone, ask="1")


def test_a_newer_poll_takes_the_place_of_the_older_one_whose_end_says_nothing() -> None:
    # proves: SEAT-4
    newer = asking("2", asking("1"), OTHER)
    assert binding.superseded(newer, ask="1")
    assert not binding.superseded(newer, ask="2")
    assert binding.bound(newer, LIMITS, 1.0) == OTHER
    assert binding.completed(newer, ask="1", now=9.0) == newer
    assert binding.aborted(newer, ask="1", now=9.0) == newer


def test_asking_again_within_the_grace_binds_anew() -> None:
    again = asking("2", completed(100.0), OTHER)
    assert presence(again, 500.0) == "live"
    assert binding.bound(again, LIMITS, 500.0) == OTHER
    late = asking("2", binding.at(completed(100.0), LIMITS, 200.0))
    assert presence(late, 500.0) == "live"


def test_a_grace_that_has_passed_has_lapsed() -> None:
    seat = completed(100.0)
    assert binding.at(seat, LIMITS, 129.0).phase is Phase.GRACE
    lapsed = binding.at(seat, LIMITS, 130.0)
    assert (lapsed.phase, lapsed.binding, lapsed.last_ask) == (Phase.UNBOUND, None, 100.0)
    assert binding.at(lapsed, LIMITS, 999.0) == lapsed


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize(("age", "there"), [(0.0, True), (120.0, True), (120.1, False)])
def test_a_seat_that_asked_shortly_before_a_start_is_presumed_live_for_45_s(
    policy: Policy, age: float, there: bool
) -> None:
    # proves: SEAT-5
    seat = binding.restarted(age, 1_000.0, LIMITS)
    early = policy is Policy.HEAD and age < 45.0
    assert presence(seat, 1_000.0, policy) == ("holding" if there or early else "absent")
    assert presence(seat, 1_044.999, policy) == ("holding" if there else "absent")
    assert presence(seat, 1_045.0, policy) == "absent"
    assert binding.bound(seat, LIMITS, 1_000.0) is None
    assert binding.silent_since(seat) == 1_000.0 - age


@pytest.mark.parametrize("policy", ELSEWHERE)
def test_what_is_seen_after_a_start_replaces_what_was_presumed(policy: Policy) -> None:
    seat = asking("1", binding.restarted(10.0, 1_000.0, LIMITS))
    assert presence(binding.aborted(seat, ask="1", now=1_001.0), 1_001.0, policy) == "absent"


def test_a_start_presumes_nothing_of_a_seat_that_never_asked() -> None:
    assert binding.restarted(None, 1_000.0, LIMITS) == NOBODY
    # A wall clock that was set back makes an age negative: then it asked just now.
    assert binding.silent_since(binding.restarted(-5.0, 1_000.0, LIMITS)) == 1_000.0


@pytest.mark.parametrize("seat", [completed(100.0), aborted(100.0)], ids=["completed", "aborted"])
def test_a_held_queue_keeps_the_grace_after_its_bridge_left(seat: Asking) -> None:
    # proves: SEAT-8
    assert binding.queue_ends(seat, LIMITS) == 130.0


def test_a_held_queue_has_no_end_while_its_seat_asks_but_the_grace_when_it_is_parked() -> None:
    # proves: SEAT-8
    assert binding.queue_ends(asking(), LIMITS) is None
    assert binding.queue_ends(asking(), LIMITS, parked_at=7.0) == 37.0
    assert binding.queue_ends(aborted(100.0), LIMITS, parked_at=110.0) == 130.0
    assert binding.queue_ends(aborted(100.0), LIMITS, parked_at=90.0) == 120.0


def test_a_held_queue_waits_for_a_seat_that_is_presumed_live() -> None:
    assert binding.queue_ends(binding.restarted(10.0, 1_000.0, LIMITS), LIMITS) == 1_045.0
    assert binding.queue_ends(binding.restarted(300.0, 1_000.0, LIMITS), LIMITS) == 730.0
    assert binding.queue_ends(NOBODY, LIMITS) == 0.0


def test_silence_counts_from_the_end_of_the_last_ask() -> None:
    # proves: SEAT-7
    assert binding.silent_since(asking()) is None
    assert binding.silent_since(completed(100.0)) == 100.0
    assert binding.silent_since(aborted(100.0)) == 100.0
    assert binding.silent_since(asking("2", completed(100.0))) is None


def test_the_next_change_is_the_nearest_end_that_is_still_to_come() -> None:
    seat = completed(100.0)
    head = [binding.next_change(seat, Policy.HEAD, LIMITS, now) for now in (100.0, 130.0, 145.0)]
    assert head == [130.0, 145.0, None]
    assert binding.next_change(seat, Policy.ROOM, LIMITS, 130.0) is None
    assert binding.next_change(asking(), Policy.HEAD, LIMITS, 5.0, parked_at=4.0) == 34.0


# Any story of polls, beside a model that keeps the whole history and looks back at it.

STORY = st.lists(
    st.tuples(
        st.sampled_from(["ask", "peek", "complete", "abort", "stale", "detach", "wait"]),
        st.sampled_from([0.0, 1.0, 15.0, 29.9, 30.0, 44.9, 45.0, 400.0]),
    ),
    max_size=25,
)


class History:
    """All that happened: the seat's asks with their ends, newest last."""

    def __init__(self) -> None:
        self.asks: list[list[float | None]] = []
        self.ends: list[str | None] = []

    def open(self) -> bool:
        return bool(self.ends) and self.ends[-1] is None

    def end(self, how: str, now: float) -> None:
        if self.open():
            self.ends[-1] = how
            self.asks[-1][1] = now

    def live(self, now: float, policy: Policy) -> tuple[bool, bool]:
        """Whether a bridge is bound, and whether the seat is a destination."""
        if not self.ends:
            return False, False
        if self.open():
            return True, True
        ended = self.asks[-1][1]
        assert ended is not None
        bound = self.ends[-1] == "completed" and now < ended + 30.0
        return bound, now < ended + 45.0 if policy is Policy.HEAD else bound


@given(STORY, st.sampled_from(Policy))
def test_whatever_polls_do_binding_and_hold_are_what_their_history_says(
    story: list[tuple[str, float]], policy: Policy
) -> None:
    # proves: SEAT-5, SEAT-6
    seat, history, now, waits = NOBODY, History(), 1_000.0, ""
    for n, (what, pause) in enumerate(story):
        now += pause
        if what == "ask":
            seat = binding.at(seat, LIMITS, now)
            seat = binding.asked(seat, ask=str(n), binding=BRIDGE, wait=30.0)
            history.asks.append([now, None])
            history.ends.append(None)
            waits = str(n)
        elif what == "peek":
            seat = binding.asked(seat, ask=f"peek-{n}", binding=OTHER, wait=0.0)
        elif what == "stale":
            seat = binding.aborted(seat, ask="an older one", now=now)
        elif what == "detach":
            seat, history = binding.detached(seat), History()
        elif history.open() and what == "complete":
            seat = binding.completed(seat, ask=waits, now=now)
            history.end("completed", now)
        elif history.open() and what == "abort":
            seat = binding.aborted(seat, ask=waits, now=now)
            history.end("aborted", now)
        check(seat, history, now, policy)


def check(seat: Asking, history: History, now: float, policy: Policy) -> None:
    change = binding.next_change(seat, policy, LIMITS, now)
    moments = [now, now + 10.0, *([] if change is None else [change - 1e-6, change])]
    for moment in moments:
        bound, there = history.live(moment, policy)
        assert (binding.bound(seat, LIMITS, moment) is not None) == bound
        standing = binding.presence(seat, policy, LIMITS, moment, parked=False)
        assert (standing is not Presence.ABSENT) == there
        assert standing is not Presence.HOLDING or policy is Policy.HEAD
        # Nothing changes between two changes.
        if change is not None and now <= moment < change:
            assert standing is binding.presence(seat, policy, LIMITS, now, parked=False)
