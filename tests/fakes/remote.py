"""A service for the chat: scripted answers to calls, and a stream that a test feeds."""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from typing import Any

from clankie.cli.chat.marks import Line
from clankie.cli.chat.remote import Item
from clankie.cli.failures import CommandError
from clankie.cli.wire import Call

Answer = dict[str, Any] | CommandError


class FakeRemote:
    """Answers a path with what was put there: in turn, the last one for ever."""

    def __init__(self) -> None:
        self.answers: dict[str, deque[Answer]] = defaultdict(deque)
        self.calls: list[Call] = []
        self.called = asyncio.Event()
        self.news = asyncio.Event()
        self.stream: asyncio.Queue[Item] = asyncio.Queue()
        self.feeds: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.followed: list[tuple[str, int]] = []

    def put(self, key: str, *answers: Answer) -> None:
        """`key` is a method and a path."""
        self.answers[key] = deque(answers)

    async def call(self, call: Call) -> dict[str, Any]:
        self.calls.append(call)
        self.called.set()
        self.news.set()
        waiting = self.answers[f"{call.method} {call.path}"]
        answer = waiting.popleft() if len(waiting) > 1 else waiting[0]
        if isinstance(answer, CommandError):
            raise answer
        return answer

    async def get(self, path: str, **query: object) -> dict[str, Any]:
        return await self.call(Call(method="GET", path=path, query=query))

    async def post(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        return await self.call(Call(method="POST", path=path, body=body or {}))

    async def insist(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return await self.post(path, body)

    async def patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return await self.call(Call(method="PATCH", path=path, body=body))

    async def follow(self, conversation: str, cursor: Callable[[], int]) -> AsyncIterator[Item]:
        self.followed.append((conversation, cursor()))
        self.news.set()
        while True:
            yield await self.stream.get()

    async def feed(self) -> AsyncIterator[dict[str, Any]]:
        while True:
            yield await self.feeds.get()

    def bodies(self, path: str) -> list[dict[str, Any]]:
        """What was sent to a path."""
        return [
            call.body or {} for call in self.calls if call.path == path and call.method != "GET"
        ]


class Screen:
    """A view that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.returned: list[str] = []
        self.news = asyncio.Event()

    def show(self, lines: Any) -> None:
        self.lines += lines
        self.news.set()

    def changed(self) -> None:
        self.news.set()

    def give_back(self, text: str) -> None:
        self.returned.append(text)
        self.news.set()

    @property
    def text(self) -> str:
        return "\n".join(one.text for one in self.lines)

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until a condition holds, looking whenever something changed."""
        async with asyncio.timeout(20):
            while not true():
                self.news.clear()
                await self.news.wait()
