"""What a seat says of what it was given, what its transcript shows, and what it asks its owner."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response

from clankie.api import seat_wire
from clankie.api.bodies import DELIVERY
from clankie.api.call import Asked
from clankie.api.replies import Json, done
from clankie.api.routing import router
from clankie.api.seat_bodies import (
    AckBody,
    DecisionBody,
    QuestionBody,
    RefuseBody,
    ReplyBody,
    TranscriptBody,
)
from clankie.api.seats import SEAT, Named
from clankie.core import ids
from clankie.core.errors import InvalidFieldError
from clankie.host.seats import answers, approvals, transcript

routes = router("seats")

_EVENT = f"{SEAT}/events/{{event:delivery}}"
Event = Annotated[str, Path(json_schema_extra=DELIVERY)]
Question = Annotated[str, Path(min_length=1, max_length=128)]


@routes.post(f"{_EVENT}/ack")
async def ack_event(call: Asked, seat: Named, event: Event, body: AckBody) -> Json:
    """The harness has it in its own queue."""
    _given(event)
    call.sits(seat)
    state = await answers.ack(
        call.house, seat, event, attempt=body.attempt, binding=body.binding.lower()
    )
    return Json({"state": state})


@routes.post(f"{_EVENT}/refuse")
async def refuse_event(call: Asked, seat: Named, event: Event, body: RefuseBody) -> Json:
    """Nothing was handed over, for certain: it goes where it may go next."""
    _given(event)
    call.sits(seat)
    state = await answers.refuse(
        call.house,
        seat,
        event,
        attempt=body.attempt,
        binding=body.binding.lower(),
        reason=body.reason,
    )
    return Json({"state": state})


@routes.post(f"{_EVENT}/reply")
async def reply_event(call: Asked, seat: Named, event: Event, body: ReplyBody) -> Json:
    """The answer, once; it says that the event was taken, too."""
    _given(event)
    text = body.checked()
    call.sits(seat)
    state = await answers.reply(
        call.house, seat, event, attempt=body.attempt, binding=body.binding.lower(), text=text
    )
    return Json({"state": state})


@routes.post(f"{SEAT}/transcript")
async def sync_transcript(call: Asked, seat: Named, body: TranscriptBody) -> Json:
    """Rows that the harness wrote, each taken once, whoever sends it again."""
    rows, activity, at = body.values()
    call.sits(seat)
    synced = await transcript.sync(
        call.house,
        seat,
        session_id=body.session_id,
        entries=rows,
        activity=activity,
        activity_at=at,
    )
    return Json({"accepted": synced.accepted, "duplicates": synced.duplicates})


@routes.post(f"{SEAT}/approvals", status_code=201)
async def ask_owner(call: Asked, seat: Named, body: QuestionBody) -> Json:
    """The harness asks for leave; the answer comes with a poll."""
    call.sits(seat)
    asked = await approvals.post(
        call.house,
        seat,
        id=body.id,
        summary=body.summary,
        detail=body.detail,
        event=body.event,
    )
    return Json(seat_wire.approval(asked), 201)


@routes.delete(f"{SEAT}/approvals/{{approval}}", status_code=204)
async def withdraw_question(call: Asked, seat: Named, approval: Question) -> Response:
    """It was answered at the harness itself, or its turn is over."""
    call.sits(seat)
    await approvals.withdraw(call.house, seat, approval)
    return done()


@routes.get("/v1/approvals")
async def list_approvals(call: Asked) -> Json:
    """What harnesses ask their owner; `unwatched` is what may no longer be open."""
    house = call.house
    return Json(
        [
            seat_wire.approval(one, unwatched=approvals.unwatched(house, one))
            for one in await approvals.listed(house)
        ]
    )


@routes.post("/v1/approvals/{approval}")
async def decide_approval(call: Asked, approval: Question, body: DecisionBody) -> Json:
    """The owner's answer, once."""
    decided = await approvals.decide(call.house, approval, body.decision, body.expected_state)
    return Json(seat_wire.approval(decided))


def _given(event: str) -> None:
    try:
        ids.stored_delivery_id(event)
    except InvalidFieldError as error:
        raise InvalidFieldError("event", error.rule) from error
