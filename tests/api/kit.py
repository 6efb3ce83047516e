"""The API as tests use it: requests that are answered whole, and streams driven by hand."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from clankie import console
from clankie.api.app import create_app
from clankie.api.door import ApiConfig
from clankie.api.gate import Gate
from clankie.core.conversation import Author, Principal
from clankie.core.ids import HEAD
from clankie.host import tokens
from clankie.host.bearer import Token
from fakes.hall import Hall

PORT = 4310
BASE = f"http://127.0.0.1:{PORT}"
CONSOLE = Path(console.__file__).parent
HERE = f"/v1/conversations/{HEAD}"
BOUND = 20.0
"""Real seconds after which a wait in a test is a failure."""


@dataclass(slots=True)
class Answer:
    """A whole answer."""

    status: int
    headers: httpx2.Headers
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def code(self) -> str:
        return str(self.json["code"])


@dataclass(slots=True)
class Heard:
    """One server-sent event; a comment has the kind `comment`, a log event none."""

    kind: str
    id: str
    data: Any


class Stream:
    """A request whose answer goes on; the test reads it piece by piece."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.gone = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()
        self.ended = asyncio.Event()
        self.blocked = asyncio.Event()
        self.closed_well = False
        self.aborted = False
        self._started = asyncio.Event()
        self._body = asyncio.Queue[bytes | None]()
        self._rest = b""
        self._asked = False

    async def receive(self) -> dict[str, Any]:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Mapping[str, Any]) -> None:
        if not self.open.is_set():
            self.blocked.set()
            await self.open.wait()
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {k.decode(): v.decode() for k, v in message["headers"]}
            self._started.set()
            return
        self._body.put_nowait(message.get("body", b""))
        if not message.get("more_body", False):
            self.closed_well = True
            self._body.put_nowait(None)

    def abort(self) -> None:
        self.aborted = True
        self.open.set()

    async def start(self) -> "Stream":
        async with asyncio.timeout(BOUND):
            await self._started.wait()
        return self

    async def chunk(self) -> bytes | None:
        async with asyncio.timeout(BOUND):
            return await self._body.get()

    async def next(self) -> Heard:
        """The next event or comment; `retry` is skipped."""
        while b"\n\n" not in self._rest:
            piece = await self.chunk()
            assert piece is not None, "the stream ended"
            self._rest += piece
        block, _, self._rest = self._rest.partition(b"\n\n")
        if block.startswith(b"retry:"):
            return await self.next()
        return _heard(block.decode())

    async def event(self) -> Heard:
        """The next event, comments skipped."""
        while (heard := await self.next()).kind == "comment":
            pass
        return heard

    async def rest(self) -> list[Heard]:
        """Everything until the end."""
        while (piece := await self.chunk()) is not None:
            self._rest += piece
        blocks, self._rest = self._rest.decode().split("\n\n"), b""
        return [_heard(one) for one in blocks if one and not one.startswith("retry:")]

    async def end(self) -> None:
        async with asyncio.timeout(BOUND):
            await self.ended.wait()


def _heard(block: str) -> Heard:
    if block.startswith(":"):
        return Heard("comment", "", None)
    fields = dict(line.split(": ", 1) for line in block.split("\n"))
    return Heard(fields.get("event", ""), fields.get("id", ""), json.loads(fields["data"]))


@dataclass(slots=True)
class Api:
    """A house with its door."""

    hall: Hall
    app: Gate
    secret: str
    home: Path
    secrets: dict[Principal, str] = field(default_factory=dict[Principal, str])

    async def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        token: str | None = "",
        headers: Mapping[str, str] | None = None,
        raw: bytes | None = None,
        base: str = BASE,
    ) -> Answer:
        """One request. `token`: "" the operator's, None none at all."""
        head = dict(headers or {})
        if token is not None:
            head.setdefault("authorization", f"Bearer {token or self.secret}")
        content = raw
        if content is None and body is not None:
            content = json.dumps(body).encode()
        if content is not None:
            head.setdefault("content-type", "application/json")
        transport = httpx2.ASGITransport(self.app)
        async with httpx2.AsyncClient(transport=transport, base_url=base) as client:
            async with asyncio.timeout(BOUND):
                got = await client.request(method, path, content=content, headers=head)
        return Answer(got.status_code, got.headers, got.content)

    async def get(self, path: str, **how: Any) -> Answer:
        return await self.ask("GET", path, **how)

    async def post(self, path: str, body: object = None, **how: Any) -> Answer:
        return await self.ask("POST", path, {} if body is None else body, **how)

    async def send(self, text: str, name: str, **how: Any) -> Answer:
        """Admit a message over HTTP."""
        fields = how.pop("fields", {})
        body = {"delivery_id": name, "text": text, **fields}
        return await self.post(f"{how.pop('here', HERE)}/inputs", body, **how)

    async def token(self, principal: Principal) -> str:
        """A secret of that principal; made once."""
        if principal is Principal.OPERATOR:
            return self.secret
        if principal not in self.secrets:
            self.secrets[principal] = await self._issued(principal)
        return self.secrets[principal]

    async def _issued(self, principal: Principal) -> str:
        """A seat's own is for its grant; this one is of a seat that nobody knows."""
        house = self.hall.house
        if principal is not Principal.SEAT:
            return (await tokens.issue(house, principal, "test"))[1]
        secret, author = house.ids.secret(), Author(principal, house.ids.new("s"))
        token = Token(
            id=house.ids.new("t"), principal=author, label="test", created_at=house.clock.now()
        )
        await house.store.owner.add_token(token, tokens.digest(secret))
        house.tokens.add(token, tokens.digest(secret))
        return secret

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        *,
        query: str = "",
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[Stream]:
        """Open a stream; leaving is the client going away."""
        stream = Stream()
        head = {
            "host": f"127.0.0.1:{PORT}",
            "accept": "text/event-stream",
            "authorization": f"Bearer {token or self.secret}",
            **(headers or {}),
        }
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(k.encode(), v.encode()) for k, v in head.items()],
            "server": ("127.0.0.1", PORT),
            "client": ("127.0.0.1", 50_000),
            "extensions": {"clankie.abort": {"call": stream.abort}},
        }

        async def serve() -> None:
            try:
                await self.app(scope, stream.receive, stream.send)
            finally:
                stream.ended.set()

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(serve())
            try:
                yield await stream.start()
            finally:
                stream.gone.set()
                stream.open.set()

    async def settled(self, *names: str) -> None:
        """Wait until these deliveries have ended."""
        for name in names:
            await self.hall.ended(name)


async def until(condition: Callable[[], bool]) -> None:
    """Let everything else run until it holds."""
    async with asyncio.timeout(BOUND):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(0)


def open_api(hall: Hall, home: Path) -> Api:
    config = ApiConfig(port=PORT, backups=home / "backups", console=CONSOLE)
    secret = (home / "operator.token").read_text(encoding="ascii").strip()
    return Api(hall, create_app(hall.house, config), secret, home)
