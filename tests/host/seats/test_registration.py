"""From a grant to a seat: who may register, as what, and where it is attached."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from clankie.core.conversation import OPERATOR, Author, Principal
from clankie.core.errors import (
    CommitUnknownError,
    ConversationNotFoundError,
    NotAllowedError,
    ShuttingDownError,
)
from clankie.core.ids import HEAD
from clankie.core.seat import Native
from clankie.core.seat_errors import (
    AttachmentConflictError,
    GrantUnknownError,
    OccupantChangedError,
    SeatNotFoundError,
)
from clankie.core.session import Peer
from clankie.host.seats import grants, registration, roster
from clankie.host.seatstore import Grant, Seat
from clankie.host.tokens import digest
from fakes.bridge import ALL, opened
from fakes.clock import FakeClock
from fakes.hall import Hall, Machine
from fakes.loop import virtual
from fakes.processes import BOOT, UID, FakeProcesses
from fakes.trouble import lose, trouble

STARTED = f"linux:{BOOT}:7"


async def granted(hall: Hall, **facts: Any) -> tuple[Grant, str]:
    whole: dict[str, Any] = {
        "conversation": None,
        "harness": "claude",
        "uid": UID,
        "new": False,
        "expected": grants.UNSET,
    }
    return await grants.issue(hall.house, **{**whole, **facts})


async def registered(hall: Hall, secret: str, **facts: Any) -> tuple[Seat, str]:
    whole: dict[str, Any] = {
        "harness": "claude",
        "native": Native("native-1", 100),
        "pane": None,
        "fleet": "local",
        "capabilities": ALL,
        "peer": Peer(pid=100, uid=UID),
    }
    return await registration.register(hall.house, secret=secret, **{**whole, **facts})


@virtual
async def test_a_grant_becomes_a_seat_that_is_attached_and_holds_a_token(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-1
    async with Machine(tmp_path, clock).on() as hall:
        grant, secret = await granted(hall)
        assert (grant.conversation, grant.expected) == (HEAD, None)
        assert secret not in repr(grant)
        seat, token = await registered(hall, secret)
        assert (seat.conversation, seat.granted) == (HEAD, HEAD)
        assert seat.occupant.native.process_started_at == STARTED
        who = hall.house.tokens.who(token)
        assert who is not None
        assert (who.principal.principal, who.principal.id) == (Principal.SEAT, seat.id)
        with pytest.raises(GrantUnknownError):
            await registered(hall, secret)


@virtual
async def test_a_grant_is_for_minutes_for_one_harness_and_for_one_user(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-1
    async with Machine(tmp_path, clock).on() as hall:
        _, secret = await granted(hall)
        for facts in (
            {"harness": "codex"},
            {"peer": Peer(pid=100, uid=UID + 1)},
        ):
            with pytest.raises(GrantUnknownError):
                await registered(hall, secret, **facts)
        with pytest.raises(GrantUnknownError):
            await registered(hall, "guessed")
        await clock.sleep(300)
        with pytest.raises(GrantUnknownError):
            await registered(hall, secret)
        assert await roster.listed(hall.house) == []


@virtual
async def test_who_registers_is_of_the_family_of_the_process_that_it_names(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-13, BASE-3
    processes = FakeProcesses()
    async with Machine(tmp_path, clock, processes=processes).on() as hall:
        processes.runs(100, parent=50)
        processes.runs(101, parent=100)
        processes.runs(300, parent=60)
        _, secret = await granted(hall)
        with pytest.raises(NotAllowedError):
            await registered(hall, secret, peer=Peer(pid=300, uid=UID))
        with pytest.raises(NotAllowedError):
            await registered(hall, secret, peer=None)
        processes.runs(102, parent=100, uid=UID + 1)
        with pytest.raises(NotAllowedError):
            await registered(hall, secret, native=Native("native-1", 102))
        processes.ends(103)
        with pytest.raises(NotAllowedError):
            await registered(hall, secret, native=Native("native-1", 103))
        with pytest.raises(OccupantChangedError):
            await registered(hall, secret, native=Native("native-1", 100, f"linux:{BOOT}:6"))
        # Its hook is a child of the harness, its launcher an ancestor: both may.
        seat, _ = await registered(
            hall, secret, native=Native("native-1", 100, STARTED), peer=Peer(pid=101, uid=UID)
        )
        _, secret = await granted(hall)
        again, _ = await registered(hall, secret, peer=Peer(pid=50, uid=UID))
        assert again.id == seat.id


@virtual
@pytest.mark.parametrize("proves", [True, False])
async def test_to_descend_from_the_first_process_proves_nothing(
    clock: FakeClock, tmp_path: Path, *, proves: bool
) -> None:
    # proves: SEAT-13
    machine = Machine(tmp_path, clock, processes=FakeProcesses(proves=proves))
    async with machine.on() as hall:
        _, secret = await granted(hall)
        for peer in (Peer(pid=100, uid=UID), None):
            with pytest.raises(NotAllowedError, match="descends from process 1"):
                await registered(hall, secret, native=Native("native-1", 1), peer=peer)
        # In a container the harness may be that one itself.
        seat, _ = await registered(
            hall, secret, native=Native("native-1", 1), peer=Peer(pid=1, uid=UID)
        )
        assert seat.occupant.native.pid == 1


@virtual
async def test_where_nothing_proves_a_process_its_seat_is_unproven_and_says_so(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-13, FENCE-2
    machine = Machine(tmp_path, clock, processes=FakeProcesses(proves=False))
    async with machine.on() as hall:
        _, secret = await granted(hall)
        seat, _ = await registered(hall, secret, native=Native("native-1", 100, STARTED), peer=None)
        assert seat.occupant.native.process_started_at == ""
        (view,) = await roster.listed(hall.house)
        assert not view.proven
        standing = hall.house.seats.standing(HEAD)
        assert standing is not None
        assert not standing.proven


@virtual
async def test_the_same_occupant_again_is_the_same_seat_with_a_new_token(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-1
    async with Machine(tmp_path, clock).on() as hall:
        _, secret = await granted(hall)
        first, old = await registered(hall, secret)
        _, secret = await granted(hall)
        second, new = await registered(hall, secret)
        assert second.id == first.id
        assert hall.house.tokens.who(old) is None
        who = hall.house.tokens.who(new)
        assert who is not None
        assert who.principal.id == first.id
        # Another process in the same pane is another occupant, and another seat.
        _, secret = await granted(hall)
        third, _ = await registered(
            hall, secret, native=Native("native-1", 200), peer=Peer(pid=200, uid=UID)
        )
        assert third.id != first.id
        assert hall.house.desk.chair(first.id).seat.conversation is None


@virtual
async def test_the_head_is_given_away_only_while_no_live_seat_has_it(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-1
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        with pytest.raises(AttachmentConflictError):
            await granted(hall)
        with pytest.raises(AttachmentConflictError):
            await granted(hall, expected=None)
        grant, _ = await granted(hall, expected=seat.seat)
        assert grant.expected == seat.seat
        await clock.sleep(60)
        # One that is not there any more may be replaced.
        grant, secret = await granted(hall)
        assert grant.expected == seat.seat
        other, _ = await registered(
            hall, secret, native=Native("native-2", 200), peer=Peer(pid=200, uid=UID)
        )
        assert other.conversation == HEAD
        assert hall.house.desk.chair(seat.seat).seat.conversation is None


@virtual
async def test_of_two_that_register_at_once_one_wins_and_the_other_is_no_seat(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-1, FENCE-3
    async with Machine(tmp_path, clock).on() as hall:
        secrets = [(await granted(hall))[1] for _ in range(2)]
        tries = [
            hall.house.captain.spawn(
                registered(
                    hall,
                    secret,
                    native=Native(f"native-{n}", 100 + n),
                    peer=Peer(pid=100 + n, uid=UID),
                )
            )
            for n, secret in enumerate(secrets)
        ]
        await clock.sleep(1)
        refused = [one for one in (task.result() for task in tries) if isinstance(one, Exception)]
        assert [type(one) for one in refused] == [AttachmentConflictError]
        (view,) = await roster.listed(hall.house)
        assert view.seat.conversation == HEAD


@virtual
async def test_a_grant_may_be_for_a_fresh_conversation(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SEAT-1
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        grant, secret = await granted(hall, new=True)
        assert grant.conversation != HEAD
        here = await hall.house.store.conversations.get(grant.conversation)
        assert here.name == "claude 2026-11-30 12:00"
        other, _ = await registered(
            hall, secret, native=Native("native-2", 200), peer=Peer(pid=200, uid=UID)
        )
        assert other.conversation == grant.conversation
        assert hall.house.desk.chair(seat.seat).seat.conversation == HEAD
        with pytest.raises(ConversationNotFoundError):
            await granted(hall, conversation="c-none")


@virtual
async def test_a_registration_that_nobody_can_tell_of_is_known_to_the_desk(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-7
    async with Machine(tmp_path, clock).on() as hall:
        _, secret = await granted(hall)
        trouble(hall.house, "seats").plan("register", lose())
        with pytest.raises(CommitUnknownError):
            await registered(hall, secret)
        standing = hall.house.seats.standing(HEAD)
        assert standing is not None
        # Opened again, it is the same seat, under a token that somebody has.
        _, secret = await granted(hall)
        seat, token = await registered(hall, secret)
        assert seat.id == standing.seat
        who = hall.house.tokens.who(token)
        assert who is not None
        assert who.principal.id == seat.id


@virtual
async def test_nothing_is_granted_and_nobody_registers_while_the_service_goes_down(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-1
    async with Machine(tmp_path, clock).on() as hall:
        _, secret = await granted(hall)
        await hall.house.captain.stop()
        with pytest.raises(ShuttingDownError):
            await granted(hall)
        with pytest.raises(ShuttingDownError):
            await registered(hall, secret)


@virtual
async def test_a_retired_seat_opens_nothing_any_more(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SEAT-1, FENCE-6
    async with Machine(tmp_path, clock).on() as hall:
        _, secret = await granted(hall)
        seat, token = await registered(hall, secret)
        bridge = (await opened(hall)).seat  # the same occupant: the same seat
        assert bridge == seat.id
        for other in (Principal.WORKER, Principal.ROOM, Principal.SEAT):
            with pytest.raises(NotAllowedError):
                await roster.retire(hall.house, seat.id, Author(other, "x"))
        await roster.retire(hall.house, seat.id, OPERATOR)
        assert hall.house.tokens.who(token) is None
        assert hall.house.seats.standing(HEAD) is None
        assert await roster.listed(hall.house) == []
        with pytest.raises(SeatNotFoundError):
            await roster.retire(hall.house, seat.id, OPERATOR)
        with pytest.raises(SeatNotFoundError):
            await hall.house.store.seats.get(seat.id)
        assert await hall.house.store.seats.grant(digest(secret)) is None


@virtual
async def test_a_session_that_trades_two_grants_at_once_is_one_seat_with_a_token_that_works(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-1
    async with Machine(tmp_path, clock).on() as hall:
        secrets = [(await granted(hall))[1] for _ in range(2)]
        made = await asyncio.gather(*[registered(hall, one) for one in secrets])
        (seat,) = {one.id for one, _ in made}
        found = [hall.house.tokens.who(token) for _, token in made]
        (alive,) = [one for one in found if one is not None]
        assert alive.principal == Author(Principal.SEAT, seat)
        assert (await hall.house.store.seats.get(seat)).token == alive.id
