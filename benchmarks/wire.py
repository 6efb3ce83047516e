"""A small HTTP/1.1 client on one kept connection: the client must not be what is measured."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pathlib import Path


class Connection:
    """One connection; requests go one after the other."""

    def __init__(self, port: int, token: str = "", *, socket: Path | None = None) -> None:
        self._port, self._socket = port, socket
        self._head = (
            f"Host: {'localhost' if socket else f'127.0.0.1:{port}'}\r\n"
            f"Authorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\n"
        )
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter

    async def __aenter__(self) -> Self:
        if self._socket is None:
            opened = asyncio.open_connection("127.0.0.1", self._port)
        else:
            opened = asyncio.open_unix_connection(self._socket)
        self._reader, self._writer = await opened
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Status and body of the answer, which must have a length."""
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\n{self._head}Content-Length: {len(data)}\r\n\r\n"
        self._writer.write(head.encode() + data)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
        return int(answer[9:12]), await self._reader.readexactly(length)

    async def done(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """The answer's JSON. Raises RuntimeError unless it is a 2xx."""
        status, data = await self.ask(method, path, body)
        if not 200 <= status < 300:
            message = f"{method} {path}: {status} {data.decode()}"
            raise RuntimeError(message)
        return json.loads(data) if data else None

    async def conversation(self, name: str) -> str:
        """Make one; its id."""
        body = {"request_id": name, "name": name, "kind": "global"}
        made = await self.done("POST", "/v1/conversations", body)
        return str(made.get("id") or made["conversation"]["id"])

    async def send(self, conversation: str, delivery: str, text: str) -> None:
        """Admit one input."""
        body = {"delivery_id": delivery, "text": text}
        await self.done("POST", f"/v1/conversations/{conversation}/inputs", body)

    async def turn(self, conversation: str, delivery: str, text: str = "Say it again.") -> None:
        """Admit one input and wait for its answer. Raises RuntimeError when it failed."""
        await self.send(conversation, delivery, text)
        receipt = await self.done("GET", f"/v1/deliveries/{delivery}?wait=30")
        receipt = receipt.get("delivery", receipt)
        if receipt["state"] != "settled":
            message = f"the turn {delivery} ended as {receipt}"
            raise RuntimeError(message)

    async def patch_settings(self, patch: dict[str, object]) -> None:
        """Change settings of the service."""
        at = (await self.done("GET", "/v1/settings"))["revision"]
        await self.done("PATCH", "/v1/settings", {**patch, "expected_revision": at})
