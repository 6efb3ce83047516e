"""Which driver takes an input: every origin, every address, every standing of a seat."""

from collections.abc import Iterator, Sequence
from itertools import product

import pytest

from clankie.core.admission import Origin, Reach
from clankie.core.driver import (
    Addressed,
    Destination,
    Fence,
    Presence,
    Refuse,
    Standing,
    ToSeat,
    ToService,
    Wait,
    never_on_service,
    never_to_seat,
    select,
)
from clankie.core.seat import EventKind

SEAT, OCCUPANT, OTHER = "seat-1", "claude/4711", "claude/4712"
HERE = ToSeat(SEAT, OCCUPANT)


def standings() -> Iterator[Standing | None]:
    yield None
    for presence, proven, remote in product(Presence, (True, False), (True, False)):
        yield Standing(
            seat=SEAT, occupant=OCCUPANT, presence=presence, proven=proven, remote=remote
        )


def addresses() -> Iterator[Addressed]:
    for origin in Origin:
        yield Addressed(origin=origin)
        for reach, occupant in product(set(Reach) - {Reach.CONVERSATION}, (OCCUPANT, OTHER, None)):
            yield Addressed(origin=origin, reach=reach, occupant=occupant)


def worlds() -> list[tuple[Addressed, Standing | None]]:
    return list(product(addresses(), standings()))


def prompts(
    kind: type[Destination], among: Sequence[tuple[Addressed, Standing | None]]
) -> list[tuple[Addressed, Standing | None]]:
    """The worlds in which a driver of this kind would be given the input."""
    return [world for world in among if isinstance(select(*world), kind)]


def expected(addressed: Addressed, seat: Standing | None) -> tuple[bool, bool]:
    """Whether the seat, and whether the service lane, may have it: FENCE-2 as two sentences."""
    past = addressed.reach is not Reach.CONVERSATION
    at_seat = (
        seat is not None
        and seat.presence is not Presence.ABSENT
        and addressed.origin is not Origin.GOAL
        and (seat.proven or addressed.origin is not Origin.ROOM)
        and (not past or seat.occupant == addressed.occupant)
    )
    never = past or addressed.origin is Origin.LINEAR or (seat is not None and seat.remote)
    return at_seat, not never and not at_seat


@pytest.mark.parametrize("origin", Origin)
def test_every_input_has_exactly_one_destination_the_live_seat_else_the_service_lane(
    origin: Origin,
) -> None:
    # proves: FENCE-2
    mine = [world for world in worlds() if world[0].origin is origin]
    assert len(mine) == (1 + 9) * (1 + 12)
    for addressed, seat in mine:
        destination = select(addressed, seat)
        at_seat, on_service = expected(addressed, seat)
        assert (destination == HERE) == at_seat, (addressed, seat, destination)
        assert isinstance(destination, ToService) == on_service, (addressed, seat, destination)
        assert at_seat or on_service or isinstance(destination, Wait | Refuse)


def test_signed_linear_activity_never_prompts_the_service_lane() -> None:
    # proves: FENCE-2
    linear = [world for world in worlds() if world[0].origin is Origin.LINEAR]
    assert len(linear) == 130
    assert prompts(ToService, linear) == []
    assert select(Addressed(origin=Origin.LINEAR), None) == Wait("no_receiver")


@pytest.mark.parametrize("reach", [Reach.NATIVE_PARENT, Reach.OCCUPANT, Reach.HELD_QUEUE], ids=str)
def test_what_is_addressed_past_the_conversation_never_prompts_the_service_lane(
    reach: Reach,
) -> None:
    # proves: FENCE-2
    past = [world for world in worlds() if world[0].reach is reach]
    assert len(past) == 10 * 3 * 13
    assert prompts(ToService, past) == []


def test_a_remote_lead_seat_never_falls_back_to_the_service_lane() -> None:
    # proves: FENCE-2
    remote = [(addressed, seat) for addressed, seat in worlds() if seat is not None and seat.remote]
    assert len(remote) == 100 * 6
    assert prompts(ToService, remote) == []
    gone = Standing(seat=SEAT, occupant=OCCUPANT, presence=Presence.ABSENT, remote=True)
    assert select(Addressed(origin=Origin.OWNER), gone) == Refuse("remote_lead_unavailable")


def test_a_goal_never_prompts_a_seat_whoever_it_is_addressed_to() -> None:
    # proves: FENCE-2
    goals = [world for world in worlds() if world[0].origin is Origin.GOAL]
    assert len(goals) == 130
    assert prompts(ToSeat, goals) == []


def test_a_goal_addressed_to_a_seat_is_refused_rather_than_kept_for_ever() -> None:
    goal = Addressed(origin=Origin.GOAL, reach=Reach.OCCUPANT, occupant=OCCUPANT)
    assert {type(select(goal, seat)) for seat in standings()} == {Refuse}


def test_a_room_message_never_prompts_a_seat_that_is_not_proven() -> None:
    # proves: FENCE-2
    unproven = [
        (addressed, seat)
        for addressed, seat in worlds()
        if addressed.origin is Origin.ROOM and seat is not None and not seat.proven
    ]
    assert len(unproven) == 10 * 6
    assert prompts(ToSeat, unproven) == []
    seat = Standing(seat=SEAT, occupant=OCCUPANT, presence=Presence.LIVE, proven=False)
    assert select(Addressed(origin=Origin.ROOM), seat) == ToService()


