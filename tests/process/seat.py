"""A harness at its seat, as a test says what it does: over the real socket, with its own token."""

import http.client
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from clankie.core.seat import delivery_uuid
from process.wire import MANY, Answer, Client

HEAD: Final = "global-default"
AT: Final = "2026-11-30T12:00:00.000Z"
BINDINGS: Final = "00000000-0000-4000-8000-{:012}"


@dataclass(frozen=True)
class _Seated(Client):
    """A client under the seat's token."""

    token: str = ""

    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


class ScriptedSeat:
    """One native session, in the process of the test itself: that is who asks, for the kernel.

    `owner` is the operator's client. Every poll has an id of its own and waits at most `wait`
    seconds. `binding` counts the bridges. `can`: what its adapter declares.
    """

    def __init__(
        self, owner: Client, harness: str = "claude", session: str = "session-1", **can: bool
    ) -> None:
        self.owner = owner
        self.can = {"interrupt": True, **can}
        self.harness = harness
        self.session = session
        self.id = self.token = ""
        self.binding = BINDINGS.format(1)
        self._client = _Seated(owner.home)
        self._polls = 0
        self._rows = 0

    def open(self, conversation: str | None = HEAD, *, expected: str | None = None) -> Self:
        """With a grant: registered and attached."""
        body = {"conversation": conversation, "harness": self.harness, "expected": expected}
        grant = self.owner.ask("POST", "/v1/seats/grants", body)
        assert grant.status == 201, grant
        made = _Unnamed(self.owner.home).ask(
            "POST",
            "/v1/seats",
            {
                "grant": grant.body["grant"],
                "harness": self.harness,
                "native": {"session_id": self.session, "pid": os.getpid()},
                "capabilities": {**self.can, "version": "scripted"},
            },
        )
        assert made.status == 201, made
        self.id, self.token = str(made.body["seat"]), str(made.body["token"])
        self._client = _Seated(self.owner.home, token=self.token)
        return self

    def sits(self, seat: str, token: str, bridge: int) -> None:
        """Go on as the bridge of this number of a seat that was opened before."""
        self.id, self.binding = seat, BINDINGS.format(bridge)
        self.token = token
        self._client = _Seated(self.owner.home, token=token)

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        """A request about this seat, with its token."""
        return self._client.ask(method, f"/v1/seats/{self.id}{path}", body)

    def poll(self, wait: float = 10, poll_id: str | None = None) -> list[dict[str, Any]]:
        """The events of one page. Without any, it waited."""
        self._polls += 1
        name = poll_id or f"{self.binding[-4:]}-{self._polls}"
        query = f"wait={wait:g}&binding={self.binding}&poll_id={name}"
        page = self.ask("GET", f"/events?{query}")
        assert page.status == 200, page
        self.last: dict[str, Any] = page.body
        events: list[dict[str, Any]] = page.body["events"]
        return events

    def one(self, wait: float = 10) -> dict[str, Any]:
        """The one event of the next page."""
        (event,) = self.poll(wait)
        return event

    def row_of_roster(self) -> dict[str, Any]:
        """How the service lists it."""
        found = self.owner.ask("GET", "/v1/seats").body["seats"]
        (mine,) = [one for one in found if one["seat"] == self.id]
        return dict(mine)

    def parked(self) -> http.client.HTTPConnection:
        """A connection on which a poll waits; closing it breaks it off."""
        connection = self._client.connect()
        query = f"wait=30&binding={self.binding}&poll_id=broken"
        path = f"/v1/seats/{self.id}/events?{query}"
        connection.request("GET", path, headers=self._client.bearer())
        for _ in range(MANY):
            # While a poll waits no grace runs.
            if "grace_until" not in self.row_of_roster():
                return connection
        raise AssertionError

    def ack(self, event: Mapping[str, Any]) -> Answer:
        return self._about(event, "ack")

    def refuse(self, event: Mapping[str, Any], reason: str = "busy") -> Answer:
        return self._about(event, "refuse", reason=reason)

    def reply(self, event: Mapping[str, Any], text: str) -> Answer:
        return self._about(event, "reply", text=text)

    def _about(self, event: Mapping[str, Any], verb: str, **more: str) -> Answer:
        body = {"binding": self.binding, "attempt": event["attempt"], **more}
        answer = self.ask("POST", f"/events/{event['id']}/{verb}", body)
        assert answer.status == 200, answer
        return answer

    def restart_bridge(self) -> None:
        """Another process of the bridge: another binding."""
        self.binding = BINDINGS.format(int(self.binding[-12:]) + 1)

    def row(self, kind: str, text: str = "", **more: Any) -> dict[str, Any]:
        """The next row of its transcript."""
        self._rows += 1
        row = {"id": f"{self.session}-row-{self._rows}", "kind": kind, "at": AT, **more}
        return row | ({"text": text} if text else {})

    def shows(self, event: Mapping[str, Any], text: str) -> dict[str, Any]:
        """The row that proves an event: it has the id that was derived for this attempt."""
        value = delivery_uuid(event["id"], event["attempt"])
        evidence = {"event": event["id"], "attempt": event["attempt"], "proof": "uuid"}
        return self.row("user", text, delivery_evidence={**evidence, "value": value})

    def sync(self, *rows: Mapping[str, Any], activity: str | None = None) -> dict[str, Any]:
        """Send rows of the transcript, and what the session does."""
        body: dict[str, Any] = {"session_id": self.session, "entries": list(rows)}
        if activity is not None:
            body["activity"] = activity
        answer = self.ask("POST", "/transcript", body)
        assert answer.status == 200, answer
        return answer.body

    def asks(self, name: str, summary: str, detail: str = "") -> Answer:
        """Ask the owner for leave."""
        body = {"id": name, "summary": summary, "detail": detail}
        answer = self.ask("POST", "/approvals", body)
        assert answer.status in {200, 201}, answer
        return answer


@dataclass(frozen=True)
class _Unnamed(Client):
    """A client without a token: the grant is the proof."""

    def bearer(self) -> dict[str, str]:
        return {}
