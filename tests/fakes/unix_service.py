"""A service on a unix socket: it answers what a test says, and keeps what it was asked."""

import json
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from typing import Any

Json = dict[str, Any]
Answer = tuple[int, Json]


class Server(ThreadingUnixStreamServer):
    """One thread for each connection."""

    daemon_threads = True

    def get_request(self) -> tuple[Any, Any]:
        # The handler of the standard library wants an address with a host.
        request, _ = super().get_request()
        return request, ("unix", 0)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that goes away in the middle of a poll does nothing wrong.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@dataclass
class Asked:
    """One request."""

    method: str
    path: str
    token: str | None
    body: Json


@dataclass
class UnixService:
    """`answer` decides; by default every verb of a seat succeeds."""

    home: Path
    asked: list[Asked] = field(default_factory=list)
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    meanwhile: Callable[[Asked], None] = lambda _: None

    def __post_init__(self) -> None:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self._serve()

            def do_GET(self) -> None:
                self._serve()

            def _serve(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                bearer = self.headers.get("Authorization")
                asked = Asked(
                    self.command,
                    self.path,
                    bearer.removeprefix("Bearer ") if bearer else None,
                    json.loads(self.rfile.read(length)) if length else {},
                )
                service.asked.append(asked)
                service.meanwhile(asked)
                status, body = service.answer(asked)
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                for name, value in service.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                return

        self._server = Server(str(self.home / "service.sock"), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def answer(self, asked: Asked) -> Answer:
        """The next scripted answer for this path; else that it was done."""
        verb = asked.path.partition("?")[0].rpartition("/")[2]
        if self.answers.get(verb):
            return self.answers[verb].pop(0)
        if asked.path == "/v1/seats":
            return 201, {"seat": "s-1", "token": "the-token", "conversation": "global-default"}
        if verb == "session-start" and "projection_id" not in asked.body:
            return 200, {"text": "What was said before.\n", "projection_id": "p-1"}
        return 200, {}

    def to(self, verb: str) -> list[Asked]:
        """The requests whose path ends so."""
        return [one for one in self.asked if one.path.partition("?")[0].endswith(verb)]

    def stop(self) -> None:
        """Nobody listens any more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        (self.home / "service.sock").unlink(missing_ok=True)
