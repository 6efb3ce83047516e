"""All that knows the SDK: connecting, listing, calling. Loaded when the first server is started.

Requests are made one by one and not through the SDK's helpers: those check results against a schema
of the server's own, whose patterns could keep the whole service busy, and answer questions that a
server asks back.
"""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import mcp_types as types
from mcp import Client, MCPError
from pydantic import ValidationError

from clankie import __version__
from clankie.lanes.mcp.offer import TOOLS, Described

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from mcp.client._transport import TransportStreams
    from mcp.client.session import ClientSession, IncomingMessage

RESULT: Final = 65_536
"""Bytes of a result that are handed on."""

_PAGES: Final = 32
_R = TypeVar("_R", bound=types.Result)


class ServerSaidNoError(Exception):
    """The server answered with an error; its words are not trusted."""


class NoAnswerError(Exception):
    """What came is no answer to what was asked."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool said; `failed` when it says so itself."""

    text: str
    failed: bool


@asynccontextmanager
async def connected(
    transport: AbstractAsyncContextManager[TransportStreams],
    limit: float,
    changed: Callable[[], None],
) -> AsyncGenerator[Wire, None]:
    """A session. Sampling, roots and questions to the user are not offered, so they are refused.

    `changed` is called when the server says that its list of tools is another one.
    """

    async def heed(message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            changed()

    client = Client(
        transport,
        read_timeout_seconds=limit,
        message_handler=heed,
        client_info=types.Implementation(name="clankie", version=__version__),
        cache=None,
    )
    async with client:
        yield Wire(client.session)


class Wire:
    """An open session."""

    def __init__(self, session: ClientSession) -> None:
        self._session = session

    async def tools(self) -> list[Described]:
        """The whole list, page by page, as far as it is bounded.

        Raises:
            ServerSaidNoError, NoAnswerError.
        """
        found: list[Described] = []
        cursor: str | None = None
        for _ in range(_PAGES):
            request = types.ListToolsRequest(params=types.PaginatedRequestParams(cursor=cursor))
            page = await self._asked(request, types.ListToolsResult, None)
            found += [_described(tool) for tool in page.tools]
            cursor = page.next_cursor
            if not cursor or len(found) > TOOLS:
                return found
        raise NoAnswerError("its list of tools has no end")

    async def call(self, name: str, arguments: Mapping[str, Any], limit: float) -> Answer:
        """Run a tool.

        Raises:
            ServerSaidNoError, NoAnswerError.
        """
        request = types.CallToolRequest(
            params=types.CallToolRequestParams(name=name, arguments=dict(arguments))
        )
        result = await self._asked(request, types.CallToolResult, limit)
        return Answer(_text(result), result.is_error)

    async def _asked(self, request: types.ClientRequest, kind: type[_R], limit: float | None) -> _R:
        try:
            return await self._session.send_request(request, kind, limit)
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED:
                raise ConnectionError("it ended before it answered") from error
            raise ServerSaidNoError(error.message) from error
        except (ValidationError, ValueError, TypeError) as error:
            raise NoAnswerError("what it sent is not what was asked for") from error


def _described(tool: types.Tool) -> Described:
    hints = tool.annotations
    return Described(
        name=tool.name,
        title=tool.title or "",
        description=tool.description or "",
        schema=tool.input_schema,
        read_only=hints is not None and hints.read_only_hint is True,
    )


def _text(result: types.CallToolResult) -> str:
    pieces = [_piece(block) for block in result.content]
    structured = cast("object", result.structured_content)
    if not pieces and structured is not None:
        pieces = [json.dumps(structured, ensure_ascii=False)]
    whole = "\n".join(pieces).encode("utf-8", "replace")
    text = whole[:RESULT].decode("utf-8", "ignore")
    return text if len(whole) <= RESULT else f"{text}\n[{len(whole) - RESULT} bytes left out]"


def _piece(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.ImageContent() | types.AudioContent():
            return f"[{block.type} {block.mime_type}, {len(block.data)} characters, not shown]"
        case types.ResourceLink():
            return f"[link to {block.uri}]"
        case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
            return resource.text
        case types.EmbeddedResource():
            return f"[data of {block.resource.uri}, not shown]"
