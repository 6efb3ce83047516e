"""What answers and what it costs: models to choose from, tokens used, servers of further tools."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Final

from fastapi import Path, Query, Response
from pydantic import Field
from pydantic.config import JsonDict

from clankie.api.bodies import Body
from clankie.api.call import Asked
from clankie.api.replies import Json, done
from clankie.api.routing import router
from clankie.host import models, spending
from clankie.host.ports import ModelChoice
from clankie.host.storage import DayUsage

routes = router("models")

DAYS = 366
_HASH: Final[JsonDict] = {"pattern": "^[ -~]+$"}
Server = Annotated[str, Path(json_schema_extra={"pattern": "^[a-z][a-z0-9-]{0,31}$"})]


class AgreeBody(Body):
    """The list of tools that was looked at, by its hash."""

    hash: str = Field(min_length=1, max_length=128, json_schema_extra=_HASH)


@routes.get("/v1/models")
async def read_models(call: Asked) -> Json:
    """The model that answers, why, and the others there are."""
    house = call.house
    choices = await house.models.choices(house.settings)
    return Json(
        {
            "current": _choice(models.current(house)),
            "choices": [_choice(one) for one in choices],
        }
    )


def _choice(choice: ModelChoice) -> dict[str, Any]:
    return {name: value for name, value in asdict(choice).items() if value is not None}


@routes.get("/v1/usage")
async def read_usage(call: Asked, days: Annotated[int, Query(ge=1, le=DAYS)] = 30) -> Json:
    """Tokens and cost of the last days (UTC), oldest first, days without any too."""
    found = await spending.days(call.house, days)
    return Json(
        {
            "days": [_day(one) for one in found],
            "today": _day(found[-1]),
            "daily_tokens": call.house.settings.models.daily_tokens,
        }
    )


def _day(day: DayUsage) -> dict[str, Any]:
    return {
        "day": day.day.isoformat(),
        "input_tokens": day.input_tokens,
        "output_tokens": day.output_tokens,
        "requests": day.requests,
        "cost_usd": day.cost_usd,
    }


@routes.get("/v1/mcp-servers")
async def list_servers(call: Asked) -> Json:
    """The servers of the settings, and what has become of them."""
    return Json([{**asdict(one), "tools": list(one.tools)} for one in call.house.mcp.status()])


@routes.post("/v1/mcp-servers/{name}/agree", status_code=204)
async def agree_to_tools(call: Asked, name: Server, body: AgreeBody) -> Response:
    """Use the tools that the server offers now, if they are still those that were looked at."""
    await call.house.mcp.agree(name, body.hash)
    return done()
