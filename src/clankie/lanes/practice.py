"""The practice model: deterministic, offline, and honest about what it is.

It understands nothing. It answers by fixed rules, so that a newcomer sees the whole product at work
(streaming, tools, wakes, silence, failure) before any model is set up, and tests need no network.
Its rules obey the owner, and wakes, which it set itself; other data it only describes.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from clankie.host.framing import body_of, one_line
from clankie.lanes.messages import ToolCall, ToolResult, UserText
from clankie.lanes.model import (
    Finished,
    ModelAnswerTooLongError,
    ModelBadResponseError,
    ModelCredentialError,
    ModelError,
    ModelRateLimitedError,
    ModelRefusedError,
    ModelRequest,
    ModelRequestRefusedError,
    ModelServerError,
    ModelTimeoutError,
    ModelUnreachableError,
    Part,
    TextDelta,
    ToolCallPart,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clankie.host.ports import Clock
    from clankie.lanes.messages import Message

HELP: Final = """\
I am the practice model: I follow fixed rules and understand nothing. Say
  /tool                           and I call a tool, get_self_state
  remind me in 40 seconds to …    and I set a wake
  slow 5                          and I take five seconds to answer
  long                            and I write a long answer
  stall                           and I fall silent, so that you see the watchdog end the turn
  fail, or fail model_timeout     and the turn fails with that code
  garbage                         and the turn fails as if the server had sent nonsense
Set up a real model with `clankie settings set models.model …`."""

_FAILURES: Final[dict[str, type[ModelError]]] = {
    one.code: one
    for one in (
        ModelServerError,
        ModelUnreachableError,
        ModelTimeoutError,
        ModelRateLimitedError,
        ModelCredentialError,
        ModelBadResponseError,
        ModelAnswerTooLongError,
        ModelRefusedError,
        ModelRequestRefusedError,
    )
}
_UNITS: Final = {"second": 1, "minute": 60, "hour": 3_600}
_REMIND: Final = re.compile(
    r"remind me in (?P<count>\d{1,6}) (?P<unit>second|minute|hour)s?\s+(?:to\s+|that\s+)?"
    r"(?P<text>.+)",
    re.IGNORECASE | re.DOTALL,
)
_SLOW: Final = re.compile(r"slow (?P<seconds>\d{1,4}(?:\.\d{1,3})?)", re.IGNORECASE)
_FAIL: Final = re.compile(r"fail(?: (?P<code>[a-z_]{1,64}))?", re.IGNORECASE)
_PIECES: Final = re.compile(r"\s*\S+\s*\Z|\s*\S+")
_LONG_LINES: Final = 200
_STEP: Final = 1.0
_HOUR: Final = 3_600.0
_SHOWN: Final = 120

_Say = AsyncGenerator[Part, None]


@dataclass(frozen=True, slots=True)
class _Heard:
    """The last input: its words, whether the rules obey it, and where it came from."""

    words: str
    obeyed: bool
    source: str | None


class PracticeModel:
    """Answers by rule. `pace`: seconds between the words it writes, on the clock; 0 is at once."""

    def __init__(self, clock: Clock, pace: float = 0.0) -> None:
        self._clock = clock
        self._pace = pace

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Part, None]:
        """Answer the last message of the request."""
        async for part in self._answer(request.messages):
            yield part
        yield Finished()

    def _answer(self, messages: Sequence[Message]) -> _Say:
        last = messages[-1]
        if isinstance(last, ToolResult):
            return self._words(_told(last))
        heard = _heard(last)
        rule = self._rule(heard.words) if heard.obeyed else None
        return rule or self._words(_plain(heard, messages))

    def _rule(self, words: str) -> _Say | None:
        """What a rule makes of these words; None when no rule knows them."""
        if found := _FAIL.fullmatch(words):
            return self._fail((found["code"] or ModelServerError.code).lower())
        if found := _SLOW.fullmatch(words):
            return self._slow(float(found["seconds"]))
        if found := _REMIND.fullmatch(words):
            seconds = int(found["count"]) * _UNITS[found["unit"].lower()]
            arguments = {"in_seconds": seconds, "text": found["text"].strip()}
            return self._call("schedule_wake", arguments)
        return self._plain_rule(words.lower())

    def _plain_rule(self, words: str) -> _Say | None:
        match words:
            case "help" | "/help":
                return self._words(HELP)
            case "stall":
                return self._stall()
            case "garbage":
                return self._fail(ModelBadResponseError.code)
            case "long":
                return self._words(_long())
            case _ if words == "/tool" or "use a tool" in words:
                return self._call("get_self_state", {})
            case _:
                return None

    async def _words(self, text: str) -> _Say:
        for piece in _PIECES.findall(text):
            yield TextDelta(piece)
            if self._pace:
                await self._clock.sleep(self._pace)

    async def _stall(self) -> _Say:
        yield TextDelta("I fall silent now.")
        while True:
            await self._clock.sleep(_HOUR)

    async def _slow(self, left: float) -> _Say:
        yield TextDelta("I take my time:")
        while left > 0:
            await self._clock.sleep(min(_STEP, left))
            left -= _STEP
            yield TextDelta(" .")
        yield TextDelta(" done.")

    async def _fail(self, code: str) -> _Say:
        if code not in _FAILURES:
            known = ", ".join(sorted(_FAILURES))
            async for part in self._words(f"I do not know the code {code}. I know: {known}."):
                yield part
            return
        yield TextDelta("I fail now, as asked.")
        raise _FAILURES[code](
            f"The practice model was asked to fail with {code}. Send another message to go on."
        )

    async def _call(self, name: str, arguments: Mapping[str, object]) -> _Say:
        async for part in self._words(f"I call {name}."):
            yield part
        yield ToolCallPart(ToolCall(f"practice_{name}", name, json.dumps(arguments)))


def _heard(last: Message) -> _Heard:
    if not isinstance(last, UserText):
        return _Heard("", obeyed=False, source="note")
    if last.source is None:
        return _Heard(last.text.strip(), obeyed=True, source=None)
    return _Heard(body_of(last.text).strip(), obeyed=last.source == "wake", source=last.source)


def _plain(heard: _Heard, messages: Sequence[Message]) -> str:
    shown = one_line(heard.words, _SHOWN)
    if heard.source is not None:
        return f"(practice model) A {heard.source} came in. It says: “{shown}”."
    own = [m.text for m in messages if isinstance(m, UserText) and m.source is None]
    before = ""
    if len(own) > 1:
        before = f" Before it you wrote: “{one_line(own[-2], _SHOWN)}”."
    return (
        "(practice model, without understanding) "
        f"This is message {len(own)} of yours that I can see here. You wrote: “{shown}”.{before} "
        "Say help to see what I can do."
    )


def _told(result: ToolResult) -> str:
    return f"(practice model) {result.name} answered: {one_line(result.text, 400)}"


def _long() -> str:
    return "\n".join(
        f"Line {number} of {_LONG_LINES}: the practice model fills this line with words."
        for number in range(1, _LONG_LINES + 1)
    )
