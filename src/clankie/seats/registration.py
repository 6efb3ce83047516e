"""The one exchange of a grant for a seat, whoever of hook, bridge and driver comes first.

Rule: whoever holds the lock exchanges the grant and writes down what it got; the others read that.
The grant is worth nothing afterwards, and its path stays what names the folder.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from clankie.seats import process, unix
from clankie.seats.folder import NotASeatError, SeatFolderError

if TYPE_CHECKING:
    from clankie.seats.folder import Folder, Json

GRANT: Final = "grant.json"
SEAT: Final = "seat.json"
PID: Final = "pid"
GOOD: Final = range(200, 300)


class ServiceRefusedError(SeatFolderError):
    """The service said no: `status` is HTTP's, `code` its own."""

    def __init__(self, status: int, problem: Json) -> None:
        self.status, self.code = status, str(problem.get("code", f"http_{status}"))
        super().__init__(f"{problem.get('detail', 'The service refused.')} ({self.code})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seated:
    """A registered seat. `began` is when its process started, empty where nothing proves it."""

    seat: str
    token: str
    conversation: str
    harness: str
    session_id: str
    pid: int
    began: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """Who comes to sit. `pid` 0: the one that the pane's launcher wrote down, else our parent."""

    session_id: str
    pid: int = 0
    pane: str | None = None


def seated(folder: Folder) -> Seated | None:
    """Who sits here; None before the grant was exchanged."""
    found = folder.read(SEAT)
    try:
        return None if found is None else Seated(**found)
    except TypeError:
        return None


def sit(folder: Folder, who: Seated) -> None:
    """Keep who sits here."""
    folder.write(SEAT, asdict(who))


def register(folder: Folder, who: Arrival) -> Seated:
    """Exchange the grant for a seat, or read what another process has already got for it.

    Raises:
        NotASeatError: there is neither a grant nor a seat.
        ServiceRefusedError: it says why.
        WireError: no answer came. Where something was sent, the grant may be used up.
    """
    with folder.locked("register"):
        found = seated(folder)
        if found is not None:
            return found
        grant = folder.read(GRANT)
        if grant is None:
            raise NotASeatError(
                "The grant of this seat is gone. Open it again with `clankie seat open`."
            )
        made = _exchanged(folder, grant, who)
        sit(folder, made)
        folder.remove(GRANT)
        return made


def _exchanged(folder: Folder, grant: Json, who: Arrival) -> Seated:
    pid = who.pid or launched(folder) or os.getppid()
    began = process.started_at(pid)
    body: Json = {
        "grant": grant["grant"],
        "harness": grant["harness"],
        "native": {"session_id": who.session_id, "pid": pid, "process_started_at": began},
        "capabilities": grant.get("capabilities") or {},
    }
    if who.pane:
        body["pane"] = who.pane
    answer = post(folder, "/v1/seats", body, token=None)
    return Seated(
        seat=str(answer["seat"]),
        token=str(answer["token"]),
        conversation=str(answer.get("conversation", grant["conversation"])),
        harness=str(grant["harness"]),
        session_id=who.session_id,
        pid=pid,
        began=began,
    )


def inherited(folder: Folder) -> bool:
    """Whether this process belongs to another harness, which only inherited the seat's folder."""
    found = seated(folder)
    harness = found.pid if found is not None else launched(folder)
    return bool(harness) and process.nested(harness, os.getpid())


def launched(folder: Folder) -> int:
    """The harness's process as the pane's launcher wrote it down; 0 where none did."""
    text = folder.get(PID).strip()
    return int(text) if text.isdigit() else 0


def post(folder: Folder, path: str, body: Json, *, token: str | None) -> Json:
    """POST a JSON object to the service; the answer's.

    Raises ServiceRefusedError, or WireError when no whole answer came.
    """
    headers = {"Accept": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    status, data = unix.call(
        folder.socket, f"POST {path}", headers=headers, body=json.dumps(body).encode()
    )
    try:
        answer: Any = json.loads(data) if data else {}
    except ValueError:
        answer = {}
    known = cast("Json", answer) if isinstance(answer, dict) else {}
    if status not in GOOD:
        raise ServiceRefusedError(status, known)
    return known
