"""Answers as bytes: what plain routes send, without a framework between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.responses import Response

if TYPE_CHECKING:
    from starlette.types import Send

JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer. `headers` are lower-case names with their values."""

    status: int
    body: bytes
    media_type: str = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()

    async def send(self, send: Send) -> None:
        """Head and body."""
        head = [
            (b"content-type", self.media_type.encode()),
            (b"content-length", b"%d" % len(self.body)),
            *self.headers,
        ]
        await send({"type": "http.response.start", "status": self.status, "headers": head})
        await send({"type": "http.response.body", "body": self.body})


class Json(Response):
    """What routes of the framework return: encoded here, not modelled twice."""

    media_type = JSON

    def render(self, content: Any) -> bytes:  # noqa: ANN401 - anything JSON can say
        """Encode once."""
        return msgspec.json.encode(content)


def done() -> Response:
    """204: it was done and there is nothing to add."""
    return Response(status_code=204)
