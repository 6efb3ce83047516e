"""A scripted model server for real harnesses: it speaks their wires and says what it is told.

What it says stands in the words it is sent, one directive a line:

    ~say WORDS            answer with these words (several lines: several lines)
    ~tool NAME {json}     call a tool; several lines make parallel calls
    ~hold NAME            wait before answering, until `release(NAME)`
    ~fail KIND            an error: rate, overloaded, auth, bad, limit, weekly

The newest message with a directive decides. Without one it answers a tool's result with "did: …"
and anything else with "heard: …". Requests without tools are asides of the client (titles, quota):
they are answered "ok" and never hold, fail or call. It listens on loopback only, in a thread of the
test's own process, so it ends with it.

Each wire is a class with `paths`, `read` and `write`; `WIRES` holds them.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Protocol

from harnesses.anthropic_wire import Messages
from harnesses.openai_wire import Chat, Responses
from harnesses.script import Asked, Plan, plan

PATIENCE: Final = 60.0
"""Seconds that a test waits for a client before it fails."""


class Wire(Protocol):
    """One protocol of a model server."""

    paths: tuple[str, ...]

    def read(self, path: str, body: dict[str, Any]) -> Asked:
        """What was asked, in the common shape."""
        ...

    def error(self, kind: str) -> tuple[int, dict[str, str], dict[str, Any]]:
        """Status, headers and body of a failure."""
        ...

    def events(self, asked: Asked, plan: Plan) -> Iterator[tuple[str | None, dict[str, Any] | str]]:
        """Server-sent events, in order."""
        ...

    def whole(self, asked: Asked, plan: Plan) -> dict[str, Any]:
        """The answer where no stream was asked for."""
        ...


WIRES: list[Wire] = [Messages(), Responses(), Chat()]


@dataclass
class Model:
    """What the server was asked, and who waits. Safe for every thread."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    _news: threading.Condition = field(default_factory=threading.Condition)
    _released: set[str] = field(default_factory=set)

    def add(self, one: Asked) -> None:
        """Keep a request."""
        with self._news:
            self.asked.append(one)
            self._news.notify_all()

    def count(self) -> int:
        """How many requests there were: the `since` of a later look."""
        with self._news:
            return len(self.asked)

    def seen(self, words: str, since: int = 0) -> list[Asked]:
        """The requests of turns whose messages hold these words."""
        with self._news:
            return [one for one in self.asked[since:] if not one.aside and words in one.text]

    def fresh(self, words: str, since: int = 0) -> list[Asked]:
        """The requests in which these words are new: behind the model's last own message."""
        with self._news:
            return [one for one in self.asked[since:] if not one.aside and words in one.news]

    def wait(self, words: str, since: int = 0) -> Asked:
        """The first request that holds these words."""
        with self._news:
            if not self._news.wait_for(lambda: self.seen_locked(words, since), PATIENCE):
                last = self.asked[-1].news if self.asked else "nothing"
                raise TimeoutError(f"the model was never asked {words!r}; last: {last[-2000:]}")
            return self.seen_locked(words, since)[0]

    def seen_locked(self, words: str, since: int) -> list[Asked]:
        """As `seen`; the caller holds the lock."""
        return [one for one in self.asked[since:] if not one.aside and words in one.text]

    def hold(self, name: str) -> None:
        """Wait until it is released, at most `PATIENCE`."""
        with self._news:
            self._news.wait_for(lambda: name in self._released, PATIENCE)

    def release(self, name: str) -> None:
        """Let those go that wait under this name, now and later."""
        with self._news:
            self._released.add(name)
            self._news.notify_all()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the library
        """Nothing on standard error."""

    def do_GET(self) -> None:
        self._json(404, {"error": {"type": "not_found_error", "message": "no such path"}})

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        body = self._body()
        path = self.path.partition("?")[0]
        for wire in WIRES:
            if any(path.endswith(end) for end in wire.paths):
                self._answer(wire, path, body)
                return
        if path.endswith("/count_tokens"):
            self._json(200, {"input_tokens": 10})
            return
        self._json(404, {"error": {"type": "not_found_error", "message": "no such path"}})

    def _body(self) -> dict[str, Any]:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body: dict[str, Any] = json.loads(raw or b"{}")
        except ValueError:
            return {}
        return body

    def _answer(self, wire: Wire, path: str, body: dict[str, Any]) -> None:
        asked = wire.read(path, body)
        asked.headers = {name.lower(): value for name, value in self.headers.items()}
        self.model.add(asked)
        said = plan(asked)
        try:
            if said.hold:
                self.model.hold(said.hold)
            if said.fail:
                status, headers, failure = wire.error(said.fail)
                self._json(status, failure, headers)
            elif asked.stream:
                self._stream(wire, asked, said)
            else:
                self._json(200, wire.whole(asked, said))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _json(
        self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None
    ) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, wire: Wire, asked: Asked, said: Plan) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for name, data in wire.events(asked, said):
            head = f"event: {name}\n" if name else ""
            text = data if isinstance(data, str) else json.dumps(data)
            self._chunk(f"{head}data: {text}\n\n".encode())
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no event here."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


@contextmanager
def serving() -> Iterator[Model]:
    """A model server on a free port of 127.0.0.1."""
    model = Model()
    handler = type("Handler", (_Handler,), {"model": model})
    with _Server(("127.0.0.1", 0), handler) as server:
        model.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield model
        finally:
            server.shutdown()


def last_words(text: str) -> str:
    """The end of a long text, for messages of failures."""
    return re.sub(r"\s+", " ", text)[-400:]
