"""A grant becomes a seat: one native session, in one process that the kernel vouches for.

Rule 1: whoever asks must be of the grant's own user, and of the family of the process it names.
Rule 2: what cannot be proven here is not refused for that: the seat is unproven and says so.
Rule 3: everything descends from the first process, so to be of its family proves nothing: it is a
        harness only where it asks itself. Who names it mostly lost its own parent.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from clankie.core.conversation import Author, Principal
from clankie.core.errors import NotAllowedError, ShuttingDownError
from clankie.core.seat import Occupant
from clankie.core.seat_errors import GrantUnknownError, OccupantChangedError
from clankie.core.session import Peer, check_grant, related
from clankie.host import journal
from clankie.host.bearer import Token
from clankie.host.seats.attachment import handover
from clankie.host.seats.desk import fenced
from clankie.host.seatstore import Seat
from clankie.host.tokens import digest
from clankie.host.waiting import to_the_end

if TYPE_CHECKING:
    from clankie.core.seat import Capabilities, Native
    from clankie.host.house import House
    from clankie.host.ports import Processes
    from clankie.host.seatstore import Grant


FIRST: Final = 1
"""The process that the kernel starts, and that orphans fall to."""


async def register(  # noqa: PLR0913 - what a harness says of itself, field by field
    house: House,
    *,
    secret: str,
    harness: str,
    native: Native,
    pane: str | None,
    fleet: str,
    capabilities: Capabilities,
    peer: Peer | None,
) -> tuple[Seat, str]:
    """The seat, attached to the grant's conversation, and its token's secret.

    The same occupant again is the same seat: its earlier token is dead.

    Raises:
        GrantUnknownError: it was used, is too old, or is for another harness or user.
        NotAllowedError: who asks is not of the family of the process that it names.
        OccupantChangedError: another process has that number now.
        AttachmentConflictError: another seat was attached meanwhile; no seat was made.
    """
    if house.stopping:
        raise ShuttingDownError
    grant = await house.store.seats.grant(digest(secret))
    if grant is None:
        raise GrantUnknownError
    now = house.clock.now()
    check_grant(
        harness=grant.harness,
        uid=grant.uid,
        expires_at=grant.expires_at,
        offered=harness,
        peer=peer,
        now=now,
    )
    native = proven(house.processes, native, peer)
    occupant = Occupant(fleet=fleet, pane=pane, harness=harness, native=native)
    return await to_the_end(_one_by_one(house, grant, occupant, capabilities))


def proven(processes: Processes, native: Native, peer: Peer | None) -> Native:
    """The native session with what is proven of its process: without a proof it names no start.

    Raises:
        NotAllowedError, OccupantChangedError.
    """
    if native.pid <= FIRST and (peer is None or peer.pid != native.pid):
        raise NotAllowedError(
            f"Every process descends from process {native.pid}, so nobody can tell that it is the "
            "harness. If it has ended, open the seat again; in a container run it under an init."
        )
    if not processes.proves:
        return replace(native, process_started_at="")
    if peer is None:
        raise NotAllowedError("Nobody can say which process asks; use the service's unix socket.")
    started = processes.started_at(native.pid)
    if started is None or processes.uid(native.pid) != peer.uid:
        raise NotAllowedError(f"There is no process {native.pid} of this user.")
    if native.process_started_at not in {"", started}:
        raise OccupantChangedError(str(native.pid))
    parents = {**_line(processes, peer.pid), **_line(processes, native.pid)}
    if not related(peer.pid, native.pid, parents):
        raise NotAllowedError(
            f"The process that asks is neither above nor below the harness {native.pid}."
        )
    return replace(native, process_started_at=started)


def _line(processes: Processes, pid: int) -> dict[int, int]:
    return dict(pairwise([pid, *processes.ancestors(pid)]))


async def _one_by_one(
    house: House, grant: Grant, occupant: Occupant, capabilities: Capabilities
) -> tuple[Seat, str]:
    """With two grants at once a session is one seat, whose name is known before its token is."""
    async with fenced(house.desk, occupant.id):
        return await _register(house, grant, occupant, capabilities)


async def _register(
    house: House, grant: Grant, occupant: Occupant, capabilities: Capabilities
) -> tuple[Seat, str]:
    known = [one.seat for one in house.desk.all() if one.seat.occupant.id == occupant.id]
    name = known[0].id if known else house.ids.new("s")
    left = known[0].conversation if known else None
    now, secret = house.clock.now(), house.ids.secret()
    token = Token(
        id=house.ids.new("t"),
        principal=Author(Principal.SEAT, name),
        label=f"seat {occupant.harness}",
        created_at=now,
    )
    seat = Seat(
        id=name,
        harness=occupant.harness,
        occupant=occupant,
        capabilities=capabilities,
        registered_at=now,
        granted=grant.conversation,
        token=token.id,
    )
    async with handover(house, name, grant.conversation, left):
        made, dead = await house.store.seats.register(grant, seat, token, digest(secret))
        if dead is not None:
            house.tokens.drop(dead)
        house.tokens.add(token, digest(secret))
    journal.note("seat registered", seat=made.id, conversation=made.conversation)
    return made, secret
