"""How a harness's transcript is read, for tests: lines of ``{"id", "text"}``."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from clankie.core.seat import Activity, Entry, EntryKind, Evidence, Proof
from clankie.seats.rows import Known

AT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


class FakeRows:
    """Each line is a row, or as many as ``"rows"`` says."""

    def __init__(self, known: Known, shown: "FakeTranscripts") -> None:
        self._known, self._shown = known, shown
        self.activity: Activity | None = None

    def read(self, line: bytes) -> Sequence[Entry]:
        self._shown.read += len(line) + 1
        try:
            row = json.loads(line)
        except ValueError:
            return ()
        if "activity" in row:
            self.activity = Activity(row["activity"])
            return ()
        proof = self._known.ids.get(row["id"])
        evidence = None
        if proof is not None:
            event, attempt = proof
            evidence = Evidence(event=event, attempt=attempt, proof=Proof.UUID, value=row["id"])
        return [
            Entry(
                id=f"{row['id']}{'' if n == 0 else f'.{n}'}",
                kind=EntryKind.ASSISTANT,
                at=AT,
                text=row.get("text", ""),
                evidence=evidence,
            )
            for n in range(row.get("rows", 1))
        ]


class FakeTranscripts:
    """The module `rows` of a harness whose transcripts lie in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.read = 0

    def reader(self, known: Known) -> FakeRows:
        return FakeRows(known, self)

    def folders(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        del environment
        return (str(self.folder),)

    def activity(self, hook: Mapping[str, object]) -> Activity | None:
        return Activity.WAITING if hook.get("hook_event_name") == "Stop" else None