@pytest.mark.parametrize(
    ("seat", "answer"),
    [
        (None, Wait("recipient_absent")),
        (
            Standing(seat=SEAT, occupant=OCCUPANT, presence=Presence.ABSENT),
            Wait("recipient_absent"),
        ),
        (Standing(seat=SEAT, occupant=OTHER, presence=Presence.LIVE), Wait("recipient_changed")),
        (Standing(seat=SEAT, occupant=OCCUPANT, presence=Presence.LIVE), HERE),
        (Standing(seat=SEAT, occupant=OCCUPANT, presence=Presence.HOLDING), HERE),
    ],
)
def test_what_is_addressed_to_one_occupant_waits_for_that_one(
    seat: Standing | None, answer: Destination
) -> None:
    # proves: FENCE-2
    mine = Addressed(origin=Origin.REPORT, reach=Reach.OCCUPANT, occupant=OCCUPANT)
    assert select(mine, seat) == answer


def test_a_room_message_for_an_occupant_waits_until_that_seat_is_proven() -> None:
    mine = Addressed(origin=Origin.ROOM, reach=Reach.OCCUPANT, occupant=OCCUPANT)
    seat = Standing(seat=SEAT, occupant=OCCUPANT, presence=Presence.LIVE, proven=False)
    assert select(mine, seat) == Wait("recipient_unproven")


@pytest.mark.parametrize("origin", Origin)
def test_what_an_occupant_refused_goes_on_as_if_no_seat_were_there(origin: Origin) -> None:
    # proves: FENCE-5
    live = Standing(seat=SEAT, occupant=OCCUPANT, presence=Presence.LIVE)
    answer = select(Addressed(origin=origin, refused=True), live)
    # What no other may run is offered again at the next poll of the seat.
    assert answer == (HERE if origin is Origin.LINEAR else ToService())


def test_what_a_remote_seat_refused_is_not_run_here() -> None:
    remote = Standing(seat=SEAT, occupant=OCCUPANT, presence=Presence.LIVE, remote=True)
    refused = Addressed(origin=Origin.OWNER, refused=True)
    assert select(refused, remote) == Refuse("remote_lead_unavailable")


@pytest.mark.parametrize(
    ("reach", "answer"),
    [
        (Reach.OCCUPANT, Wait("recipient_refused")),
        (Reach.NATIVE_PARENT, Wait("recipient_refused")),
        (Reach.HELD_QUEUE, Refuse("refused_by_seat")),
    ],
)
def test_what_its_only_recipient_refused_is_never_given_to_another(
    reach: Reach, answer: Destination
) -> None:
    # proves: FENCE-2, SEAT-8
    live = Standing(seat=SEAT, occupant=OCCUPANT, presence=Presence.LIVE)
    mine = Addressed(origin=Origin.OWNER, reach=reach, occupant=OCCUPANT, refused=True)
    assert select(mine, live) == answer


@pytest.mark.parametrize("origin", sorted(set(Origin) - {Origin.GOAL}))
def test_a_seat_is_given_only_the_kinds_of_event_that_its_adapter_can_hand_over(
    origin: Origin,
) -> None:
    # proves: FENCE-5
    kinds = frozenset({EventKind.TURN, EventKind.ESCALATION})
    live = Standing(seat=SEAT, occupant=OCCUPANT, presence=Presence.LIVE, kinds=kinds)
    able = origin in {Origin.OWNER, Origin.ESCALATION}
    elsewhere = Wait("no_receiver") if origin is Origin.LINEAR else ToService()
    assert select(Addressed(origin=origin), live) == (HERE if able else elsewhere)
    mine = Addressed(origin=origin, reach=Reach.OCCUPANT, occupant=OCCUPANT)
    assert select(mine, live) == (HERE if able else Wait("recipient_unable"))


def test_the_choice_is_made_afresh_each_time_it_is_asked() -> None:
    # proves: FENCE-5, FENCE-6
    owner = Addressed(origin=Origin.OWNER)
    live = Standing(seat=SEAT, occupant=OCCUPANT, presence=Presence.LIVE)
    another = Standing(seat="seat-2", occupant=OTHER, presence=Presence.LIVE)
    answers = [select(owner, seat) for seat in (live, None, another, live)]
    assert answers == [HERE, ToService(), ToSeat("seat-2", OTHER), HERE]


def test_the_exceptions_are_a_closed_list() -> None:
    assert [origin for origin in Origin if never_to_seat(origin)] == [Origin.GOAL]
    never = {(one.origin, one.reach) for one in addresses() if never_on_service(one)}
    past = set(product(Origin, set(Reach) - {Reach.CONVERSATION}))
    assert never == past | {(Origin.LINEAR, Reach.CONVERSATION)}


def test_a_fence_of_another_boot_or_an_older_token_is_another_fence() -> None:
    assert Fence("node-1", 2) == Fence("node-1", 2)
    assert len({Fence("node-1", 1), Fence("node-1", 2), Fence("node-2", 2)}) == 3
