"""The real pi in a seat of a test's own, without a service."""

import asyncio
import base64
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from clankie.core.seat import Activity, Entry
from clankie.host.clock import SystemIds
from clankie.seats.launch import Means, Place
from clankie.seats.pi import ADAPTER
from clankie.seats.pi.adapter import PiSeat
from clankie.seats.pi.rows import reader
from clankie.seats.port import Seen
from harnesses.codex_seat import CLOCK, Notebook
from harnesses.install import Harnesses
from harnesses.model import Model

_CLAIM: Final = json.dumps({"https://api.openai.com/auth": {"chatgpt_account_id": "a-1"}})
APIS: Final = {
    "openai-completions": "/v1",
    "openai-responses": "/v1",
    "openai-codex-responses": "",
    "anthropic-messages": "",
}
"""The wires of providers that the scripted model speaks, and where each begins."""


@dataclass
class Pi:
    """A pi of a test's own."""

    place: Place
    model: Model
    notebook: Notebook = field(default_factory=Notebook)
    seen: list[Seen] = field(default_factory=list[Seen])

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[PiSeat]:
        means = Means(place=self.place, clock=CLOCK, ids=SystemIds(), ledger=self.notebook)
        async with ADAPTER.drive(means) as seat:
            assert isinstance(seat, PiSeat)
            async with asyncio.TaskGroup() as tasks:
                hearing = tasks.create_task(self._hear(seat))
                try:
                    yield seat
                finally:
                    hearing.cancel()

    async def _hear(self, seat: PiSeat) -> None:
        async for one in seat.seen():
            self.seen.append(one)

    async def gives(self, seat: PiSeat, name: str, words: str) -> str:
        handed = await seat.hand_over(self.notebook.event(name, words))
        values = (getattr(handed, slot) for slot in handed.__slots__)
        return " ".join([type(handed).__name__, *map(str, values)])

    def rows(self, seat: PiSeat) -> list[Entry]:
        if seat.transcript is None or not seat.transcript.exists():
            return []
        rows = reader(self.notebook.known())
        return [e for line in seat.transcript.read_bytes().splitlines() for e in rows.read(line)]

    def proven(self, seat: PiSeat) -> list[str]:
        return [row.evidence.event for row in self.rows(seat) if row.evidence is not None]

    def said(self, seat: PiSeat) -> list[str]:
        return [row.text for row in self.rows(seat) if row.kind.value == "assistant"]

    def ends(self) -> list[Entry]:
        """How runs ended that gave no answer, as it reports them itself."""
        found = [one.observation for one in self.seen if one.observation is not None]
        return [entry for one in found for entry in one.entries]

    def activities(self) -> list[Activity]:
        found = [one.observation.activity for one in self.seen if one.observation is not None]
        return [one for one in found if one is not None]

    def waits(self) -> bool:
        return self.activities()[-1:] == [Activity.WAITING]


def pi(
    tmp_path: Path,
    harnesses: Harnesses,
    model: Model,
    api: str = "openai-completions",
    retry: dict[str, Any] | None = None,
) -> Pi:
    """A fresh one below this folder. `retry` as in its settings: when it tries again by itself."""
    home, work, folder = tmp_path / "home", tmp_path / "work", tmp_path / "state" / "seats" / "s-1"
    agent = home / ".pi" / "agent"
    agent.mkdir(parents=True)
    work.mkdir()
    folder.mkdir(parents=True, mode=0o700)
    scripted = {
        "baseUrl": f"{model.url}{APIS[api]}",
        "api": api,
        # As a login has it: the account stands in the token.
        "apiKey": f"x.{base64.b64encode(_CLAIM.encode()).decode()}.y",
        "models": [{"id": "scripted-1", "contextWindow": 128000, "maxTokens": 4000}],
    }
    (agent / "models.json").write_text(json.dumps({"providers": {"scripted": scripted}}))
    choice: dict[str, Any] = {"defaultProvider": "scripted", "defaultModel": "scripted-1"}
    if retry is not None:
        choice["retry"] = retry
    (agent / "settings.json").write_text(json.dumps(choice))
    environment = {
        "PATH": f"{harnesses.pi.parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "PI_CODING_AGENT_DIR": str(agent),
        "PI_OFFLINE": "1",
        "PI_TELEMETRY": "0",
        "PI_SKIP_VERSION_CHECK": "1",
    }
    place = Place(
        folder=folder,
        harness="pi",
        conversation="c-1",
        directory=str(work),
        environment=environment,
        program=("true",),
        headless=True,
    )
    return Pi(place, model)
