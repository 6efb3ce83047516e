"""/v1/conversations/…/goal: the objective that a conversation pursues by itself."""

from __future__ import annotations

from pydantic import Field

from clankie.api.bodies import Body
from clankie.api.call import Asked, Here
from clankie.api.replies import Json
from clankie.api.routing import router
from clankie.core.goal import BUDGET_LIMIT, TEXT_LIMIT
from clankie.host import goals

routes = router("conversations")

_GOAL = "/v1/conversations/{conversation}/goal"


class GoalBody(Body):
    """What is to be reached, and how many tokens the way there may cost."""

    text: str = Field(
        min_length=1,
        max_length=TEXT_LIMIT,
        json_schema_extra={"pattern": r"[^\s\u001c-\u001f\u0085]"},
    )
    token_budget: int = Field(ge=1, le=BUDGET_LIMIT)


@routes.get(_GOAL)
async def read_goal(call: Asked, conversation: Here) -> Json:
    """The goal and what became of it; null when there is none."""
    goal = await goals.get(call.house, conversation)
    return Json({"goal": None if goal is None else goal.to_wire()})


@routes.put(_GOAL)
async def put_goal(call: Asked, conversation: Here, body: GoalBody) -> Json:
    """Set one, in place of any earlier one, and begin."""
    goal = await goals.put(call.house, conversation, body.text, body.token_budget)
    return Json({"goal": goal.to_wire()})


@routes.delete(_GOAL)
async def remove_goal(call: Asked, conversation: Here) -> Json:
    """Forget it; a step that runs goes on to its end."""
    await goals.remove(call.house, conversation)
    return Json({"goal": None})
