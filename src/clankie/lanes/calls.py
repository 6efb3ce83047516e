"""Running one tool call of a model: checked, recorded, bounded in time, and always answered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from clankie.core.errors import RefusedError
from clankie.host.framing import one_line
from clankie.host.storage import Call, FencedError
from clankie.lanes.tools import DETAIL_LIMIT, Bench, ToolFailedError, canonical, digest

if TYPE_CHECKING:
    from clankie.lanes.messages import ToolCall
    from clankie.lanes.tools import AnyTool, Done


async def answered(call: ToolCall, tool: AnyTool | None, bench: Bench, limit: float) -> str:
    """What the model is told of its call; `limit` is the tool's time in seconds.

    Errors of the host itself (fenced, storage) are not answers: they end the turn.
    """
    if tool is None:
        name = one_line(call.name, DETAIL_LIMIT)
        return f"error: there is no tool {name!r}; nothing was run."
    try:
        return await _run(tool, tool.read(call.arguments), bench, limit)
    except ToolFailedError as error:
        return f"error: {error}"


async def _run(tool: AnyTool, arguments: object, bench: Bench, limit: float) -> str:
    record = Call(
        call_id=bench.call_id,
        name=tool.name,
        effect=tool.effect,
        arguments_sha256=digest(arguments),
        detail=one_line(canonical(arguments), DETAIL_LIMIT),
    )
    async with bench.host.tool(record) as report:
        try:
            done = await _bounded(tool, arguments, bench, limit)
        except ToolFailedError as error:
            report.detail = one_line(error.detail, DETAIL_LIMIT)
            raise
        report.detail = done.detail
    return done.text


async def _bounded(tool: AnyTool, arguments: object, bench: Bench, limit: float) -> Done:
    try:
        async with asyncio.timeout(limit):
            return await tool.run(arguments, bench)
    except TimeoutError as error:
        unknown = " What it did until then is not known." if tool.effect else ""
        raise ToolFailedError(
            f"{tool.name} was stopped after {limit:g} seconds.{unknown}"
        ) from error
    except FencedError:
        raise
    except RefusedError as error:
        raise ToolFailedError(f"{tool.name} was refused: {error.detail}") from error
