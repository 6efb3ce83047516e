"""Writes `schema.sql` and `released.sql`: run at a release, never to make a red test green.

.venv-dev/bin/python tests/store/make_fixtures.py
"""

import asyncio
import io
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import apsw
import apsw.shell

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]


async def fill(path: Path) -> None:
    """A database with one input of each kind that a restart treats differently."""
    from clankie.store.sqlite import SqliteStore
    from contracts.store_kit import admitted, answered, made, started
    from fakes.clock import FakeClock, FakeIds
    from fakes.crash import NoCrash

    async with SqliteStore(
        path,
        clock=FakeClock(),
        ids=FakeIds(),
        crash=NoCrash(),
        committed=lambda _events, _touched: None,
        inline=True,
    ) as store:
        await store.boot()
        await made(store, "den")
        await answered(store, "m-1")
        await admitted(store, "m-2")
        await started(store)
        await admitted(store, "m-3")


def schema(database: apsw.Connection) -> str:
    """Everything that was made, one statement a paragraph, in the order of names."""
    rows = database.execute(
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
        " ORDER BY type, name"
    )
    return "\n\n".join(re.sub(r"[ \t]+\n", "\n", str(row[0])) for row in rows) + "\n"


def dump(path: Path) -> None:
    """The whole database as statements, its mark included."""
    from clankie.store.sqlite import connect

    database = apsw.Connection(str(path))
    (HERE / "schema.sql").write_text(schema(database), encoding="utf-8")
    dumped = io.StringIO()
    say: Callable[[str], None] = apsw.shell.Shell(stdout=dumped, db=database).process_complete_line
    say(".dump")
    # Its comments name the machine and the day.
    kept = [line for line in dumped.getvalue().splitlines() if line and line[:2] != "--"]
    text = "\n".join([f"PRAGMA application_id = {connect.APPLICATION_ID};", *kept])
    (HERE / "released.sql").write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Write both files."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "clankie.db"
        asyncio.run(fill(path))
        dump(path)


if __name__ == "__main__":
    main()
