"""The machines of an input and of its attempts, walked against what FENCE-8 says in words."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product

import pytest

from clankie.core import delivery
from clankie.core.delivery import InputState, SeatState, ServiceState, Transition
from clankie.core.errors import TransitionRefusedError
from core.kit import table

INPUT = table("""
queued: running not_sent cancelled failed
running: settled failed absorbed cancelled uncertain queued
uncertain: running settled failed abandoned
settled:
failed:
absorbed:
cancelled:
not_sent:
abandoned:
""")

SERVICE = table("""
reserved: running released failed stalled
running: completed failed stalled cancelled uncertain
released:
completed:
failed:
stalled:
cancelled:
uncertain:
""")

SEAT = table("""
offered: attempting released
attempting: taken refused uncertain accepted replied
taken: accepted replied delivered failed uncertain
accepted: replied delivered failed uncertain
uncertain: taken accepted replied delivered failed
replied:
delivered:
refused:
released:
failed:
""")

# Where an input is while its attempt at a seat is in this state.
AT_SEAT = {
    "offered": "queued",
    "attempting": "running",
    "taken": "running",
    "accepted": "running",
    "replied": "settled",
    "delivered": "settled",
    "refused": "queued",
    "released": "queued",
    "failed": "failed",
    "uncertain": "uncertain",
}

Move = Callable[[str, str, str], str]


def move_input(before: str, after: str) -> str:
    return delivery.move_input("m-1", InputState(before), InputState(after))


def move_service(before: str, after: str) -> str:
    return delivery.move_service("m-1#1", ServiceState(before), ServiceState(after))


def move_seat(before: str, after: str) -> str:
    return delivery.move_seat("m-1#1", SeatState(before), SeatState(after))


MACHINES = {
    "input": (INPUT, move_input),
    "service": (SERVICE, move_service),
    "seat": (SEAT, move_seat),
}


def pairs() -> Iterator[tuple[str, str, str]]:
    for name, (expected, _) in MACHINES.items():
        for before, after in product(expected, expected):
            yield name, before, after


@pytest.mark.parametrize(
    ("machine", "states", "printed"),
    [
        (INPUT, InputState, delivery.INPUT),
        (SERVICE, ServiceState, delivery.SERVICE),
        (SEAT, SeatState, delivery.SEAT),
    ],
    ids=["input", "service", "seat"],
)
def test_every_state_has_its_row_and_no_row_is_of_another_machine(
    machine: Mapping[str, frozenset[str]], states: Iterable[str], printed: Mapping[str, object]
) -> None:
    # proves: FENCE-8
    assert {str(one) for one in states} == set(machine) == {str(one) for one in printed}


@pytest.mark.parametrize(("name", "before", "after"), list(pairs()))
def test_a_pair_of_states_is_a_move_exactly_when_the_requirement_names_it(
    name: str, before: str, after: str
) -> None:
    # proves: FENCE-8
    expected, move = MACHINES[name]
    record = {"state": before}
    if after in expected[before]:
        record["state"] = move(before, after)
        assert record == {"state": after}
        return
    with pytest.raises(TransitionRefusedError) as refused:
        record["state"] = move(before, after)
    assert record == {"state": before}
    assert (refused.value.facts["state"], refused.value.facts["event"]) == (before, after)


@pytest.mark.parametrize(
    ("move", "name"),
    [
        (lambda: delivery.move_input("m-1", InputState.SETTLED, InputState.QUEUED), "m-1"),
        (lambda: delivery.move_service("a-1", ServiceState.FAILED, ServiceState.RUNNING), "a-1"),
        (lambda: delivery.move_seat("a-2", SeatState.TAKEN, SeatState.RELEASED), "a-2"),
    ],
)
def test_a_refused_move_names_the_record(move: Callable[[], object], name: str) -> None:
    with pytest.raises(TransitionRefusedError, match=f"'{name}' is .* cannot become"):
        move()


def test_the_states_of_an_attempt_that_is_open_are_those_that_can_still_move_by_themselves() -> (
    None
):
    # A seat's uncertain attempt moves on late evidence only: it is shown, and not open.
    assert set(delivery.OPEN_SERVICE) == {one for one, after in SERVICE.items() if after}
    assert set(delivery.OPEN_SEAT) == {one for one, after in SEAT.items() if after} - {"uncertain"}


def test_final_is_what_nothing_follows() -> None:
    assert set(delivery.FINAL) == {one for one, after in INPUT.items() if not after}


def test_only_what_did_not_go_well_may_be_tried_again_under_a_new_id() -> None:
    assert set(delivery.RETRYABLE) == {"uncertain", "failed", "not_sent", "abandoned"}


@pytest.mark.parametrize("state", ServiceState)
def test_a_restart_releases_what_was_reserved_and_cannot_tell_of_what_ran(
    state: ServiceState,
) -> None:
    # proves: FENCE-8
    expected = {"reserved": "released", "running": "uncertain"}
    after = delivery.after_restart(state)
    assert after == expected.get(state)
    assert after is None or after in SERVICE[state]


@pytest.mark.parametrize("state", ServiceState)
@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("again", [False, True])
def test_an_input_follows_its_attempt_on_the_service_lane(
    state: ServiceState, joined: bool, again: bool
) -> None:
    # proves: FENCE-8
    failed = "queued" if again else "failed"
    expected = {
        "reserved": "queued",
        "released": "queued",
        "running": "running",
        "completed": "absorbed" if joined else "settled",
        "failed": failed,
        "stalled": failed,
        "cancelled": "cancelled",
        "uncertain": "uncertain",
    }
    assert delivery.consequence(state, joined=joined, again=again) == expected[state]


@pytest.mark.parametrize("state", SeatState)
@pytest.mark.parametrize("member", [False, True])
@pytest.mark.parametrize("cancelled", [False, True])
def test_an_input_follows_its_attempt_at_a_seat(
    state: SeatState, member: bool, cancelled: bool
) -> None:
    # proves: FENCE-8, SEAT-12
    expected = dict(AT_SEAT)
    if member:
        expected["replied"] = "absorbed"
    if cancelled:
        expected["failed"] = "cancelled"
    assert delivery.seat_consequence(state, member=member, cancelled=cancelled) == expected[state]
    if not cancelled:
        assert delivery.seat_consequence(state, member=member) == expected[state]


@pytest.mark.parametrize("state", SeatState)
def test_a_restart_cannot_tell_of_what_was_on_its_way_to_a_seat_and_leaves_the_rest(
    state: SeatState,
) -> None:
    # proves: FENCE-8, FENCE-4
    after = delivery.seat_after_restart(state)
    assert after == {"attempting": "uncertain"}.get(state)
    assert after is None or after in SEAT[state]


@pytest.mark.parametrize(("before", "after"), list(product(InputState, InputState)))
def test_an_input_follows_by_moves_of_its_table_or_not_at_all(
    before: InputState, after: InputState
) -> None:
    # proves: FENCE-8
    late = before is InputState.UNCERTAIN and after in {"absorbed", "cancelled"}
    if before is after or before is InputState.ABANDONED:
        assert delivery.follow("m-1", before, after) == ()
    elif late:
        assert delivery.follow("m-1", before, after) == ("running", after)
    elif after in INPUT[before]:
        assert delivery.follow("m-1", before, after) == (after,)
    else:
        with pytest.raises(TransitionRefusedError, match="'m-1'"):
            delivery.follow("m-1", before, after)


@pytest.mark.parametrize("member", [False, True])
@pytest.mark.parametrize("cancelled", [False, True])
@pytest.mark.parametrize(("before", "after"), list(product(SeatState, SeatState)))
def test_a_step_at_a_seat_is_a_move_of_the_attempt_with_what_follows_for_its_input(
    before: SeatState, after: SeatState, member: bool, cancelled: bool
) -> None:
    # proves: FENCE-8
    here = delivery.seat_consequence(before, member=member, cancelled=cancelled)
    there = delivery.seat_consequence(after, member=member, cancelled=cancelled)

    def step() -> delivery.SeatStep:
        moved = (before, after)
        return delivery.seat_step("a-1", moved, "m-1", here, member=member, cancelled=cancelled)

    if after not in SEAT[before]:
        with pytest.raises(TransitionRefusedError, match="'a-1'"):
            step()
        return
    taken = step()
    assert taken.attempt is after
    state: str = here
    for one in taken.inputs:
        assert one in INPUT[state]
        state = one
    assert state == there


def test_what_the_owner_closed_stays_closed_whatever_the_seat_shows_later() -> None:
    # proves: FENCE-7
    moved = (SeatState.UNCERTAIN, SeatState.REPLIED)
    step = delivery.seat_step("a-1", moved, "m-1", InputState.ABANDONED)
    assert step == delivery.SeatStep(SeatState.REPLIED, ())


def test_a_step_whose_input_has_ended_otherwise_is_refused() -> None:
    moved = (SeatState.ATTEMPTING, SeatState.TAKEN)
    with pytest.raises(TransitionRefusedError, match="'m-1'"):
        delivery.seat_step("a-1", moved, "m-1", InputState.CANCELLED)


def follow(kind: str, state: str, *, again: bool) -> str:
    if kind == "seat":
        return delivery.seat_consequence(SeatState(state), member=False)
    return delivery.consequence(ServiceState(state), joined=False, again=again)


def steps(kind: str, before: str) -> Iterator[tuple[str, bool]]:
    """Moves of an attempt, as core allows them, each with and without a retry of a wake."""
    rows: Mapping[str, frozenset[str]] = (
        {str(state): frozenset(map(str, after)) for state, after in delivery.SEAT.items()}
        if kind == "seat"
        else {str(state): frozenset(map(str, after)) for state, after in delivery.SERVICE.items()}
    )
    for after in sorted(rows[before]):
        yield after, False
        if kind == "service" and after in {"failed", "stalled"}:
            yield after, True


@pytest.mark.parametrize("kind", ["service", "seat"])
def test_whatever_an_attempt_does_its_input_can_follow(kind: str) -> None:
    # proves: FENCE-8
    for before in SERVICE if kind == "service" else SEAT:
        for after, again in steps(kind, before):
            here, there = (follow(kind, state, again=again) for state in (before, after))
            assert here == there or there in INPUT[here], (before, after, again)


def ways_back(kind: str, start: str) -> set[str]:
    """The moves, from `start` on, after which the input is available to a driver again."""
    seen, waiting, found = {start}, [start], set[str]()
    while waiting:
        before = waiting.pop()
        for after, again in steps(kind, before):
            if follow(kind, after, again=again) == "queued":
                found.add(f"{after} again" if again else after)
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return found


@pytest.mark.parametrize(
    ("kind", "start", "ways"),
    [
        ("service", "reserved", {"released", "failed again", "stalled again"}),
        ("service", "running", {"failed again", "stalled again"}),  # a wake, whose failure is known
        ("service", "uncertain", set()),
        ("seat", "offered", {"released", "refused"}),
        ("seat", "attempting", {"refused"}),
        ("seat", "taken", set()),
        ("seat", "accepted", set()),
        ("seat", "uncertain", set()),
    ],
)
def test_what_a_driver_may_have_seen_goes_back_only_by_a_refusal_or_a_known_failure_of_a_wake(
    kind: str, start: str, ways: set[str]
) -> None:
    # proves: FENCE-5, FENCE-8
    assert ways_back(kind, start) == ways


def test_replaying_the_moves_gives_the_last_state_of_every_record() -> None:
    # proves: FENCE-8
    moves = [
        Transition("m-1", None, "queued"),
        Transition("m-1#1", None, "reserved"),
        Transition("m-1", "queued", "running"),
        Transition("m-2", None, "queued"),
    ]
    assert delivery.replay(moves) == {"m-1": "running", "m-1#1": "reserved", "m-2": "queued"}


@pytest.mark.parametrize(
    "moves",
    [
        [Transition("m-1", "queued", "running")],
        [Transition("m-1", None, "queued"), Transition("m-1", None, "queued")],
        [Transition("m-1", None, "queued"), Transition("m-1", "running", "settled")],
    ],
    ids=["begins in the middle", "begins twice", "leaves one out"],
)
def test_a_record_of_moves_that_contradicts_itself_is_refused(moves: list[Transition]) -> None:
    with pytest.raises(TransitionRefusedError):
        delivery.replay(moves)
