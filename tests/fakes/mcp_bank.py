"""The servers of tools as a turn sees them, with real programs behind."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from clankie.core.mcp import McpServer
from clankie.core.settings import DEFAULTS, Mcp
from clankie.host.clock import SystemClock
from clankie.host.ports import McpStatus
from clankie.lanes.calls import answered
from clankie.lanes.mcp.link import Means
from clankie.lanes.mcp.pins import FilePins
from clankie.lanes.mcp.servers import FRESH, McpServers
from clankie.lanes.messages import ToolCall
from clankie.lanes.tools import AnyTool, Bench
from fakes.clock import FakeIds
from fakes.credentials import FakeCredentials
from fakes.turn_host import FakeTurnHost

HERE = Path(__file__).parent
GOOD = McpServer(command=sys.executable, args=(str(HERE / "mcp_tools.py"),))


class AgingClock(SystemClock):
    """The real clock, which can be set forward: what was fresh is old then."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


class Servers:
    """`settings` may be replaced at any time, as the owner would."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.settings = DEFAULTS
        self.clock = AgingClock()
        self.credentials = FakeCredentials()
        self.host = FakeTurnHost()
        self.bank = self.fresh()

    def fresh(self) -> McpServers:
        """A bank as a new start of the service makes it."""
        means = Means(
            clock=self.clock,
            ids=FakeIds(),
            credentials=self.credentials,
            pins=FilePins(self.home / "mcp-pins.json"),
        )
        return McpServers(lambda: self.settings, means)

    def use(self, **servers: McpServer) -> None:
        self.settings = replace(DEFAULTS, mcp=Mcp(servers=servers))
        self.bank.settings_changed()

    def hostile(self, behaviour: str, tools: object = None, *, timeout: float = 20.0) -> McpServer:
        """Offers `tools`, one called `look` unless told otherwise."""
        self.offer([tool("look")] if tools is None else tools)
        script = str(HERE / "mcp_hostile.py")
        args = (script, behaviour, str(self.home / "offer.json"))
        return McpServer(command=sys.executable, args=args, timeout=timeout)

    def offer(self, tools: object) -> None:
        """What the hostile server offers from now on."""
        (self.home / "offer.json").write_text(json.dumps(tools), encoding="utf-8")

    def log(self) -> list[Any]:
        """What the hostile server noted."""
        path = self.home / "offer.log"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    def age(self) -> None:
        """Enough time passes for lists to be asked for again."""
        self.clock.ahead += FRESH + 1

    async def tools(self) -> dict[str, AnyTool]:
        """Those of a turn; a slow machine may need more than one turn's patience."""
        for _ in range(20):
            found = dict(await self.bank.tools())
            if all(one.state != "starting" for one in self.bank.status()):
                return found
        raise AssertionError(f"still starting: {self.bank.status()}")

    def one(self) -> McpStatus:
        [only] = self.bank.status()
        return only

    async def call(self, name: str, arguments: object = None, limit: float = 60.0) -> str:
        """What a model is told that calls it."""
        tools = await self.tools()
        written = json.dumps(arguments or {})
        return await answered(
            ToolCall("c", name, written), tools.get(name), self.bench(name), limit
        )

    def bench(self, call_id: str) -> Bench:
        return Bench(
            host=self.host,
            clock=self.clock,
            ids=FakeIds(),
            settings=self.settings,
            call_id=call_id,
        )


def tool(name: str, description: str = "Looks.", **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}}
    return {"name": name, "description": description, "inputSchema": schema, **more}


@asynccontextmanager
async def servers(home: Path) -> AsyncIterator[Servers]:
    """Leaving it ends all of them."""
    made = Servers(home)
    async with made.bank:
        yield made
