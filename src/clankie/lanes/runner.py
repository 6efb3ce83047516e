"""The agent loop: ask the model, run the tools it calls, ask again, until it only speaks.

Rule 1: the answer is exactly what was drafted, character by character.
Rule 2: a request is repeated only when nothing of an answer can have been made: before its first
        part, and only where the model's error says so.
Rule 3: calls run one after the other, each inside `host.tool`. A call that does not fit its tool is
        answered with an error and not run.
Rule 4: no task is started here: cancelling the turn cancels whatever it waits for.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, assert_never

from clankie.core.conversation import Usage
from clankie.host.ports import LaneError, LaneResult
from clankie.lanes.album import Album
from clankie.lanes.calls import answered
from clankie.lanes.messages import AssistantText, ToolCall, ToolResult
from clankie.lanes.model import (
    Finished,
    ModelAnswerTooLongError,
    ModelBadResponseError,
    ModelError,
    ModelRequest,
    Part,
    Pulse,
    Reason,
    Spent,
    TextDelta,
    ToolCallPart,
    ToolRoundsError,
)
from clankie.lanes.prompt import Hearing, heard, system_prompt
from clankie.lanes.tools import Bench

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from clankie.core.receipt import Delivery
    from clankie.host.ports import Clock, Ids, TurnHost, TurnRequest
    from clankie.lanes.model import Model, ToolSpec
    from clankie.lanes.session import Session
    from clankie.lanes.tools import AnyTool

FIRST_PAUSE: Final = 0.5
"""Seconds before the first repeat of a request when the server names no time; doubles."""

LONGEST_STEP: Final = 5.0
"""A wait is cut into steps of at most this, with a sign of life after each."""

FILE_CHARS: Final = 100_000
"""Characters of a file that came with a message, at most; less where the model reads little."""

CUT_CALL: Final = (
    "error: your answer reached its limit of length in this call; it was not run. Do it in smaller "
    "steps."
)

CUT: Final = "[The model stopped here at its own limit of length.]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """What every turn works with."""

    clock: Clock
    ids: Ids
    tools: Mapping[str, AnyTool]
    specs: Sequence[ToolSpec]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mind:
    """A model, and what is known of it: whether it looks at pictures, and what it costs."""

    model: Model
    sees: bool = False
    cost: Callable[[Sequence[Spent | None]], Awaitable[float | None]] | None = None


@dataclass(slots=True)
class _Reply:
    """One response of the model as it comes in."""

    text: list[str] = field(default_factory=list[str])
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    finished: Finished | None = None
    spent: Spent | None = None
    began: bool = False

    @property
    def cut(self) -> bool:
        """Whether the last thing in it may have been cut."""
        return self.finished is not None and self.finished.reason is Reason.LENGTH


class Run:
    """One turn on its way."""

    def __init__(
        self, kit: Kit, mind: Mind, request: TurnRequest, host: TurnHost, session: Session
    ) -> None:
        self._kit, self._mind, self._request, self._host = kit, mind, request, host
        self._session = session
        self._album = Album(host)
        self._hearing = Hearing(
            host=host,
            ids=kit.ids,
            sees=mind.sees,
            limit=min(FILE_CHARS, request.settings.models.context_chars // 4),
        )
        self._settings = request.settings
        self._system = system_prompt(request.settings.persona)
        self._answer: list[str] = []
        self._size = 0
        self._gap = False
        self._spent: list[Spent | None] = []

    async def result(self) -> LaneResult:
        """Run it to its end.

        Raises:
            LaneError: it failed in a known way; what was written stands in it.
        """
        try:
            await self._rounds()
        except ModelError as error:
            raise LaneError(
                error.code,
                error.detail,
                partial="".join(self._answer),
                usage=await self._usage(),
            ) from error
        except LaneError as error:
            # The host or an attachment ended it: what it cost until then is known all the same.
            error.usage = error.usage or await self._usage()
            raise
        return LaneResult(text="".join(self._answer), usage=await self._usage())

    async def _usage(self) -> Usage:
        cost = None
        if self._mind.cost is not None and self._spent:
            cost = await self._mind.cost(self._spent)
        return self._counted(cost)

    def _counted(self, cost: float | None = None) -> Usage:
        counted = [one for one in self._spent if one is not None]
        return Usage(
            input_tokens=sum(one.input_tokens for one in counted),
            output_tokens=sum(one.output_tokens for one in counted),
            requests=len(self._spent),
            model=self._settings.models.model,
            cost_usd=cost,
        )

    async def _rounds(self) -> None:
        await self._hear([self._request.delivery])
        most = self._settings.models.tool_rounds
        for number in range(1, most + 1):
            reply = await self._ask()
            text = "".join(reply.text)
            if text or reply.calls:
                self._session.add(AssistantText(text, tuple(reply.calls)))
            for index, call in enumerate(reply.calls):
                if reply.cut and index == len(reply.calls) - 1:
                    # Nobody can tell whether these are all its arguments.
                    self._session.add(ToolResult(call.id, call.name, CUT_CALL))
                else:
                    await self._use(call, f"{self._request.attempt}-{number}-{index}")
            # In the last round nothing more can be taken in: it waits for a turn of its own.
            joined: Sequence[Delivery] = () if number == most else await self._host.steered()
            if not reply.calls and not joined:
                return
            await self._hear(joined)
        raise ToolRoundsError(
            f"The model was asked {most} times in this turn and came to no end. What it wrote is "
            "kept. Ask for smaller steps, or raise models.tool_rounds with `clankie settings set`."
        )

    async def _hear(self, deliveries: Sequence[Delivery]) -> None:
        for delivery in deliveries:
            for message in await heard(delivery, self._hearing):
                self._session.add(message)

    async def _use(self, call: ToolCall, call_id: str) -> None:
        bench = Bench(
            host=self._host,
            clock=self._kit.clock,
            ids=self._kit.ids,
            settings=self._settings,
            call_id=call_id,
        )
        limit = self._settings.watchdog.tool
        text = await answered(call, self._kit.tools.get(call.name), bench, limit)
        self._session.add(ToolResult(call.id, call.name, text))

    async def _ask(self) -> _Reply:
        messages = self._session.messages
        request = ModelRequest(
            system=self._system,
            messages=messages,
            tools=self._kit.specs,
            pictures=await self._album.shown(messages),
        )
        repeats = 0
        while True:
            reply = _Reply()
            try:
                await self._receive(request, reply)
            except ModelError as error:
                pause = self._pause(error, repeats)
                if reply.began or pause is None:
                    raise
                await self._wait(pause)
                repeats += 1
            else:
                return reply

    def _pause(self, error: ModelError, repeats: int) -> float | None:
        """Seconds to wait before asking again; None when it is not asked again."""
        models = self._settings.models
        if not error.repeatable or repeats >= models.retries:
            return None
        pause = FIRST_PAUSE * 2**repeats if error.retry_after is None else error.retry_after
        return pause if pause <= models.retry_after_limit else None

    async def _wait(self, seconds: float) -> None:
        step = min(LONGEST_STEP, self._settings.watchdog.idle / 4)
        while seconds > 0:
            await self._kit.clock.sleep(min(step, seconds))
            self._host.progress()
            seconds -= step

    async def _receive(self, request: ModelRequest, reply: _Reply) -> None:
        self._gap = bool(self._answer)
        try:
            async with aclosing(self._mind.model.stream(request)) as parts:
                async for part in parts:
                    reply.began = True
                    self._take(part, reply)
        finally:
            if reply.began:
                self._spent.append(reply.spent)
                # Without its price, which takes a while to look up: it may be cut off right now.
                self._host.spent(self._counted())
        if reply.finished is None:
            raise ModelBadResponseError("The model's answer ended in the middle. Send it again.")
        if reply.cut and not reply.calls:
            self._say(f"\n\n{CUT}" if reply.text else CUT, reply)

    def _take(self, part: Part, reply: _Reply) -> None:
        match part:
            case TextDelta(text=text):
                self._say(text, reply)
                return
            case ToolCallPart(call=call):
                reply.calls.append(call)
            case Spent():
                reply.spent = part
            case Finished():
                reply.finished = part
            case Pulse():
                pass
            case _:
                assert_never(part)
        self._host.progress()

    def _say(self, text: str, reply: _Reply) -> None:
        if not text:
            self._host.progress()
            return
        if self._gap:
            # What was said before a tool call and after it are two paragraphs.
            self._gap = False
            self._draft("\n\n")
        reply.text.append(text)
        self._draft(text)

    def _draft(self, text: str) -> None:
        most = self._settings.models.answer_chars
        fits = text[: most - self._size]
        if fits:
            self._size += len(fits)
            self._answer.append(fits)
            self._host.draft(fits)
        if len(fits) < len(text):
            raise ModelAnswerTooLongError(
                f"The answer grew beyond {most} characters and was stopped; its beginning is kept. "
                "Ask for less, or raise models.answer_chars with `clankie settings set`."
            )
