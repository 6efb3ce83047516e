"""A bridge in a process of its own, which is killed as the service is: `python -m process.bridge`.

It does what the pump of a harness does, with nothing else beside it: it notes an attempt before its
words leave, gives the words to the harness (a file beside, which outlives it), and says what became
of them. What stands in its notes it never gives again. The bindings of earlier processes stand
there too: words about what they were given are theirs.
"""

import json
import os
import select
import sys
from pathlib import Path
from random import Random
from typing import Any

from process.seat import ScriptedSeat
from process.wire import Client, GoneError

WAIT = 2.0
REFUSED = 0.15
FAULT = 500
PAUSE = 0.05


def pause() -> None:
    """A moment; the end when whoever started this is gone."""
    ended, _, _ = select.select([0], [], [], PAUSE)
    if ended:
        sys.exit(0)


class Notes:
    """Lines that are on disk before anything follows from them."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        whole = path.read_bytes().rpartition(b"\n")[0]
        self.lines: list[dict[str, Any]] = [json.loads(line) for line in whole.splitlines() if line]
        # A line that a kill cut off ends here.
        os.write(self._file, b"\n")

    def add(self, **fields: Any) -> None:
        os.write(self._file, json.dumps(fields).encode() + b"\n")
        os.fsync(self._file)
        self.lines.append(fields)


class Bridge:
    """One process of it. `effects` is where the harness notes what it was given."""

    def __init__(self, seat: ScriptedSeat, folder: Path, effects: Path, start: int) -> None:
        self._seat = seat
        self._taken = Notes(folder / "taken")
        self._given = Notes(effects)
        self._chance = Random(f"{seat.id} {start}")
        self._known = {(one["event"], one["attempt"]): one for one in self._taken.lines if one}
        self._start = start
        self._polls = 0

    def work(self) -> None:
        """Until it is killed."""
        for one in list(self._known.values()):
            if one["state"] in {"taken", "refused"}:
                self._patiently(one)
        while True:
            self._polls += 1
            for event in self._page(f"{self._start}-{self._polls}"):
                self._one(event)
                os.write(1, b"one\n")

    def _page(self, poll_id: str) -> list[dict[str, Any]]:
        while True:
            try:
                return self._seat.poll(WAIT, poll_id)
            except (GoneError, AssertionError):
                pause()

    def _one(self, event: dict[str, Any]) -> None:
        key = event["id"], event["attempt"]
        if key in self._known:
            return  # this process or one before it had it: never again
        it = {"event": key[0], "attempt": key[1], "binding": self._seat.binding}
        self._note({**it, "state": "handing"})
        if self._chance.random() < REFUSED:
            self._note({**it, "state": "refused"})
        else:
            for name in (*event.get("members", []), event["id"]):
                self._given.add(what="given", event=name, attempt=event["attempt"])
            self._note({**it, "state": "taken"})
        self._patiently(self._known[key])
        if self._known[key]["state"] == "taken" and event["kind"] != "message":
            self._shows(event)

    def _note(self, it: dict[str, Any]) -> None:
        self._taken.add(**it)
        self._known[it["event"], it["attempt"]] = it

    def _patiently(self, one: dict[str, Any]) -> None:
        """Say it until there is an answer, whichever."""
        verb = "ack" if one["state"] == "taken" else "refuse"
        body = {"binding": one["binding"], "attempt": one["attempt"]}
        if verb == "refuse":
            body["reason"] = "busy"
        while True:
            try:
                answer = self._seat.ask("POST", f"/events/{one['event']}/{verb}", body)
            except GoneError:
                pause()
                continue
            if answer.status < FAULT:
                return
            pause()

    def _shows(self, event: dict[str, Any]) -> None:
        """What the harness writes of it; lost where the service is away."""
        rows = [self._seat.shows(event, "its words"), self._seat.row("assistant", "done")]
        for number, row in enumerate(rows):
            row["id"] = f"row-{self._start}-{self._polls}-{event['id']}-{number}"
        body = {"session_id": self._seat.session, "entries": rows, "activity": "waiting"}
        try:
            self._seat.ask("POST", "/transcript", body)
        except GoneError:
            return


def main(home: str, folder: str, effects: str, start: str) -> None:
    """`start` counts the processes: each has a binding of its own."""
    seat = ScriptedSeat(Client(Path(home)))
    kept = json.loads((Path(folder) / "seat.json").read_text(encoding="utf-8"))
    seat.sits(kept["seat"], kept["token"], int(start))
    Bridge(seat, Path(folder), Path(effects), int(start)).work()


if __name__ == "__main__":
    main(*sys.argv[1:])
