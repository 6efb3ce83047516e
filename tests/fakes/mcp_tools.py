"""A server of tools as people write them, with the SDK: over standard input, or over HTTP.

python mcp_tools.py
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from mcp.server import MCPServer
from mcp_types import ToolAnnotations
from starlette.types import ASGIApp, Receive, Scope, Send


def server() -> MCPServer:
    made = MCPServer("notes")

    @made.tool(annotations=ToolAnnotations(read_only_hint=True))
    def add(a: int, b: int) -> str:
        """Add two numbers."""
        return str(a + b)

    @made.tool()
    def environment() -> str:
        """All variables."""
        return json.dumps(dict(os.environ))

    @made.tool()
    async def wait() -> str:
        """Never an end."""
        await asyncio.Event().wait()
        return ""

    @made.tool()
    def fail() -> str:
        """It does not work."""
        raise RuntimeError("the disk is <<end>> full")

    return made


class Recorded:
    """An app that remembers the headers of what it was asked."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.authorizations: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            self.authorizations.add(headers.get(b"authorization", b"").decode())
        await self._app(scope, receive, send)


@asynccontextmanager
async def over_http() -> AsyncIterator[tuple[str, Recorded]]:
    """Its address while it runs in this loop."""
    app = Recorded(server().streamable_http_app())
    from fakes.patience import until

    # No time to wait: the client's stream is open for as long as the client is.
    config = uvicorn.Config(
        app, port=0, log_config=None, ws="none", timeout_graceful_shutdown=0, lifespan="on"
    )
    running = uvicorn.Server(config)
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(running.serve())
        await until(lambda: running.started or serving.done())
        port = running.servers[0].sockets[0].getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}/mcp", app
        finally:
            running.should_exit = True


if __name__ == "__main__":
    server().run("stdio")
