"""A model server that outlives the service, and so can say what it was asked.

It obeys the last command it finds in the last message, `COMMAND [MARK]`, where the mark is the id
of the delivery:

  say      answer
  mark     call the tool leave_mark with the mark, then answer
  wake     call the tool schedule_wake, due at once, with the text `say [wake-of-MARK]`, then answer
  fragile  as wake, with the text `break [wake-of-MARK]`; slow: with `hold [wake-of-MARK]`
  hold     answer nothing until released, then say; begin: the same after a first word
  break    refuse for good; reject: refuse the credential
  leak     refuse, and repeat the credential in the words of the refusal
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from fakes.model_server import call_events, delta, problem, text_events

COMMANDS = "say|mark|wake|fragile|slow|hold|begin|break|reject|leak"
COMMAND = re.compile(rf"({COMMANDS}) \[([A-Za-z0-9._:/-]+)\]")
WAKES = {"wake": "say", "fragile": "break", "slow": "hold"}
REFUSALS = {"break": (400, "I was asked to break."), "reject": (401, "Who are you?")}
PATIENCE = 60.0
"""Seconds after which a held answer is given up; only a failing test waits that long."""


def command_in(body: dict[str, Any]) -> tuple[str, str]:
    """The command that a request asks to obey, and its mark."""
    last = body["messages"][-1]
    if last["role"] == "tool":
        return "told", last["tool_call_id"]
    content = last["content"]
    if not isinstance(content, str):  # a message with attachments comes in parts
        content = " ".join(part.get("text", "") for part in content)
    found: list[tuple[str, str]] = COMMAND.findall(content)
    return found[-1] if found else ("say", "?")


def spoken(command: str, mark: str) -> list[bytes]:
    """The stream of an answer: words, or a call of a tool."""
    match command:
        case "mark":
            return call_events(("leave_mark", json.dumps({"mark": mark})))
        case "wake" | "fragile" | "slow":
            wanted = {"in_seconds": 0.001, "text": f"{WAKES[command]} [wake-of-{mark}]"}
            return call_events(("schedule_wake", json.dumps(wanted)))
        case _:
            return text_events(f"said {mark}")


class ModelServer:
    """Enter it to listen on a free port. `asked` counts how often it was asked about each mark."""

    def __init__(self, observe: Callable[[], None] = lambda: None) -> None:
        self.asked: Counter[str] = Counter()
        self.leaked: list[str] = []
        self._observe = observe
        self._changed = threading.Condition()
        self._released: set[str] = set()
        self._closed = False
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def wait_asked(self, mark: str, times: int = 1) -> None:
        """Until it was asked that often about this mark."""
        with self._changed:
            came = self._changed.wait_for(lambda: self.asked[mark] >= times, PATIENCE)
        assert came, f"the model was never asked about {mark}: {self.asked}"

    def release(self, mark: str) -> None:
        """Let the answer that is held for this mark go on."""
        with self._changed:
            self._released.add(mark)
            self._changed.notify_all()

    def answer(
        self, body: dict[str, Any], bearer: str, write: Callable[[int, list[bytes]], None]
    ) -> None:
        """Obey the command of a request; `write` is called once for each part of the answer."""
        command, mark = command_in(body)
        with self._changed:
            if command != "told":
                self.asked[mark] += 1
            self._changed.notify_all()
        self._observe()
        if command in REFUSALS or command == "leak":
            write(*self._refusal(command, bearer))
            return
        if command == "begin":
            write(200, [delta(role="assistant", content="I begin. ")])
        if command in {"begin", "hold"}:
            self._hold(mark)
        write(200, spoken(command, mark))

    def _refusal(self, command: str, bearer: str) -> tuple[int, list[bytes]]:
        if command == "leak":
            self.leaked.append(bearer)
        status, words = REFUSALS.get(command, (400, f"I know {bearer}, {bearer[7:]}."))
        return status, [problem(words).encode()]

    def _hold(self, mark: str) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or mark in self._released, PATIENCE)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            begun = False

            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                bearer = self.headers.get("authorization", "")
                try:
                    asked = self.rfile.read(length)
                    if len(asked) == length:
                        owner.answer(json.loads(asked), bearer, self._write)
                except ConnectionError:
                    pass  # the service was killed meanwhile
                self.close_connection = True

            def _write(self, status: int, chunks: list[bytes]) -> None:
                if not self.begun:
                    self.begun = True
                    self.send_response(status)
                    self.send_header("Content-Type", "text/event-stream")
                    self.end_headers()
                self.wfile.write(b"".join(chunks))
                self.wfile.flush()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Nothing: the tests ask `asked`."""

        return Handler
