"""What a seat is given: the page rule, its order, its events, its bounds."""

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clankie.core import mailbox
from clankie.core.admission import Mode, Origin, Reach
from clankie.core.conversation import Author, Kind, Principal
from clankie.core.delivery import SeatState
from clankie.core.mailbox import Batch, Policy, Waiting, page
from clankie.core.settings import SeatLimits

LIMITS = SeatLimits()
ANNA = Author(Principal.ROOM, "discord:anna")
OWN = [Policy.HEAD, Policy.LEAD, Policy.ROOM]
"""Outboxes of a conversation; a worker's seat is addressed itself."""


def one(
    n: int,
    origin: Origin = Origin.OWNER,
    text: str = "Water the beans.",
    channel: str | None = None,
    *,
    mode: Mode = Mode.AUTO,
    reach: Reach = Reach.CONVERSATION,
) -> Waiting:
    return Waiting(
        delivery=f"m-{n}",
        origin=origin,
        arrived=n,
        text=text,
        channel=channel,
        mode=mode,
        reach=reach,
    )


def said(n: int, channel: str = "discord-main", text: str = "Hello?") -> Waiting:
    return one(n, Origin.ESCALATION, text, channel)


def queued(n: int) -> Waiting:
    return one(n, mode=Mode.QUEUE, reach=Reach.HELD_QUEUE)


def given_out(
    waiting: Sequence[Waiting], policy: Policy = Policy.HEAD, *, responding: bool = False
) -> tuple[Batch, ...]:
    return page(waiting, policy, LIMITS, responding=responding)


def ids(batches: Sequence[Batch]) -> list[str]:
    return [batch.id for batch in batches]


def test_the_head_alone_is_held_and_a_worker_alone_reserves() -> None:
    # proves: SEAT-5
    assert [one for one in Policy if one.holds] == ["head"]
    assert [one for one in Policy if one.reserves] == ["worker"]


def test_the_policy_follows_from_the_conversation() -> None:
    assert mailbox.policy_of("global-default", Kind.GLOBAL) is Policy.HEAD
    assert mailbox.policy_of("c-2", Kind.GLOBAL) is Policy.LEAD
    assert mailbox.policy_of("c-3", Kind.LEAD) is Policy.LEAD
    assert mailbox.policy_of("c-4", Kind.ROOM) is Policy.ROOM


KINDS = {
    "owner": ("turn", "owner", False),
    "escalation": ("escalation", "escalation", True),
    "room": ("message", "room", True),
    "report": ("message", "worker-report", False),
    "watch": ("watch", "watch", False),
    "wake": ("wake", "wake", False),
    "linear": ("wake", "linear", False),
    "round": ("wake", "round", False),
    "internal": ("wake", "internal", False),
    "goal": ("wake", "goal", False),
}


@pytest.mark.parametrize("origin", Origin)
def test_an_input_reaches_a_seat_as_its_kind_of_event(origin: Origin) -> None:
    # proves: SEAT-9
    (event,) = given_out([one(1, origin)])
    assert (event.kind, event.source, event.reply) == KINDS[origin]
    assert event.members == ()
    assert event.cursor == 1


def test_a_source_of_its_own_and_a_channel_name_an_event() -> None:
    assert given_out([said(1, "discord-garden")])[0].source == "discord-garden"
    named = Waiting(delivery="m-1", origin=Origin.OWNER, arrived=1, text="Hi.", source="console")
    assert given_out([named])[0].source == "console"


def test_owner_turns_and_escalations_come_first_each_by_arrival() -> None:
    # proves: SEAT-10
    waiting = [
        one(1, Origin.REPORT),
        one(2, Origin.WAKE),
        said(3),
        one(4, Origin.WATCH),
        one(5, Origin.OWNER),
        one(6, Origin.ROUND),
        said(7, "another-channel"),
    ]
    expected = ["m-3", "m-5", "m-7", "m-1", "m-2", "m-4", "m-6"]
    assert ids(given_out(waiting)) == expected
    assert ids(given_out(waiting[::-1])) == expected


@pytest.mark.parametrize("responding", [False, True])
def test_a_held_queue_is_withheld_while_the_native_turn_runs(responding: bool) -> None:
    # proves: SEAT-8
    waiting = [queued(1), one(2, Origin.REPORT), one(3)]
    expected = ["m-3", "m-2"] if responding else ["m-1", "m-3", "m-2"]
    assert ids(given_out(waiting, responding=responding)) == expected


STEERS = {("auto", "turn"), ("auto", "escalation"), ("steer", "turn"), ("steer", "escalation")}


@pytest.mark.parametrize(("mode", "origin"), list(product(Mode, Origin)))
def test_what_the_owner_says_steers_a_running_turn(mode: Mode, origin: Origin) -> None:
    # proves: SEAT-11
    (busy,) = given_out([one(1, origin, mode=mode)], responding=True)
    (idle,) = given_out([one(1, origin, mode=mode)])
    assert busy.steer == ((mode, busy.kind) in STEERS or mode is Mode.STEER)
    assert not idle.steer


