"""A real Claude Code with a home of its own, a scripted model, and a stand-in for `clankie`."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

from clankie.core.seat import Entry, EventKind, SeatEvent
from clankie.host.clock import SystemClock, SystemIds
from clankie.host.panes import OpenPane, Pane, PaneError
from clankie.panes.tmux import TmuxPanes
from clankie.seats.claude import ADAPTER
from clankie.seats.claude.joined import Joined
from clankie.seats.claude.registry import session
from clankie.seats.claude.rows import reader
from clankie.seats.claude.stream import Stream
from clankie.seats.folder import Folder
from clankie.seats.journal import Journal
from clankie.seats.launch import Launch, Means, Place
from fakes.until import until
from harnesses.model import Model

BUSY = "~tool mcp__plugin_clankie_clankie__wait {}"
"""A tool of the stand-in that runs until `Lab.go`."""
ASKS = (
    """~tool Bash {"command": "python3 -c 'open(\\"made\\", \\"w\\")'", "description": "make it"}"""
)
"""Something that the client asks about first."""
KEY = "sk-ant-api03-" + "0" * 40
STAND_IN = Path(__file__).parent / "stand_in.py"


@dataclass
class Lab:
    """Where one client lives. `subscriber`: it behaves as with a subscription, which has limits."""

    root: Path
    model: Model
    program: Path
    subscriber: bool = False
    clock: SystemClock = field(default_factory=SystemClock)
    _count: int = 0

    def __post_init__(self) -> None:
        for name in ("home/.claude", "work", "seat", "bin", "notes"):
            (self.root / name).mkdir(parents=True)
        (self.root / "seat").chmod(0o700)
        (self.root / "bin" / "claude").symlink_to(self.program.resolve())
        # Without it the client wants to reach its vendor, and asks about the folder and the key.
        first = {
            "hasCompletedOnboarding": True,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.work): {"hasTrustDialogAccepted": True}},
        }
        (self.root / "home/.claude/.claude.json").write_text(json.dumps(first))

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def config(self) -> str:
        return str(self.root / "home/.claude")

    @property
    def environment(self) -> dict[str, str]:
        secret = (
            {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-none-0000000000"}
            if self.subscriber
            else {"ANTHROPIC_API_KEY": KEY}
        )
        return {
            "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
            "HOME": str(self.root / "home"),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "CLAUDE_CONFIG_DIR": self.config,
            "ANTHROPIC_BASE_URL": self.model.url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "CLANKIE_STAND_IN": str(self.root / "notes"),
            "CLANKIE_SEAT_GRANT": str(self.root / "seat" / "grant.json"),
            **secret,
        }

    def place(self, *, headless: bool = False, resume: str | None = None) -> Place:
        return Place(
            folder=self.root / "seat",
            harness="claude",
            conversation="c-1",
            directory=str(self.work),
            environment=self.environment,
            program=(sys.executable, "-P", str(STAND_IN)),
            resume=resume,
            headless=headless,
        )

    def means(self, place: Place) -> Means:
        journal = Journal(Folder(str(self.root / "seat")), self.clock)
        return Means(place=place, clock=self.clock, ids=SystemIds(), ledger=journal)

    def event(self, kind: EventKind, content: str, *, reply: bool = False) -> SeatEvent:
        self._count += 1
        now = self.clock.now()
        return SeatEvent(
            id=f"d-{self._count}",
            kind=kind,
            source="test",
            content=content,
            created_at=now,
            deadline=now + timedelta(minutes=5),
            conversation="c-1",
            attempt=1,
            generation=1,
            reply=reply,
            attribution={"principal": "operator"} if kind is EventKind.TURN else {},
        )

    def go(self) -> None:
        """Let the tool end that waits."""
        (self.root / "notes" / "go").touch()

    def calls(self) -> list[dict[str, Any]]:
        """How the stand-in was called."""
        file = self.root / "notes" / "calls.jsonl"
        return [json.loads(one) for one in file.read_text().splitlines()] if file.exists() else []

    def hooks(self) -> list[str]:
        """Which hooks ran."""
        return [one["given"]["hook_event_name"] for one in self.calls() if "arguments" in one]


@dataclass
class Sat:
    """A seat that runs. `journal` gives what it was handed to the reader of its transcript."""

    lab: Lab
    harness: Joined | Stream
    journal: Journal
    panes: TmuxPanes | None = None
    pane: Pane | None = None

    async def hand(self, event: SeatEvent) -> object:
        """As the pump does: noted before its words leave."""
        self.journal.begin(event, "b-1")
        return await self.harness.hand_over(event)

    def rows(self) -> list[dict[str, Any]]:
        path = self.harness.transcript
        if path is None or not path.exists():
            return []
        return [json.loads(one) for one in path.read_bytes().splitlines() if one.strip()]

    def entries(self) -> list[Entry]:
        """The whole transcript as our reader reads it."""
        reading = reader(self.journal.known())
        path = self.harness.transcript
        lines = path.read_bytes().splitlines() if path is not None and path.exists() else []
        return [entry for line in lines for entry in reading.read(line)]

    def proven(self, event: SeatEvent) -> list[Entry]:
        """The rows that prove this event."""
        found = [one for one in self.entries() if one.evidence is not None]
        return [one for one in found if one.evidence and one.evidence.event == event.id]

    def status(self) -> str:
        found = session(self.lab.config, self.harness.native.pid)
        return "" if found is None else found.status

    async def idle(self) -> None:
        """Until no turn runs any more."""
        await until(lambda: self.status() in {"idle", "shell"}, why=self.status)

    def shown(self) -> str:
        """What the screen shows."""
        assert self.panes is not None
        assert self.pane is not None
        return "\n".join(self.panes.run("capture-pane", "-p", "-t", self.pane.id))

    def key(self, *keys: str) -> None:
        """Keys that a person presses."""
        assert self.panes is not None
        assert self.pane is not None
        self.panes.run("send-keys", "-t", self.pane.id, *keys)

    async def prompt(self, text: str) -> None:
        """A prompt that a person types."""
        self.key("-l", text)
        await self.lab.clock.sleep(0.5)
        self.key("Enter")


def command(launch: Launch, environment: Mapping[str, str]) -> Sequence[str]:
    """The program with this environment and nothing of ours; `env` becomes the program."""
    given = {**environment, **launch.env}
    return ("env", "-i", *(f"{name}={value}" for name, value in given.items()), *launch.argv)


@asynccontextmanager
async def terminal(lab: Lab, *, resume: str | None = None) -> AsyncIterator[Sat]:
    """A client in a pane of a tmux of its own, joined."""
    with tempfile.TemporaryDirectory(prefix="clk-") as folder:
        panes = TmuxPanes(socket=f"{folder}/tmux", config="/dev/null")
        place = lab.place(resume=resume)
        launch = ADAPTER.launch(place)
        try:
            pane = await panes.open(
                OpenPane(
                    argv=command(launch, place.environment),
                    directory=str(lab.work),
                    session="seat",
                    title="seat",
                )
            )
            found = await until(lambda: session(lab.config, pane.pid))
            assert found is not None
            await until(Path(found.socket).exists)
            means = replace(
                lab.means(place),
                session_id=found.session_id,
                pid=pane.pid,
                panes=panes,
                pane=pane.id,
            )
            async with ADAPTER.join(means) as harness:
                # The server of tools is up last; before it the client takes no prompt.
                await until(lambda: any("bridge" in one for one in lab.calls()))
                journal = cast("Journal", means.ledger)
                yield Sat(lab, cast("Joined", harness), journal, panes, pane)
        finally:
            with suppress(PaneError):  # it ended with its last pane
                panes.run("kill-server")


@asynccontextmanager
async def headless(lab: Lab, *, resume: str | None = None) -> AsyncIterator[Sat]:
    """A client that we own, without a terminal."""
    means = lab.means(lab.place(headless=True, resume=resume))
    async with AsyncExitStack() as stack:
        harness = await stack.enter_async_context(ADAPTER.drive(means))
        yield Sat(lab, cast("Stream", harness), cast("Journal", means.ledger))
