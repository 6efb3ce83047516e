"""/v1/seats: opening one, registering, attaching, what a session starts with, and the roster.

Registering asks for no bearer: the grant is the proof, and the kernel says who is at the other end
of the unix socket. Over TCP nobody can say that, so there it is refused.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

from fastapi import Path, Request, Response

from clankie.api import seat_wire
from clankie.api.call import DOOR, Asked
from clankie.api.peers import peer_of
from clankie.api.replies import Json, done
from clankie.api.routing import router
from clankie.api.seat_bodies import AttachBody, GrantBody, RegisterBody, StartBody
from clankie.core.conversation import timestamp
from clankie.host.seats import attachment, grants, registration, roster, session

if TYPE_CHECKING:
    from clankie.api.door import Door

routes = router("seats")

SEAT = "/v1/seats/{seat}"
Named = Annotated[str, Path(min_length=1, max_length=128)]


@routes.post("/v1/seats/grants", status_code=201)
async def make_grant(call: Asked, body: GrantBody) -> Json:
    """Leave to register one seat, once, within minutes. The secret is in this answer only."""
    named = "expected" in body.model_fields_set
    grant, secret = await grants.issue(
        call.house,
        conversation=body.checked().conversation,
        harness=body.harness,
        uid=os.getuid(),
        new=body.new,
        request_id=body.request_id,
        expected=body.expected if named else grants.UNSET,
    )
    made = {
        "grant": secret,
        "conversation": grant.conversation,
        "expires_at": timestamp(grant.expires_at),
    }
    return Json(made, 201)


@routes.post("/v1/seats", status_code=201)
async def register_seat(request: Request, body: RegisterBody) -> Json:
    """Trade a grant for a seat's token, over the unix socket; the seat is attached with it."""
    door: Door = request.scope[DOOR]
    seat, secret = await registration.register(
        door.house,
        secret=body.grant,
        harness=body.harness,
        native=body.native.value(),
        pane=body.pane,
        fleet=body.fleet,
        capabilities=body.capabilities.value(),
        peer=peer_of(request.scope),
    )
    # The same occupant again: its earlier token is dead, and so is what it left open.
    door.streams.sweep(door.house.tokens.alive)
    return Json({"seat": seat.id, "token": secret, "conversation": seat.conversation}, 201)


@routes.get("/v1/seats")
async def list_seats(call: Asked) -> Json:
    """All that are not retired."""
    return Json({"seats": [seat_wire.view(one) for one in await roster.listed(call.house)]})


@routes.delete(SEAT, status_code=204)
async def retire_seat(call: Asked, seat: Named) -> Response:
    """Detach it and revoke its token: it opens nothing any more."""
    await roster.retire(call.house, seat, call.author)
    call.door.streams.sweep(call.house.tokens.alive)
    return done()


@routes.put(f"{SEAT}/attachment")
async def attach_seat(call: Asked, seat: Named, body: AttachBody) -> Json:
    """200: it drives there now. 202: it will when the run that goes on there has ended."""
    call.sits(seat)
    made = await attachment.attach(call.house, seat, body.conversation, body.expected, call.author)
    state = "waiting_for_run" if made.running else "bound"
    wire = {"seat": seat, "conversation": made.seat.conversation, "state": state}
    return Json(wire, 202 if made.running else 200)


@routes.delete(f"{SEAT}/attachment")
async def detach_seat(call: Asked, seat: Named) -> Json:
    """Let it go: what it was not given follows the conversation's next driver."""
    call.sits(seat)
    left = await attachment.detach(call.house, seat, call.author, "detached")
    return Json({"seat": seat, "conversation": left.conversation, "state": "unattached"})


@routes.post(f"{SEAT}/session-start")
async def start_session(call: Asked, seat: Named, body: StartBody) -> Json:
    """The context of a session that begins, or the word that it has been written out."""
    call.sits(seat)
    projection = body.checked().projection_id
    if projection is not None:
        await session.confirm(call.house, seat, projection)
        return Json({"confirmed": True})
    begun = await session.start(
        call.house,
        seat,
        session_id=body.session_id,
        source=body.source,
        sections=tuple(dict.fromkeys(body.sections)),
    )
    return Json({"text": begun.text, "projection_id": begun.projection_id})