def test_a_queue_that_outlived_its_turn_does_not_steer() -> None:
    steering = one(1, mode=Mode.STEER, reach=Reach.HELD_QUEUE)
    assert given_out([steering], responding=True) == ()
    assert not given_out([steering])[0].steer


def test_escalations_of_one_channel_that_wait_together_are_one_event() -> None:
    # proves: SEAT-12
    waiting = [said(1, text="First."), one(2), said(3, text="Second."), said(4, text="Third.")]
    batch, own = given_out(waiting)
    assert (batch.id, batch.members, batch.cursor) == ("m-4", ("m-1", "m-3"), 4)
    assert [piece.text for piece in batch.pieces] == ["First.", "Second.", "Third."]
    assert batch.text == "First.\n\nSecond.\n\nThird."
    assert (own.id, own.members) == ("m-2", ())


def test_each_message_of_a_batch_keeps_its_author_and_its_place() -> None:
    # proves: SEAT-12
    asked = Waiting(
        delivery="m-1",
        origin=Origin.ESCALATION,
        arrived=8,
        text="Hello?",
        author=ANNA,
        name="Anna",
        channel="discord-main",
    )
    (batch,) = given_out([asked, said(9)])
    first = batch.pieces[0]
    assert (first.delivery, first.author, first.name, first.source, first.cursor) == (
        "m-1",
        ANNA,
        "Anna",
        "discord-main",
        8,
    )


@pytest.mark.parametrize(
    "waiting",
    [
        [said(1, "garden"), said(2, "kitchen")],
        [one(1, Origin.ESCALATION), one(2, Origin.ESCALATION)],
        [one(1, Origin.ROOM, channel="garden"), one(2, Origin.ROOM, channel="garden")],
        [one(1, channel="garden"), one(2, channel="garden")],
    ],
    ids=["other channels", "no channel", "a room", "the owner's turns"],
)
def test_nothing_else_is_put_together(waiting: Sequence[Waiting]) -> None:
    # proves: SEAT-12
    assert ids(given_out(waiting)) == ["m-1", "m-2"]


def test_a_batch_holds_whole_messages_and_what_does_not_fit_waits() -> None:
    # proves: SEAT-12
    waiting = [said(1, text="a" * 6_000), said(2, text="b" * 6_000), said(3, text="c" * 6_000)]
    waiting.append(said(4, text="short"))
    (batch,) = given_out(waiting)
    assert (batch.id, batch.members) == ("m-2", ("m-1",))
    assert not any(piece.omitted for piece in batch.pieces)
    (rest,) = given_out(waiting[2:])
    assert (rest.id, rest.members) == ("m-4", ("m-3",))


def test_a_message_too_long_for_an_event_goes_alone_and_is_cut() -> None:
    long = said(1, text="a" * 20_000)
    (batch,) = given_out([long, said(2)])
    assert (batch.id, batch.members) == ("m-1", ())
    (piece,) = batch.pieces
    assert (len(piece.text), piece.omitted) == (15_000, 5_000)


def test_a_long_text_carries_its_first_15000_characters_and_names_the_cursor_for_the_rest() -> None:
    assert mailbox.excerpt("a" * 16_384, 16_384) == ("a" * 16_384, 0)
    assert mailbox.excerpt("a" * 16_385, 16_384) == ("a" * 15_000, 1_385)
    (batch,) = given_out([one(7, text="b" * 16_385)])
    note = batch.pieces[0].note
    assert note == "[1385 more characters: read_conversation shows the whole message at cursor 7]"
    assert batch.text == "b" * 15_000 + "\n\n" + note
    assert given_out([one(7)])[0].pieces[0].note is None


def test_a_page_holds_64_events_at_most() -> None:
    waiting = [one(n) for n in range(100)]
    assert ids(given_out(waiting)) == [f"m-{n}" for n in range(64)]


def test_a_page_ends_before_the_event_that_would_make_it_too_large() -> None:
    waiting = [one(n, text="\n" * 16_000) for n in range(20)]
    waiting.append(one(20, text="short"))
    batches = given_out(waiting)
    assert ids(batches) == [f"m-{n}" for n in range(7)]
    assert sum(map(mailbox.size, batches)) <= 262_144


def test_a_page_is_never_empty_because_of_one_large_event() -> None:
    small = SeatLimits(page_bytes=16_384)
    waiting = [one(1, text="\u00e4" * 16_000), one(2)]
    assert ids(page(waiting, Policy.HEAD, small, responding=False)) == ["m-1"]


def test_a_workers_seat_is_given_one_event_and_nothing_while_one_is_unresolved() -> None:
    # proves: FENCE-10
    waiting = [one(1, reach=Reach.OCCUPANT), one(2, reach=Reach.OCCUPANT)]
    assert ids(given_out(waiting, Policy.WORKER)) == ["m-1"]
    kept = page(waiting, Policy.WORKER, LIMITS, responding=False, unresolved={"m-0"})
    assert kept == ()


