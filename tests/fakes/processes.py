"""The port Processes for tests: a machine whose processes a test names."""

from collections.abc import Sequence

UID = 1_000
BOOT = "00000000-0000-0000-0000-000000000001"


class FakeProcesses:
    """Every process that was not named is a child of the first one, of the same user."""

    def __init__(self, *, proves: bool = True) -> None:
        self._proves = proves
        self._parents: dict[int, int] = {}
        self._uids: dict[int, int] = {}
        self._started: dict[int, int] = {}
        self._gone: set[int] = set()

    def runs(self, pid: int, *, parent: int = 1, uid: int = UID, ticks: int = 7) -> None:
        self._parents[pid], self._uids[pid], self._started[pid] = parent, uid, ticks
        self._gone.discard(pid)

    def ends(self, pid: int) -> None:
        self._gone.add(pid)

    @property
    def proves(self) -> bool:
        return self._proves

    def started_at(self, pid: int) -> str | None:
        if pid in self._gone or not self._proves:
            return None
        return f"linux:{BOOT}:{self._started.get(pid, 7)}"

    def ancestors(self, pid: int) -> Sequence[int]:
        found: list[int] = []
        while pid > 1:
            pid = self._parents.get(pid, 1)
            found.append(pid)
        return found

    def uid(self, pid: int) -> int | None:
        return None if pid in self._gone else self._uids.get(pid, UID)
