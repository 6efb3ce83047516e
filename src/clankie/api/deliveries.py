"""/v1/deliveries: receipts, and closing what nobody can know."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path, Query
from pydantic import Field
from starlette.convertors import StringConvertor, register_url_convertor

from clankie.api.bodies import CONVERSATION, DELIVERY, Body
from clankie.api.call import Asked
from clankie.api.replies import Json
from clankie.api.routing import router
from clankie.core import ids
from clankie.core.delivery import InputState
from clankie.core.errors import InvalidFieldError
from clankie.host import deliveries

routes = router("deliveries")

_WAIT = 30.0


class _Named(StringConvertor):
    """A delivery's id in a path: bare, or with the principal it belongs to before it."""

    regex = "(?:[^/]+/)?[^/]+"


register_url_convertor("delivery", _Named())
Named = Annotated[str, Path(json_schema_extra=DELIVERY)]


class SettleBody(Body):
    """How an uncertain delivery is closed."""

    how: Literal["abandoned"] = Field(alias="as")


@routes.get("/v1/deliveries")
async def list_deliveries(
    call: Asked,
    conversation: Annotated[str | None, Query(json_schema_extra=CONVERSATION)] = None,
    state: Annotated[list[InputState] | None, Query()] = None,
    after: Annotated[str | None, Query(json_schema_extra=DELIVERY)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> Json:
    """Receipts in order of admission; `state` may be given more than once."""
    if conversation is not None:
        ids.conversation_id(conversation)
    if after is not None:
        _given(after, "after")
    found = await call.house.store.deliveries.list(
        conversation=conversation,
        states=None if state is None else frozenset(state),
        after=after,
        limit=limit + 1,
    )
    page = found[:limit]
    return Json({"deliveries": [one.to_wire() for one in page], "has_more": len(found) > len(page)})


@routes.get("/v1/deliveries/{delivery:delivery}")
async def read_delivery(
    call: Asked,
    delivery: Named,
    wait: Annotated[float, Query(allow_inf_nan=False)] = 0.0,
) -> Json:
    """The receipt; with `wait`, up to that many seconds until it ended or is uncertain."""
    _given(delivery, "delivery_id")
    within = min(max(wait, 0.0), _WAIT)
    return Json((await deliveries.read(call.house, delivery, within)).to_wire())


@routes.post("/v1/deliveries/{delivery:delivery}/settle")
async def settle_delivery(
    call: Asked,
    delivery: Named,
    body: SettleBody,  # noqa: ARG001 - it can say one thing only, and saying it is the check
) -> Json:
    """Close an uncertain delivery as unknown."""
    _given(delivery, "delivery_id")
    return Json((await deliveries.abandon(call.house, delivery)).to_wire())


def _given(name: str, path: str) -> None:
    try:
        ids.stored_delivery_id(name)
    except InvalidFieldError as error:
        raise InvalidFieldError(path, error.rule) from error