@pytest.mark.parametrize("policy", OWN)
def test_an_outbox_goes_on_beside_what_is_unresolved(policy: Policy) -> None:
    # proves: FENCE-10
    batches = page([one(1), one(2)], policy, LIMITS, responding=False, unresolved={"m-0"})
    assert ids(batches) == ["m-1", "m-2"]


@pytest.mark.parametrize("state", SeatState)
def test_time_alone_ends_what_is_unacknowledged_and_what_is_unanswered(state: SeatState) -> None:
    # proves: FENCE-11
    due = mailbox.deadline(state, LIMITS, attempted_at=100.0, acknowledged_at=130.0)
    expected = {
        "attempting": (160.0, "uncertain"),
        "taken": (730.0, "delivered"),
        "accepted": (730.0, "delivered"),
    }
    assert due == expected.get(state)


@pytest.mark.parametrize("state", SeatState)
def test_what_only_the_queue_of_a_harness_had_that_is_gone_is_not_known(state: SeatState) -> None:
    # proves: FENCE-7
    due = mailbox.deadline(state, LIMITS, attempted_at=0.0, acknowledged_at=0.0, gone=True)
    expected = {
        "attempting": (60.0, "uncertain"),
        "taken": (600.0, "uncertain"),
        "accepted": (600.0, "delivered"),
    }
    assert due == expected.get(state)


def test_what_was_accepted_without_an_acknowledgement_counts_from_its_handing_over() -> None:
    due = mailbox.deadline(SeatState.ACCEPTED, LIMITS, attempted_at=100.0, acknowledged_at=None)
    assert due == (700.0, "delivered")


def test_a_native_turn_that_shows_signs_of_life_is_not_cut_short() -> None:
    # proves: FENCE-11
    def at(alive: float) -> float:
        due = mailbox.deadline(
            SeatState.TAKEN, LIMITS, attempted_at=0.0, acknowledged_at=0.0, alive_at=alive
        )
        assert due is not None
        return due.at

    assert at(10.0) == 910.0
    assert at(-800.0) == 600.0


ANY = st.lists(
    st.builds(
        one,
        st.just(0),
        st.sampled_from(Origin),
        st.one_of(
            st.text(max_size=40),
            st.integers(0, 9_000).map("x".__mul__),
            st.just("\u00e4\n" * 9_000),
        ),
        st.sampled_from([None, "garden", "kitchen"]),
        mode=st.sampled_from(Mode),
        reach=st.sampled_from(Reach),
    ),
    max_size=90,
)


def numbered(waiting: Sequence[Waiting]) -> list[Waiting]:
    return [
        one(n, it.origin, it.text, it.channel, mode=it.mode, reach=it.reach)
        for n, it in enumerate(waiting)
    ]


def first(one: Waiting) -> bool:
    return one.origin in {Origin.OWNER, Origin.ESCALATION}


@given(ANY, st.sampled_from(Policy), st.booleans())
def test_every_page_keeps_order_and_bounds_and_gives_each_input_once(
    drawn: Sequence[Waiting], policy: Policy, responding: bool
) -> None:
    # proves: SEAT-10, SEAT-12
    waiting = numbered(drawn)
    by_id = {it.delivery: it for it in waiting}
    batches = page(waiting, policy, LIMITS, responding=responding)
    given_ids = [piece.delivery for batch in batches for piece in batch.pieces]
    assert len(given_ids) == len(set(given_ids))
    assert len(batches) <= (1 if policy is Policy.WORKER else 64)
    assert len(batches) <= 1 or sum(map(mailbox.size, batches)) <= LIMITS.page_bytes
    oldest = [by_id[batch.pieces[0].delivery] for batch in batches]
    assert [(not first(it), it.arrived) for it in oldest] == sorted(
        (not first(it), it.arrived) for it in oldest
    )
    for batch in batches:
        members = [by_id[piece.delivery] for piece in batch.pieces]
        assert [it.arrived for it in members] == sorted(it.arrived for it in members)
        assert batch.id == members[-1].delivery
        if len(members) > 1:
            assert {(it.origin, it.channel) for it in members} == {
                (Origin.ESCALATION, members[0].channel)
            }
            assert members[0].channel is not None
            assert sum(len(piece.text) for piece in batch.pieces) <= LIMITS.content
        held = any(it.reach is Reach.HELD_QUEUE for it in members)
        assert not (responding and held)


@given(ANY, st.sampled_from(OWN))
def test_page_after_page_everything_is_given_once_and_a_channel_in_its_order(
    drawn: Sequence[Waiting], policy: Policy
) -> None:
    # proves: SEAT-12
    waiting = numbered(drawn)
    taken: list[str] = []
    for _ in range(len(waiting) + 1):
        left = [it for it in waiting if it.delivery not in taken]
        batches = page(left, policy, LIMITS, responding=False)
        assert bool(batches) == bool(left)
        taken += [piece.delivery for batch in batches for piece in batch.pieces]
    assert sorted(taken) == sorted(it.delivery for it in waiting)
    for channel in ("garden", "kitchen"):
        asked = [
            it.delivery
            for it in waiting
            if it.origin is Origin.ESCALATION and it.channel == channel
        ]
        assert [it for it in taken if it in asked] == asked
