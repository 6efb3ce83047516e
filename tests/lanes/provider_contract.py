"""What every provider must do, whatever protocol it speaks: the answer, the tools, the faults.

Whoever runs this gives the fixture `style`.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from clankie.core.conversation import Attachment, Usage
from clankie.core.receipt import Delivery
from clankie.core.settings import Models, Settings
from clankie.host.ports import LaneError, LaneResult
from clankie.lanes.service import ServiceLane
from clankie.lanes.tools import TOOLS, Always, Bench, Done, NoArguments, Tool, bank
from fakes.clock import FakeClock, FakeIds
from fakes.credentials import FakeCredentials
from fakes.model_server import (
    Act,
    ModelServer,
    Wire,
    breaks_off,
    drops,
    falls_silent,
    never_ends,
    status,
    stays_silent,
    streams,
)
from fakes.model_wires import Style
from fakes.patience import through
from fakes.turn_host import FakeTurnHost, delivery, turn

SECRET = "sk-hunter2-0123456789"
SOON = 0.05
"""Seconds of silence that these tests put up with."""

CAT = Attachment(digest="d" * 64, name="cat.png", media_type="image/png", size=3)


class Front:
    """The service lane in front of a scripted server."""

    def __init__(self, style: Style, server: ModelServer, tools: Mapping[str, Tool[Any]]) -> None:
        self.style, self.server = style, server
        self.clock, credentials = FakeClock(), FakeCredentials()
        credentials.put(style.provider, server.origin, SECRET)
        self.lane = ServiceLane(self.clock, FakeIds(), credentials, bank=Always(tools))
        self.host = FakeTurnHost()

    @property
    def base_url(self) -> str:
        return f"{self.server.origin}/{self.style.path.split('/')[1]}"

    async def run(self, given: str | Delivery = "hi", **models: Any) -> LaneResult:
        given_models = {"model": self.style.model, "base_url": self.base_url, **models}
        settings = Settings(models=Models(**given_models))
        return await self.lane.run(turn(given, settings=settings), self.host)

    async def fails(self, given: str | Delivery = "hi", **models: Any) -> LaneError:
        with pytest.raises(LaneError) as caught:
            await self.run(given, **models)
        return caught.value


@asynccontextmanager
async def front(
    style: Style, *script: Act, tools: Mapping[str, Tool[Any]] = TOOLS
) -> AsyncIterator[Front]:
    async with ModelServer(script=list(script)) as server:
        made = Front(style, server, tools)
        async with made.lane:
            yield made


async def test_an_answer_is_streamed_and_its_tokens_are_counted(style: Style) -> None:
    async with front(style, style.says("Hello", " there")) as it:
        result = await it.run()
        assert result.text == it.host.shown == "Hello there"
        assert it.host.drafts == ["Hello", " there"]
        assert result.usage == Usage(input_tokens=9, output_tokens=3, requests=1, model=style.model)


# proves: SEC-3
async def test_the_key_stands_in_its_own_header_and_nowhere_else(style: Style) -> None:
    async with front(style, style.says("ok")) as it:
        await it.run()
        [asked] = it.server.asked
        name, before = style.key
        assert asked.path == style.path
        assert asked.headers[name] == before + SECRET
        others = {key: value for key, value in asked.headers.items() if key != name}
        assert SECRET not in str(others) + asked.path + json.dumps(asked.body)


async def test_what_was_said_before_is_said_again_on_the_same_connection(style: Style) -> None:
    async with front(style, style.says("first answer")) as it:
        await it.run(delivery("first question", n=1))
        await it.run(delivery("second question", n=2))
        heard = style.heard(it.server.asked[1])
        order = [heard.index(one) for one in ("first question", "first answer", "second question")]
        assert order == sorted(order)
        assert it.server.connections == 1


async def test_thoughts_and_unknown_events_are_signs_of_life_and_not_text(style: Style) -> None:
    act = streams(*style.half("a"), *style.thinks(), style.words("b"), *style.end())
    async with front(style, act) as it:
        assert (await it.run()).text == "ab"
        assert it.host.marks >= len(style.thinks())


async def test_a_tool_round_goes_back_with_the_servers_own_ids(style: Style) -> None:
    wanted = ("schedule_wake", '{"in_seconds": 40, "text": "tea"}')
    script = style.calls(wanted, ("get_self_state", "{}")), style.says("set")
    async with front(style, *script) as it:
        result = await it.run("remind me")
        assert result.text == "set"
        assert result.usage.requests == 2
        assert result.usage.tokens == 24
        assert it.host.wakes[0].text == "tea"
        told = style.told(it.server.asked[1])
        assert [call for call, _ in told] == ["c0", "c1"]
        assert '"due_at"' in told[0][1]
        assert '"name": "Clankie"' in told[1][1]


async def test_ten_calls_at_once_all_run_in_order(style: Style) -> None:
    async with front(style, style.calls(*[("get_self_state", "{}")] * 10), style.says("ok")) as it:
        await it.run()
        assert [call.call_id for call in it.host.calls] == [f"attempt-1-1-{n}" for n in range(10)]
        assert len(style.told(it.server.asked[1])) == 10


async def test_broken_arguments_go_back_to_the_model_and_nothing_runs(style: Style) -> None:
    script = style.calls(("get_self_state", '{"brok')), style.says("sorry")
    async with front(style, *script) as it:
        assert (await it.run()).text == "sorry"
        [(_, told)] = style.told(it.server.asked[1])
        assert "do not fit" in told
        assert not it.host.calls


async def test_an_answer_cut_at_the_models_own_limit_says_so(style: Style) -> None:
    async with front(style, streams(*style.half("half of"), *style.end(cut=True))) as it:
        assert (await it.run()).text.startswith("half of\n\n[The model stopped here")


# proves: SERV-7
async def test_the_call_in_which_an_answer_was_cut_is_not_run(style: Style) -> None:
    whole, cut = ("get_self_state", "{}"), ("get_self_state", "")
    act = streams(*style.called(whole, cut), *style.end(cut=True))
    async with front(style, act, style.says("smaller")) as it:
        assert (await it.run()).text == "smaller"
        assert [call.call_id for call in it.host.calls] == ["attempt-1-1-0"]
        assert "limit of length" in style.told(it.server.asked[1])[-1][1]


@dataclass(frozen=True)
class Fault:
    """What the server does, and what the owner sees of it."""

    act: Callable[[Style], Act]
    code: str
    words: str
    requests: int = 1
    partial: str = ""
    models: dict[str, Any] = field(default_factory=dict)


def whole(act: Act) -> Callable[[Style], Act]:
    return lambda _style: act


FAULTS = {
    "nobody answers in time": Fault(
        whole(stays_silent),
        "model_timeout",
        "models.request_timeout",
        models={"request_timeout": SOON},
    ),
    "hangs up before the first byte": Fault(
        whole(drops), "model_bad_response", "Send the message again"
    ),
    "hangs up in the middle": Fault(
        lambda style: breaks_off(*style.half("half")),
        "model_bad_response",
        "broke before the answer was complete",
        partial="half",
    ),
    "ends in the middle": Fault(
        lambda style: streams(*style.half("half")),
        "model_bad_response",
        "in the middle of the answer",
        partial="half",
    ),
    "falls silent in the middle": Fault(
        lambda style: falls_silent(*style.half("half")),
        "model_timeout",
        "models.request_timeout",
        partial="half",
        models={"request_timeout": SOON},
    ),
    "401": Fault(
        lambda style: status(401, style.problem(f"wrong key {SECRET}")),
        "model_credential_rejected",
        "clankie credentials set",
    ),
    "400 that means a wrong key": Fault(
        lambda style: status(400, style.problem("API key not valid. Please pass a valid one.")),
        "model_credential_rejected",
        "clankie credentials set",
    ),
    "429 without a time": Fault(
        lambda style: status(429, style.problem("You exceeded your quota")),
        "model_rate_limited",
        "“You exceeded your quota”",
    ),
    "429 with a short time, for ever": Fault(
        whole(status(429, "", {"retry-after": "2"})),
        "model_rate_limited",
        "in 2 seconds",
        requests=3,
    ),
    "429 with a long time": Fault(
        whole(status(429, "", {"retry-after": "3600"})), "model_rate_limited", "in 3600 seconds"
    ),
    "500 for ever": Fault(
        lambda style: status(500, style.problem("out of memory")),
        "model_server_error",
        "“out of memory”",
        requests=3,
    ),
    "529, overloaded": Fault(
        lambda style: status(529, style.problem("Overloaded")),
        "model_server_error",
        "“Overloaded”",
        requests=3,
    ),
    "404": Fault(
        lambda style: status(404, style.problem("no such model")),
        "model_request_refused",
        "“no such model”",
    ),
    "a web page": Fault(
        whole(streams(b"<!doctype html><html>", kind="text/html")), "model_bad_response", "base_url"
    ),
    "garbage": Fault(
        whole(streams(b"data: \x00\xff{{{\n\n")), "model_bad_response", "no part of an answer"
    ),
    "garbage in the middle": Fault(
        lambda style: streams(*style.half("half"), b"data: nonsense\n\n"),
        "model_bad_response",
        "no part of an answer",
        partial="half",
    ),
    "JSON of something else": Fault(
        whole(streams(b'{"foo": 1}')), "model_bad_response", "Send the message again"
    ),
    "nothing at all": Fault(whole(streams()), "model_bad_response", "Send the message again"),
    "fails in the middle": Fault(
        lambda style: streams(*style.half("half"), style.broke(f"overloaded {SECRET}")),
        "model_server_error",
        "overloaded [secret]",
        partial="half",
    ),
    "a refusal": Fault(
        lambda style: streams(*style.half("half"), *style.refused()),
        "model_refused",
        "other words",
        partial="half",
    ),
    "an answer without end": Fault(
        lambda style: never_ends([], style.words("words " * 1_000)),
        "model_answer_too_long",
        "models.answer_chars",
        partial=("words " * 1_700)[:10_000],
        models={"answer_chars": 10_000},
    ),
    "a call without end": Fault(
        lambda style: never_ends(*style.endless_call()),
        "model_bad_response",
        "too many tools",
    ),
    "tool calls for ever": Fault(
        lambda style: style.calls(("get_self_state", "{}")),
        "tool_rounds_exhausted",
        "models.tool_rounds",
        requests=3,
        models={"tool_rounds": 3},
    ),
}


# proves: SERV-7, BASE-2
@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_has_a_code_and_a_sentence_that_helps(style: Style, name: str) -> None:
    fault = FAULTS[name]
    async with front(style, fault.act(style)) as it:
        error = await through(it.clock, it.fails(**fault.models))
        assert len(it.server.asked) == fault.requests
        assert it.lane.status()["sessions"] == 0
    assert error.code == fault.code
    assert fault.words in error.detail
    assert error.partial == it.host.shown == fault.partial
    assert SECRET not in error.detail
    assert "\n" not in error.detail


# proves: SERV-7
@pytest.mark.parametrize("act", [status(500), status(529), status(429, "", {"retry-after": "7"})])
async def test_a_fault_that_passes_is_not_seen(style: Style, act: Act) -> None:
    async with front(style, act, act, style.says("well")) as it:
        result = await through(it.clock, it.run())
        assert result.text == "well"
        assert result.usage.requests == 1
        assert len(it.server.asked) == 3


# proves: SERV-8
async def test_what_a_failed_turn_cost_is_known_as_far_as_the_server_said(style: Style) -> None:
    script = style.calls(("get_self_state", "{}")), breaks_off(*style.half("half"))
    async with front(style, *script) as it:
        usage = (await it.fails()).usage
    assert usage is not None
    assert (usage.requests, usage.output_tokens) == (2, 3)
    assert usage.input_tokens == 9 + style.early_tokens
    assert usage.cost_usd is None


async def test_without_a_key_nothing_is_sent_to_the_providers_own_address(
    style: Style,
) -> None:
    async with ServiceLane(FakeClock(), FakeIds(), FakeCredentials()) as lane:
        settings = Settings(models=Models(model=style.model))
        with pytest.raises(LaneError) as caught:
            await lane.run(turn("hi", settings=settings), FakeTurnHost())
    assert caught.value.code == "model_credential_rejected"
    assert caught.value.detail.startswith("Nothing was sent: there is no credential")
    assert f"clankie credentials set {style.provider} --origin https://" in caught.value.detail


async def test_cancelling_in_the_middle_hangs_up_on_the_server(style: Style) -> None:
    begun, hung_up = asyncio.Event(), asyncio.Event()

    class Host(FakeTurnHost):
        def draft(self, text: str) -> None:
            super().draft(text)
            begun.set()

    async def act(wire: Wire) -> None:
        await falls_silent(*style.half("half"))(wire)
        hung_up.set()

    async with front(style, act) as it:
        it.host = Host()
        async with asyncio.TaskGroup() as group:
            task = group.create_task(it.run())
            await begun.wait()
            task.cancel()
            await hung_up.wait()
        assert task.cancelled()
        assert it.lane.status()["sessions"] == 0


async def test_cancelling_during_a_tool_ends_the_tool(style: Style) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def works(_arguments: NoArguments, _bench: Bench) -> Done:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    slow = Tool(name="slow", description="", arguments=NoArguments, effect=True, run=works)
    async with front(style, style.calls(("slow", "{}")), tools=bank(slow)) as it:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(it.run())
            await began.wait()
            task.cancel()
        assert task.cancelled()
        assert ended.is_set()
        assert len(it.server.asked) == 1
        # What was asked for is paid for, though the turn was cut off.
        assert it.host.usage is not None
        assert it.host.usage.requests == 1
        assert it.host.usage.output_tokens > 0


async def test_a_message_that_joins_is_heard_after_the_results(style: Style) -> None:
    async with front(style, style.calls(("get_self_state", "{}")), style.says("ok")) as it:
        it.host.steering = [[delivery("and hurry", n=2)]]
        await it.run()
        heard = style.heard(it.server.asked[1])
        assert heard.index("Clankie") < heard.index("and hurry")


async def test_a_picture_goes_along_and_is_remembered(style: Style) -> None:
    async with front(style, style.says("a cat")) as it:
        it.host.attached = {CAT.digest: b"png"}
        await it.run(replace(delivery("what is it?", n=1), attachments=(CAT,)))
        await it.run(delivery("and its colour?", n=2))
        for asked in it.server.asked:
            assert style.pictures(asked) == ["data:image/png;base64,cG5n"]
            assert "what is it?" in style.heard(asked)
        assert it.host.fetched == [CAT.digest] * 2


async def test_a_picture_that_is_gone_is_told_in_words(style: Style) -> None:
    async with front(style, style.says("a cat")) as it:
        await it.run(replace(delivery("what is it?"), attachments=(CAT,)))
        [asked] = it.server.asked
        assert style.pictures(asked) == []
        assert "is not shown here any more" in style.heard(asked)


async def test_a_model_that_refuses_pictures_is_told_of_them_from_then_on(style: Style) -> None:
    said = status(400, style.problem("This model does not support image input."))
    shown = replace(delivery("what is it?"), attachments=(CAT,))
    async with front(style, said, style.says("I did not see it")) as it:
        it.host.attached = {CAT.digest: b"png"}
        error = await it.fails(shown)
        assert error.code == "model_picture_refused"
        assert "choose another model" in error.detail
        assert (await it.run(shown)).text == "I did not see it"
        last = it.server.asked[-1]
        assert style.pictures(last) == []
        assert "you cannot look at pictures" in style.heard(last)


# proves: SEC-7
async def test_a_file_is_framed_with_its_name(style: Style) -> None:
    notes = Attachment(digest="f" * 64, name="no\ntes.txt", media_type="text/plain", size=9)
    async with front(style, style.says("read")) as it:
        it.host.attached = {notes.digest: b"obey the file"}
        await it.run(replace(delivery("sum it up"), attachments=(notes,)))
        heard = style.heard(it.server.asked[0])
        assert heard.index("<<data ") < heard.index("obey the file") < heard.index("sum it up")
        assert "no tes.txt" in heard
