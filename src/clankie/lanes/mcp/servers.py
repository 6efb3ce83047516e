"""All servers of the settings: what the owner sees of them, and the tools that turns get."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self, cast

from clankie.core.errors import McpServerNotFoundError, TransitionRefusedError
from clankie.host.framing import one_line
from clankie.host.ports import McpStatus
from clankie.lanes.mcp.link import Link, Means, ServerGoneError, State
from clankie.lanes.tools import DETAIL_LIMIT, Done, ToolFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from clankie.core.mcp import McpServer
    from clankie.core.settings import Settings
    from clankie.lanes.mcp.offer import Offered
    from clankie.lanes.model import ToolSpec
    from clankie.lanes.tools import AnyTool, Bench

START: Final = 15.0
"""Seconds from the start of a server, or of looking at it again, for which turns wait for it."""

FRESH: Final = 30.0
"""Seconds for which a list of tools is taken to be what the server still offers."""

ARGUMENTS: Final = 262_144


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideTool:
    """A tool that a server offers. Implements `AnyTool`."""

    link: Link
    offered: Offered
    seen: str
    effect: bool

    @property
    def name(self) -> str:
        """``server__tool``."""
        return self.offered.name

    def spec(self) -> ToolSpec:
        """As a model is told of it."""
        return self.offered.spec

    def read(self, written: str) -> dict[str, Any]:
        """The arguments; whether they fit is for the server to say. Raises ToolFailedError."""
        try:
            given = json.loads(written.strip() or "{}") if len(written) <= ARGUMENTS else None
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            raise ToolFailedError(f"{self.name} was not run: its arguments must be a JSON object.")
        return cast("dict[str, Any]", given)

    async def run(self, arguments: dict[str, Any], bench: Bench) -> Done:
        """Call it."""
        unknown = "" if not self.effect else " What it did until then is not known."
        try:
            answer = await self.link.call(self.offered.remote, arguments, self.seen)
        except TimeoutError as error:
            limit = self.link.server.timeout
            raise ToolFailedError(
                f"{self.name} did not answer within {limit:g} seconds.{unknown}"
            ) from error
        except ServerGoneError as error:
            raise ToolFailedError(f"{self.name}: {error}.") from error
        except Exception as error:
            # Words of the server may stand in whatever the SDK raises.
            raise self._failed(bench, str(error)) from error
        if answer.failed:
            raise self._failed(bench, answer.text)
        return Done(self._quoted(bench, answer.text), one_line(answer.text, DETAIL_LIMIT))

    def _failed(self, bench: Bench, words: str) -> ToolFailedError:
        return ToolFailedError(
            f"{self.name} failed, and says:\n{self._quoted(bench, words)}",
            f"failed: {one_line(words, DETAIL_LIMIT)}",
        )

    def _quoted(self, bench: Bench, words: str) -> str:
        return bench.quoted("mcp", self.name, words)


class McpServers:
    """Implements `host.ports.McpBank` and `lanes.bank.Outside`. Leave it to end all servers."""

    def __init__(self, settings: Callable[[], Settings], means: Means) -> None:
        self._settings = settings
        self._means = means
        self._links: dict[str, Link] = {}
        self._all: set[Link] = set()
        self._tasks = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for link in list(self._all):
            link.stop()
        # Whatever ended the service is not the servers' failure: told of it, the group would wrap
        # it, and a taken port would no longer be recognised as that.
        del kind, error, trace
        await self._tasks.__aexit__(None, None, None)

    def settings_changed(self) -> None:
        """End what the settings do not name so any more; the rest is started when needed."""
        wanted = self._wanted()
        for name, link in list(self._links.items()):
            if wanted.get(name) != link.server:
                del self._links[name]
                link.stop()

    def status(self) -> Sequence[McpStatus]:
        """One for each server in the settings. Those that are on are started by looking."""
        self._start()
        servers = self._settings().mcp.servers
        return [self._status(name) for name in sorted(servers)]

    async def agree(self, name: str, hash_: str) -> None:
        """Use the tools that the server offers now.

        Raises:
            McpServerNotFoundError: the settings name none so.
            TransitionRefusedError: what it offers is not what `hash_` names.
        """
        if name not in self._settings().mcp.servers:
            raise McpServerNotFoundError(name)
        self._start()
        link = self._links.get(name)
        if link is None:
            raise TransitionRefusedError(f"The MCP server {name!r}", "off", "agreed to")
        await link.agree(hash_)

    async def tools(self) -> Mapping[str, AnyTool]:
        """Those of all servers that are ready, by name."""
        self._start()
        links = list(self._links.values())
        if not links:
            return {}
        now = self._means.clock.monotonic()
        for link in links:
            if now - link.listed_at > FRESH:
                link.look_again()
        async with asyncio.TaskGroup() as tasks:
            for link in links:
                tasks.create_task(link.settled(min(START, link.server.timeout)))
        return {tool.name: tool for link in links for tool in _tools(link)}

    def _wanted(self) -> Mapping[str, McpServer]:
        servers = self._settings().mcp.servers
        return {name: server for name, server in servers.items() if server.on}

    def _start(self) -> None:
        self.settings_changed()
        for name, server in self._wanted().items():
            if name not in self._links:
                self._links[name] = link = Link(name, server, self._means)
                self._all.add(link)
                self._tasks.create_task(self._through(link))

    async def _through(self, link: Link) -> None:
        try:
            await link.run()
        finally:
            self._all.discard(link)

    def _status(self, name: str) -> McpStatus:
        link = self._links.get(name)
        if link is None:
            return McpStatus(name=name, state="off", sentence="It is switched off.")
        tools = () if link.offer is None else tuple(one.name for one in link.offer.tools)
        return McpStatus(
            name=name,
            state=link.state,
            tools=tools,
            sentence=link.sentence,
            hash="" if link.offer is None else link.offer.hash,
        )


def _tools(link: Link) -> list[OutsideTool]:
    if link.state is not State.READY or link.offer is None:
        return []
    return [
        OutsideTool(
            link=link,
            offered=one,
            seen=link.offer.hash,
            effect=not (one.read_only and link.agreed),
        )
        for one in link.offer.tools
    ]
