"""/v1/wakes: what is set to happen later, and what is held."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Response
from pydantic import Field

from clankie.api.bodies import CONVERSATION, Body
from clankie.api.call import Asked
from clankie.api.replies import Json, done
from clankie.api.routing import router
from clankie.core import ids
from clankie.core.conversation import timestamp
from clankie.core.errors import WakeNotFoundError
from clankie.core.wake import Wake
from clankie.host import wakes

routes = router("wakes")


Where = Annotated[str | None, Query(json_schema_extra=CONVERSATION)]


class ReleaseBody(Body):
    """Where; everywhere when it names nothing."""

    conversation: str | None = Field(default=None, json_schema_extra=CONVERSATION)


@routes.get("/v1/wakes")
async def list_wakes(call: Asked, conversation: Where = None) -> Json:
    """Those that wait by due time, then those that are held or tried again."""
    if conversation is not None:
        ids.conversation_id(conversation)
    found = await wakes.listed(call.house, conversation)
    return Json({"wakes": [_wire(one) for one in found]})


@routes.delete("/v1/wakes/{wake}", status_code=204)
async def remove_wake(call: Asked, wake: str) -> Response:
    """Forget one that waits."""
    await wakes.remove(call.house, wake)
    return done()


@routes.post("/v1/wakes/release")
async def release_wakes(call: Asked, body: ReleaseBody) -> Json:
    """Let the held wakes of a conversation, or all of them, try again."""
    if body.conversation is not None:
        ids.conversation_id(body.conversation)
    return Json({"released": await wakes.release(call.house, body.conversation)})


@routes.post("/v1/wakes/{wake}/release")
async def release_wake(call: Asked, wake: str) -> Json:
    """Let a held wake, and the others held in its conversation, try again."""
    found = next((one for one in await wakes.listed(call.house) if one.id == wake), None)
    if found is None:
        raise WakeNotFoundError(wake)
    return Json({"released": await wakes.release(call.house, found.conversation)})


def _wire(wake: Wake) -> dict[str, Any]:
    wire: dict[str, Any] = {
        "id": wake.id,
        "conversation": wake.conversation,
        "due_at": timestamp(wake.due_at),
        "text": wake.text,
        "depth": wake.depth,
        "created_at": timestamp(wake.created_at),
        "delivery_id": wake.delivery_id,
        "held": wake.held,
    }
    return {name: value for name, value in wire.items() if value is not None}
