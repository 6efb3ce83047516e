"""The service over its unix socket, as one seat calls it.

A request is sent once; who may repeat it, and when, is `patience`'s. Cancelling a poll closes its
connection, which tells the service that nobody waits for the answer.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote

import httpx2

from clankie.core.seat import cut
from clankie.seats import wire
from clankie.seats.service import (
    Begun,
    BusyError,
    MissingError,
    NotOursError,
    Page,
    RefusedError,
    SupersededError,
    UnreachableError,
)
from clankie.seats.transport import UnixTransport

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from clankie.core.seat import Entry, Report, SeatEvent
    from clankie.seats.port import Question
    from clankie.seats.service import Answered, Json, SeatWireError

DEADLINE: Final = 35.0
"""Seconds for a poll; the service ends its own after 30."""
TIMEOUT: Final = 20.0
_BUSY: Final = frozenset({429, 503})
_STOPS: Final = frozenset({"seat_superseded", "occupant_changed"})
_GOOD: Final = range(200, 300)


class Client:
    """One seat's part of the service. `token` is asked for at each request: it may be renewed."""

    def __init__(self, http: httpx2.AsyncClient, seat: str, token: Callable[[], str]) -> None:
        self._http, self._token = http, token
        self.seat = seat

    async def poll(self, binding: str, poll_id: str, wait: float) -> Page:
        """Ask for what waits; an empty page after at most `wait` seconds."""
        query = {"wait": f"{wait:g}", "binding": binding, "poll_id": poll_id}
        request = self._http.build_request(
            "GET", self._path("events"), params=query, headers=self._headers(), timeout=DEADLINE
        )
        return _page(await self._sent(request))

    async def ack(self, which: Answered) -> None:
        """The harness has it."""
        await self._say(which, "ack", {})

    async def refuse(self, which: Answered, reason: str) -> None:
        """Nothing was handed over."""
        await self._say(which, "refuse", {"reason": reason[:500] or "refused"})

    async def transcript(
        self, session_id: str, entries: Sequence[Entry], report: Report | None
    ) -> None:
        """Rows that the harness wrote; in as many requests as they need."""
        groups = list(wire.batches(wire.entry_to_json(one) for one in entries)) or [[]]
        for n, group in enumerate(groups, 1):
            body: Json = {"session_id": session_id, "entries": group}
            if report is not None and n == len(groups):
                body["activity"] = report.activity.value
                if report.at is not None:
                    body["activity_at"] = report.at.isoformat()
            await self._post("transcript", body)

    async def ask(self, question: Question) -> bool | None:
        """Put a question before the owner."""
        body: Json = {
            "id": question.id,
            "summary": wire.plain(question.summary)[:500],
            "detail": cut(wire.plain(question.detail)),
        }
        if question.event is not None:
            body["event"] = question.event
        answer = await self._post("approvals", body)
        return {"approved": True, "denied": False}.get(str(answer.get("state")))

    async def withdraw(self, question: str) -> None:
        """It no longer stands."""
        path = self._path(f"approvals/{quote(question, safe='')}")
        request = self._http.build_request("DELETE", path, headers=self._headers(), timeout=TIMEOUT)
        await self._sent(request)

    async def begin(self, session_id: str, source: str, sections: Sequence[str]) -> Begun:
        """What a session that begins should read."""
        body: Json = {"session_id": session_id, "source": source, "sections": list(sections)}
        answer = await self._post("session-start", body)
        return Begun(text=str(answer["text"]), projection_id=str(answer["projection_id"]))

    async def confirm(self, projection_id: str) -> None:
        """The session has read it."""
        await self._post("session-start", {"projection_id": projection_id})

    async def _say(self, which: Answered, verb: str, more: Json) -> None:
        body: Json = {"binding": which.binding, "attempt": which.attempt, **more}
        await self._post(f"events/{quote(which.event, safe='')}/{verb}", body)

    async def _post(self, path: str, body: Json) -> Json:
        request = self._http.build_request(
            "POST", self._path(path), json=body, headers=self._headers(), timeout=TIMEOUT
        )
        return await self._sent(request)

    def _path(self, rest: str) -> str:
        return f"/v1/seats/{quote(self.seat, safe='')}/{rest}"

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token()}", "Accept": "application/json"}

    async def _sent(self, request: httpx2.Request) -> Json:
        try:
            response = await self._http.send(request)
        except httpx2.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise UnreachableError(f"The service did not answer ({reason}).") from error
        try:
            answer: Any = response.json() if response.content else {}
        except ValueError:
            answer = {}
        known = cast("Json", answer) if isinstance(answer, dict) else {}
        if response.status_code not in _GOOD:
            raise _error(response, known)
        return known


@asynccontextmanager
async def connected(
    socket: str, seat: str, token: Callable[[], str]
) -> AsyncGenerator[Client, None]:
    """A client of the service that listens at this unix socket."""
    http = httpx2.AsyncClient(
        transport=UnixTransport(socket), base_url="http://localhost", trust_env=False
    )
    async with http:
        yield Client(http, seat, token)


def _page(answer: Json) -> Page:
    events: list[SeatEvent] = []
    malformed: list[tuple[str, int, str]] = []
    for one in answer.get("events", []):
        try:
            events.append(wire.event_of(one))
        except (KeyError, TypeError, ValueError) as error:
            malformed.append((str(one.get("id", "")), int(one.get("attempt", 0)), str(error)))
    return Page(
        events=events,
        malformed=malformed,
        superseded=answer.get("superseded") is True,
        interrupts=[
            (str(one["event"]), int(one["attempt"])) for one in answer.get("interrupts", [])
        ],
        decisions=[
            (str(one["approval"]), one["decision"] == "approve")
            for one in answer.get("decisions", [])
        ],
        renew=answer.get("renew") is True,
    )


def _error(response: httpx2.Response, problem: Mapping[str, Any]) -> SeatWireError:
    status = response.status_code
    code = str(problem.get("code", f"http_{status}"))
    sentence = str(problem.get("detail", "The service refused."))
    if status in _BUSY or status not in range(400, 500):
        return BusyError(f"{sentence} ({code})", _seconds(response.headers.get("Retry-After")))
    if code in _STOPS:
        return SupersededError(status, code, sentence)
    match status:
        case 401:
            return NotOursError(status, code, sentence)
        case 404:
            return MissingError(status, code, sentence)
        case _:
            return RefusedError(status, code, sentence)


def _seconds(header: str | None) -> float | None:
    try:
        return None if header is None else max(0.0, float(header))
    except ValueError:
        return None
