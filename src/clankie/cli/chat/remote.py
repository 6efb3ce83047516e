"""The service as the chat sees it: calls that can be cancelled, and one stream that comes back."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, cast

import httpx2

from clankie.cli.client import again, items, segment
from clankie.cli.failures import (
    CommandError,
    ConnectionLostError,
    ProblemError,
    ServiceDownError,
)
from clankie.cli.wire import NOT_RUNNING, Address, Call, Json, problem_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator

SILENCE: Final = 45.0
"""Seconds without a byte after which a stream counts as dead; the service speaks every 15 s."""
PAUSES: Final = (0.1, 0.2, 0.5, 1.0)
"""Seconds between two tries: the service is on this machine, and somebody is looking."""
REFUSED: Final = frozenset({401, 403, 404, 409, 410})


class Kind(StrEnum):
    """What a stream brings."""

    EVENT = "event"
    DRAFT = "draft"
    DRAFT_END = "draft_end"
    UP = "up"
    DOWN = "down"


_NAMES: Final = {b"": Kind.EVENT, b"draft": Kind.DRAFT, b"draft_end": Kind.DRAFT_END}


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that the stream brought. `data` is empty for UP; DOWN says why."""

    kind: Kind
    data: Json


class Remote:
    """Calls over one connection pool. `base` is put before every path."""

    def __init__(self, http: httpx2.AsyncClient, address: Address) -> None:
        self._http = http
        self.address = address

    async def call(self, call: Call) -> Json:
        """One request; its JSON object. Raises what `wire.exchange` raises."""
        try:
            content = call.content
            headers = {} if content is None else {"Content-Type": call.kind}
            answer = await self._http.request(
                call.method, call.target, content=content, headers=headers, timeout=call.timeout
            )
        except httpx2.ConnectError as error:
            raise ServiceDownError(NOT_RUNNING) from error
        except httpx2.HTTPError as error:
            raise ConnectionLostError(f"The connection broke ({type(error).__name__}).") from error
        if answer.status_code >= httpx2.codes.BAD_REQUEST:
            raise problem_of(answer.status_code, answer.content)
        found: object = json.loads(answer.content) if answer.content else {}
        return cast("Json", found) if isinstance(found, dict) else {"items": found}

    async def get(self, path: str, **query: object) -> Json:
        """GET a path."""
        return await self.call(Call(method="GET", path=path, query=query))

    async def post(self, path: str, body: Json | None = None) -> Json:
        """POST a JSON object to a path."""
        return await self.call(Call(method="POST", path=path, body=body or {}))

    async def insist(self, path: str, body: Json) -> Json:
        """As `post`, with what makes something once under its request id: see Client.insist."""
        tries = 0
        while True:
            try:
                return await self.post(path, body)
            except CommandError as error:
                pause = again(error, tries)
                if pause is None:
                    raise
                await asyncio.sleep(pause)
                tries += 1

    async def patch(self, path: str, body: Json) -> Json:
        """PATCH a path."""
        return await self.call(Call(method="PATCH", path=path, body=body))

    async def follow(self, conversation: str, cursor: Callable[[], int]) -> AsyncIterator[Item]:
        """Everything after `cursor()`, for ever: a stream that breaks is opened again.

        Raises:
            ProblemError: the service will not let us read this (again).
        """
        tries = 0
        while True:
            try:
                async for item in self._stream(
                    f"/v1/conversations/{segment(conversation)}/events?after={cursor()}"
                ):
                    tries = 0
                    yield item
                reason = "the stream ended"
            except httpx2.HTTPError as error:
                reason = type(error).__name__
            except ProblemError as error:
                if error.status in REFUSED:
                    raise
                reason = error.code
            yield Item(Kind.DOWN, {"reason": reason})
            await asyncio.sleep(PAUSES[min(tries, len(PAUSES) - 1)])
            tries += 1

    async def feed(self) -> AsyncIterator[Json]:
        """How conversations stand: at each connection all, then what changes, for ever.

        Raises:
            ProblemError: the service will not let us read this.
        """
        while True:
            try:
                async for item in self._stream("/v1/feed"):
                    if item.kind is Kind.EVENT:
                        yield item.data
            except httpx2.HTTPError:
                pass  # the log's own stream says that the service is away
            except ProblemError as error:
                if error.status in REFUSED:
                    raise
            await asyncio.sleep(PAUSES[-1])

    async def _stream(self, path: str) -> AsyncIterator[Item]:
        headers = {"Accept": "text/event-stream"}
        timeout = httpx2.Timeout(10.0, read=SILENCE)
        async with self._http.stream("GET", path, headers=headers, timeout=timeout) as answer:
            if answer.status_code >= httpx2.codes.BAD_REQUEST:
                raise problem_of(answer.status_code, await answer.aread())
            yield Item(Kind.UP, {})
            reader = Reader()
            async for chunk in answer.aiter_bytes():
                for item in reader.feed(chunk):
                    yield item


class Reader:
    """Server-sent events from bytes. Only a line feed ends a line: JSON may hold others."""

    def __init__(self) -> None:
        self._rest = b""
        self._fields: dict[bytes, bytes] = {}

    def feed(self, chunk: bytes) -> Iterator[Item]:
        """The items that `chunk` completes."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            if line.rstrip(b"\r"):
                name, _, value = line.rstrip(b"\r").partition(b":")
                self._fields[name] = value.removeprefix(b" ")
                continue
            fields, self._fields = self._fields, {}
            yield from _item(fields)


def _item(fields: dict[bytes, bytes]) -> Iterator[Item]:
    kind = _NAMES.get(fields.get(b"event", b""))
    if kind is None or b"data" not in fields:
        return
    data: Any = json.loads(fields[b"data"])
    if isinstance(data, dict):
        yield Item(kind, cast("Json", data))


async def message(remote: Remote, receipt: Json) -> Json | None:
    """The event of the message that a delivery brought; None when it is gone."""
    path = f"/v1/conversations/{segment(str(receipt['conversation']))}/events"
    page = await remote.get(path, after=int(receipt["message_cursor"]) - 1, limit=1)
    found = items(page, "events")
    return found[0] if found else None


async def words(remote: Remote, receipt: Json) -> str:
    """The text of that message."""
    return str((await message(remote, receipt) or {}).get("text", ""))


@asynccontextmanager
async def connected(address: Address) -> AsyncGenerator[Remote, None]:
    """A Remote whose connections close in the end."""
    uds = address.socket_path
    transport = (
        httpx2.AsyncHTTPTransport(uds=uds) if uds is not None else httpx2.AsyncHTTPTransport()
    )
    headers = {"Authorization": f"Bearer {address.token}"}
    async with httpx2.AsyncClient(
        base_url=address.base, transport=transport, headers=headers, trust_env=False
    ) as http:
        yield Remote(http, address)
