"""The lane as the host sees it: which model it picks, what it remembers, what a turn costs."""

import subprocess
import sys

import pytest

from clankie.core.conversation import CAPTAIN, OPERATOR, Message, Role
from clankie.core.projection import Projecting, Projection
from clankie.core.settings import Models, ProjectionLimits, Settings
from clankie.host.ports import Lane, LaneError, LaneResult
from clankie.lanes.service import ServiceLane
from fakes.clock import START, FakeClock, FakeIds
from fakes.credentials import FakeCredentials
from fakes.model_server import ModelServer, says
from fakes.model_wires import Chat, Google, Messages, Responses, Style
from fakes.turn_host import FakeTurnHost, delivery, turn


def lane() -> ServiceLane:
    return ServiceLane(FakeClock(), FakeIds(), FakeCredentials(), pace=0.0)


def test_it_is_a_lane() -> None:
    it: Lane = lane()
    assert it.status() == {"model": None, "endpoint": None, "last_error": None, "sessions": 0}


@pytest.mark.parametrize(
    ("models", "words"),
    [
        (Models(model="gpt-6"), "clankie settings set models.model"),
        (Models(model="ollama:x", base_url="nonsense"), "clankie settings set models.base_url"),
    ],
)
async def test_a_model_that_cannot_be_reached_at_all_fails_the_turn(
    models: Models, words: str
) -> None:
    it = lane()
    with pytest.raises(LaneError) as caught:
        await it.run(turn("hi", settings=Settings(models=models)), FakeTurnHost())
    assert caught.value.code == "model_unknown"
    assert words in caught.value.detail
    assert it.status()["last_error"] == "model_unknown"


async def test_settings_that_name_no_model_make_it_forget_the_session() -> None:
    it, host = lane(), FakeTurnHost()
    await it.run(turn(delivery("one", n=1)), host)
    with pytest.raises(LaneError):
        await it.run(turn(delivery("two", n=2), settings=Settings(models=Models(model="x"))), host)
    await it.run(turn(delivery("three", n=3)), host)
    assert host.projections == 2


async def test_conversations_do_not_see_each_other() -> None:
    it, host = lane(), FakeTurnHost()
    await it.run(turn("a secret of the first", conversation="one"), host)
    answer = await it.run(turn("hello", conversation="two"), host)
    assert "message 1 of yours" in answer.text
    assert it.status()["sessions"] == 2


async def test_an_evicted_conversation_starts_from_the_log_again() -> None:
    it, host = lane(), FakeTurnHost()
    await it.run(turn(delivery("one", n=1)), host)
    it.evict("global-default")
    await it.run(turn(delivery("two", n=2)), host)
    assert host.projections == 2


async def test_status_names_the_model_and_its_address() -> None:
    async with ModelServer() as server, lane() as it:
        models = Models(model="openai-chat:any", base_url=server.base_url)
        await it.run(turn("hi", settings=Settings(models=models)), FakeTurnHost())
        assert it.status() == {
            "model": "openai-chat:any",
            "endpoint": server.origin,
            "last_error": None,
            "sessions": 1,
        }


async def test_a_lane_that_was_closed_opens_new_connections() -> None:
    async with ModelServer() as server, lane() as it:
        models = Models(model="openai-chat:any", base_url=server.base_url)
        for n in (1, 2):
            request = turn(delivery("hi", n=n), settings=Settings(models=models))
            assert (await it.run(request, FakeTurnHost())).text == "Hello there"
            await it.close()
        assert server.connections == 2


class LoggingHost(FakeTurnHost):
    """Keeps a log of the turns and projects it within the budget, as the host does."""

    def __init__(self, limits: ProjectionLimits) -> None:
        super().__init__()
        self._limits = limits
        self._log: list[Message] = []

    def wrote(self, text: str, answer: LaneResult) -> None:
        self._log.append(Message(role=Role.OWNER, text=text))
        self._log.append(Message(role=Role.AGENT, text=answer.text))

    async def projection(self) -> Projection:
        self.projections += 1
        projecting = Projecting(self._limits)
        for cursor, said in reversed([*enumerate(self._log, 1)]):
            author = OPERATOR if said.role is Role.OWNER else CAPTAIN
            if not projecting.add(cursor, START, author, said):
                break
        return projecting.done(len(self._log))


# proves: SERV-6, HAND-1
async def test_turn_500_sends_no_more_than_turn_50() -> None:
    limits = ProjectionLimits(budget=2_000)
    host = LoggingHost(limits)
    sizes: list[int] = []
    async with ModelServer(script=[says("an answer of ", "some length")]) as server, lane() as it:
        models = Models(model="openai-chat:any", base_url=server.base_url)
        settings = Settings(models=models, projection=limits)
        for n in range(1, 501):
            text = f"question number {n:04d}: " + "words " * 20
            request = turn(delivery(text, n=n), settings=settings)
            host.wrote(text, await it.run(request, host))
            sizes.append(int(server.asked[-1].headers["content-length"]))
            server.asked.clear()
    assert max(sizes[50:]) <= max(sizes[:50])
    assert host.projections < 100  # it continues a session, and only seldom starts anew


def test_the_http_library_is_not_loaded_before_a_model_needs_it() -> None:
    program = (
        "import sys, clankie.lanes.service;"
        "print(*[m for m in ('httpx2', 'httpcore2', 'ssl') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "httpx2" not in done.stdout


@pytest.mark.parametrize(
    "second", [Messages(), Responses(), Google()], ids=lambda one: one.provider
)
async def test_another_model_starts_from_the_log_and_sees_no_foreign_calls(second: Style) -> None:
    chat = Chat()
    script = [
        chat.calls(("get_self_state", "{}")),
        chat.says("first"),
        second.says("second"),
        chat.says("third"),
    ]
    async with ModelServer(script=script) as server, lane() as it:
        host = FakeTurnHost()
        for n, style in enumerate((chat, second, chat)):
            base = f"{server.origin}/{style.path.split('/')[1]}"
            settings = Settings(models=Models(model=style.model, base_url=base))
            await it.run(turn(delivery(f"question {n}", n=n), settings=settings), host)
        assert host.projections == 3
        assert second.told(server.asked[2]) == []
        assert chat.told(server.asked[3]) == []
