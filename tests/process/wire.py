"""HTTP to a service that may die at any moment: every answer is whole, or `GoneError`."""

import http.client
import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

TIMEOUT = 60.0
"""Seconds without a byte after which a test has failed; nothing depends on its length."""
MANY = 20_000
"""Questions after which one that is never answered as hoped has failed."""


class GoneError(Exception):
    """The connection broke before a whole answer: nobody knows what became of the request."""


@dataclass(frozen=True)
class Answer:
    """An answer as it came."""

    status: int
    headers: dict[str, str]
    data: bytes

    @property
    def body(self) -> dict[str, Any]:
        """The JSON object, empty when there was none."""
        found: dict[str, Any] = json.loads(self.data or b"{}")
        return found

    @property
    def code(self) -> str:
        return str(self.body.get("code", ""))


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=TIMEOUT)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.sock.settimeout(TIMEOUT)
            self.sock.connect(str(self._path))
        except OSError:
            self.sock.close()
            raise


@dataclass(frozen=True)
class Client:
    """The operator at the service's socket, or at its address when `url` is given."""

    home: Path
    url: str | None = None

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        """One request on a connection of its own.

        Raises:
            GoneError: nobody listens, or the connection broke.
        """
        data = None if body is None else json.dumps(body).encode()
        return self._ask(method, path, data, "application/json")

    def _ask(self, method: str, path: str, data: bytes | None, media_type: str) -> Answer:
        connection, headers = self.connect(), self.bearer()
        if data is not None:
            headers["Content-Type"] = media_type
        try:
            connection.request(method, path, body=data, headers=headers)
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        except (OSError, http.client.HTTPException) as error:
            raise GoneError(f"{method} {path}: {error!r}") from error
        finally:
            connection.close()

    def bearer(self) -> dict[str, str]:
        """The header that proves who we are."""
        token = (self.home / "operator.token").read_text(encoding="ascii").strip()
        return {"Authorization": f"Bearer {token}"}

    def connect(self) -> http.client.HTTPConnection:
        """A connection, not yet opened."""
        if self.url is None:
            return _UnixConnection(self.home / "service.sock")
        parts = urlsplit(self.url)
        return http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=TIMEOUT)

    def send(
        self, delivery: str, text: str, conversation: str = "global-default", **fields: object
    ) -> Answer:
        """Offer an input."""
        body = {"delivery_id": delivery, "text": text, **fields}
        return self.ask("POST", f"/v1/conversations/{conversation}/inputs", body)

    def receipt(self, delivery: str, wait: float = 0) -> Answer:
        """The receipt as it stands, or once it has ended or is uncertain."""
        return self.ask("GET", f"/v1/deliveries/{quote(delivery, safe='')}?wait={wait:g}")

    def known(self, delivery: str) -> dict[str, Any]:
        """The receipt once its outcome is known, or known to be unknowable."""
        found = self.receipt(delivery, wait=20)
        assert found.status == 200, found
        return found.body

    def events(self, conversation: str = "global-default", after: int = 0) -> list[dict[str, Any]]:
        """The whole log from there."""
        found: list[dict[str, Any]] = []
        more = True
        while more:
            cursor = found[-1]["cursor"] if found else after
            path = f"/v1/conversations/{conversation}/events?after={cursor}&limit=500"
            page = self.ask("GET", path)
            assert page.status == 200, page
            found += page.body["events"]
            more = page.body["has_more"]
        return found

    def set(self, group: str, **values: object) -> None:
        """Change settings."""
        path = "/v1/settings"
        revision = self.ask("GET", path).body["revision"]
        changed = self.ask("PATCH", path, {"expected_revision": revision, group: values})
        assert changed.status == 200, changed

    def upload(self, name: str, data: bytes) -> Answer:
        """Offer a text file."""
        return self._ask("POST", f"/v1/attachments?name={quote(name)}", data, "text/plain")

    def download(self, digest: str) -> bytes:
        """The bytes of a file that was kept."""
        found = self.ask("GET", f"/v1/attachments/{digest}")
        assert found.status == 200, found
        return found.data

    def _grown(self) -> Iterator[list[dict[str, Any]]]:
        """The log of the head in pieces, each once there is one; what is there now comes first."""
        after = 0
        while True:
            path = f"/v1/conversations/global-default/events?after={after}&wait=20"
            page = self.ask("GET", path).body
            assert page["events"], "the log does not grow"
            yield page["events"]
            after = page["next_cursor"]

    def woken(self) -> dict[str, Any]:
        """The receipt of the first wake, which the service admits by itself when it is due."""
        for events in self._grown():
            for one in events:
                if one.get("role") == "external":
                    return self.known(one["delivery_id"])
        raise AssertionError

    def held_wake(self) -> str:
        """The delivery of the one wake, once it is held: each of its failures adds to the log."""
        for _ in self._grown():
            listed = self.ask("GET", "/v1/wakes").body["wakes"]
            if listed and listed[0].get("held"):
                return str(listed[0]["delivery_id"])
        raise AssertionError

    def goal_ended(self) -> dict[str, Any]:
        """The goal of the head, once it is pursued no more: that adds to the log."""
        for _ in self._grown():
            goal: dict[str, Any] = self.ask("GET", "/v1/conversations/global-default/goal").body
            if goal["goal"]["state"] != "active":
                return dict(goal["goal"])
        raise AssertionError

    def found(self, words: str) -> list[int]:
        """Where the head's log has these words, once the index has followed it to its end."""
        head = self.events()[-1]["cursor"]
        path = f"/v1/conversations/global-default/search?q={quote(words)}"
        for _ in range(MANY):
            page = self.ask("GET", path)
            assert page.status == 200, page
            if page.body["indexed"] >= head:
                return [one["cursor"] for one in page.body["results"]]
        raise AssertionError(path)
