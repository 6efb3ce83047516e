"""/v1/conversations: the list, and one conversation with what may be done to it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import Field
from starlette.responses import PlainTextResponse

from clankie.api import seat_wire
from clankie.api.bodies import DELIVERY, Body, Revision
from clankie.api.call import Asked, Here
from clankie.api.replies import Json
from clankie.api.routing import router
from clankie.core import ids
from clankie.core.conversation import Kind, body_to_wire, kind_name
from clankie.core.projection import Entry
from clankie.host import cancel as cancelling
from clankie.host import conversations, selfstate
from clankie.host.shown import as_text

routes = router("conversations")

_SECTION = f"({'|'.join(selfstate.SECTIONS)})"
_SECTIONS = {"pattern": f"^{_SECTION}(,{_SECTION})*$"}
_MODEL = r"^(practice|[a-z][a-z0-9-]*:[^\s:][^\s]*)$"
_HERE = "/v1/conversations/{conversation}"


class NewConversationBody(Body):
    """A conversation to make; the same request id makes it once."""

    request_id: str = Field(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9._:-]+$")
    name: str = Field(min_length=1, max_length=80)
    kind: Literal["global", "workspace"]
    directory: str | None = Field(
        default=None, max_length=4_096, json_schema_extra={"pattern": "^/"}
    )


class ChangeBody(Body):
    """Another name for it, or another model that answers in it; null: the one of the settings."""

    name: str | None = Field(default=None, min_length=1, max_length=80)
    model: str | None = Field(
        default=None, min_length=3, max_length=200, json_schema_extra={"pattern": _MODEL}
    )
    expected_revision: Revision


class ResetBody(Body):
    """The revision at which to begin afresh."""

    expected_revision: Revision


class CancelBody(Body):
    """Which delivery to cancel; without one, whatever runs."""

    delivery_id: str | None = Field(default=None, json_schema_extra=DELIVERY)


@routes.get("/v1/conversations")
async def list_conversations(
    call: Asked, state: Annotated[Literal["open", "closed", "all"], Query()] = "open"
) -> Json:
    """All conversations of that state, in order of creation."""
    found = await call.house.store.conversations.list()
    wanted = [one for one in found if state == "all" or one.closed is (state == "closed")]
    return Json({"conversations": [seat_wire.conversation(call.house, one) for one in wanted]})


@routes.post("/v1/conversations", status_code=201)
async def create_conversation(call: Asked, body: NewConversationBody) -> Json:
    """201: it was made now. 200: this request id made it before."""
    made, fresh = await conversations.create(
        call.house,
        request_id=body.request_id,
        name=body.name,
        kind=Kind(body.kind),
        directory=body.directory,
        by=call.author,
    )
    return Json(seat_wire.conversation(call.house, made), 201 if fresh else 200)


@routes.get(_HERE)
async def read_conversation(call: Asked, conversation: Here) -> Json:
    """How it stands."""
    found = await call.house.store.conversations.get(call.sees(conversation))
    return Json(seat_wire.conversation(call.house, found))


@routes.patch(_HERE)
async def change_conversation(call: Asked, conversation: Here, body: ChangeBody) -> Json:
    """Give it another name, or let another model answer in it."""
    house, revision, after = call.house, body.expected_revision, None
    if body.name is not None:
        after = await conversations.rename(house, conversation, body.name, revision)
        revision = after.revision
    if "model" in body.model_fields_set:
        after = await conversations.set_model(house, conversation, body.model, revision)
    after = after or await house.store.conversations.get(conversation)
    return Json(seat_wire.conversation(house, after))


@routes.delete(_HERE)
async def close_conversation(call: Asked, conversation: Here) -> Json:
    """Close it: what waits is not sent, the log stays readable."""
    after = await conversations.close(call.house, conversation, call.author)
    return Json(seat_wire.conversation(call.house, after))


@routes.post(f"{_HERE}/purge")
async def purge_conversation(call: Asked, conversation: Here) -> Json:
    """Remove the content of a closed conversation for good; ids and fingerprints stay."""
    try:
        after = await conversations.purge(call.house, conversation)
    finally:
        call.door.rendered.forget(conversation)
    return Json(seat_wire.conversation(call.house, after))


@routes.post(f"{_HERE}/reset")
async def reset_conversation(call: Asked, conversation: Here, body: ResetBody) -> Json:
    """Projections begin afresh after a marker; nothing is deleted."""
    after = await conversations.reset(call.house, conversation, body.expected_revision, call.author)
    return Json(seat_wire.conversation(call.house, after))


@routes.post(f"{_HERE}/cancel")
async def cancel_delivery(call: Asked, conversation: Here, body: CancelBody | None = None) -> Json:
    """Cancel a waiting delivery, or ask a running one to end."""
    named = None if body is None else body.delivery_id
    given = None if named is None else ids.stored_delivery_id(named)
    done = await cancelling.cancel(call.house, conversation, given)
    wire: dict[str, Any] = {"outcome": done.outcome}
    if done.delivery is not None:
        wire["delivery"] = done.delivery.to_wire()
    return Json(wire)


@routes.get(f"{_HERE}/projection")
async def read_projection(
    call: Asked,
    conversation: Here,
    budget: Annotated[int | None, Query(ge=1_000, le=200_000)] = None,
) -> Json:
    """The bounded view of the log, oldest first, as a driver is given it."""
    limits = call.house.settings.projection
    if budget is not None:
        limits = type(limits)(budget=budget, message=limits.message, tool_detail=limits.tool_detail)
    found = await call.house.store.conversations.project(call.sees(conversation), limits)
    seen = as_text(found, limits.budget, call.house.ids)
    return Json(
        {
            "text": seen.text,
            "omitted": seen.projection.omitted,
            "through": seen.projection.through,
            "entries": [_entry(one) for one in seen.projection.entries],
        }
    )


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "cursor": entry.cursor,
        "kind": kind_name(entry.body),
        "author": entry.author.to_wire(),
        **body_to_wire(entry.body),
    }


@routes.get(f"{_HERE}/prompt", response_class=PlainTextResponse)
async def read_prompt(
    call: Asked,
    conversation: Here,
    sections: Annotated[str, Query(json_schema_extra=_SECTIONS)] = ",".join(selfstate.SECTIONS),
) -> PlainTextResponse:
    """Plain text for a harness. Reading it moves nothing."""
    wanted = tuple(name.strip() for name in sections.split(","))
    return PlainTextResponse(await selfstate.prompt(call.house, call.sees(conversation), wanted))
