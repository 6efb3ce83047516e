"""Any OpenAI-compatible chat server, over one shared HTTP client.

Rule 1: a credential goes to the origin it was stored for, and over plain http to this machine only.
Rule 2: redirects are not followed, proxies and certificates of the environment are not used.
Rule 3: an error may be repeated only when the server cannot have begun an answer: the connection
        was refused, or its status said 429 or 5xx.

This module loads the HTTP library (about 20 MiB); the lane imports it when a model first needs it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import httpx2

from clankie.lanes.assembly import Assembly
from clankie.lanes.model import (
    ModelBadResponseError,
    ModelCredentialError,
    ModelError,
    ModelInsecureError,
    ModelRequest,
    ModelTimeoutError,
    ModelUnreachableError,
    Part,
)
from clankie.lanes.openai_wire import body
from clankie.lanes.refusals import Asking, refusal
from clankie.lanes.sse import DONE, Lines

if TYPE_CHECKING:
    from clankie.host.ports import Clock
    from clankie.lanes.endpoint import Endpoint

CONNECT: Final = 10.0
"""Seconds to reach a server."""

_KEEP: Final = 4.0  # seconds; common servers drop an idle connection after five
_DRAIN: Final = 0.2  # seconds to let a finished response end, so that its connection is used again
_ERROR_BODY: Final = 1 << 16


def make_client() -> httpx2.AsyncClient:
    """The client that all models of a lane share."""
    return httpx2.AsyncClient(
        follow_redirects=False,
        trust_env=False,
        limits=httpx2.Limits(
            max_connections=None, max_keepalive_connections=64, keepalive_expiry=_KEEP
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIChat:
    """A model at an address. `silence` is the longest wait for a byte, in seconds.

    `quote` makes words of the server fit for a sentence: short, clean, without secrets.
    """

    client: httpx2.AsyncClient
    endpoint: Endpoint
    secret: str | None
    silence: float
    clock: Clock
    quote: Callable[[str], str]

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Part, None]:
        """Ask, and give the answer as it comes."""
        headers = self._headers()
        timeout = httpx2.Timeout(self.silence, connect=CONNECT, pool=None)
        assembly = Assembly(self.quote)
        try:
            async with self.client.stream(
                "POST",
                self.endpoint.url,
                content=body(self.endpoint.model, request),
                headers=headers,
                timeout=timeout,
            ) as response:
                await self._check(response)
                async with aclosing(_parts(response, assembly)) as parts:
                    async for part in parts:
                        yield part
        except httpx2.TransportError as error:
            # What broke after the end of the answer takes nothing from it.
            if assembly.reason is None:
                raise self._broken(error) from error
        for part in assembly.end():
            yield part

    def _headers(self) -> dict[str, str]:
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            "accept-encoding": "identity",
        }
        secret, at = self.secret, self.endpoint
        if secret is None:
            return headers
        if not (at.encrypted or at.loopback):
            raise ModelInsecureError(
                f"Nothing was sent: {at.origin} is not encrypted and is another machine, so the "
                f"credential {at.provider!r} would travel in the clear. Use an https address "
                "(`clankie settings set models.base_url …`), or remove the credential."
            )
        if not (secret.isascii() and secret.isprintable()) or " " in secret:
            raise ModelCredentialError(
                f"The credential {at.provider!r} holds characters that cannot be sent. Store it "
                f"again with {at.remedy}."
            )
        return {**headers, "authorization": f"Bearer {secret}"}

    async def _check(self, response: httpx2.Response) -> None:
        if response.is_success:
            coding = response.headers.get("content-encoding", "identity").strip().lower()
            if coding not in {"", "identity"}:
                raise ModelBadResponseError(
                    f"The model server compressed its answer ({self.quote(coding)}) although "
                    "it was asked not to. Look at the server, or at the proxy before it."
                )
            return
        words = await _beginning(response)
        raise refusal(
            response.status_code,
            response.headers,
            words,
            Asking(self.endpoint, self.quote, self.clock.now()),
        )

    def _broken(self, error: httpx2.TransportError) -> ModelError:
        where = self.endpoint.origin
        mend = "set another address with `clankie settings set models.base_url …`"
        match error:
            case httpx2.ConnectTimeout():
                return ModelUnreachableError(
                    f"No connection to the model server at {where} within {CONNECT:g} seconds. "
                    f"Start it, or {mend}."
                )
            case httpx2.ConnectError():
                return ModelUnreachableError(
                    f"Nobody answers at {where}. Start the model server, or {mend}.",
                    repeatable=True,
                )
            case httpx2.TimeoutException():
                return ModelTimeoutError(
                    f"The model server at {where} sent nothing for {self.silence:g} seconds. Send "
                    "the message again, or raise models.request_timeout with "
                    "`clankie settings set`."
                )
            case _:
                return ModelBadResponseError(
                    f"The connection to the model server at {where} broke before the answer was "
                    "complete. Send the message again."
                )


async def _parts(response: httpx2.Response, assembly: Assembly) -> AsyncGenerator[Part, None]:
    lines = Lines()
    async with aclosing(response.aiter_raw()) as chunks:
        async for data in chunks:
            for payload in lines.feed(data):
                if payload == DONE:
                    assembly.done()
                    await _drain(chunks)
                    return
                for part in assembly.take(payload):
                    yield part
    for payload in lines.end():
        if payload == DONE:
            assembly.done()
            return
        for part in assembly.take(payload):
            yield part


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    try:
        async with asyncio.timeout(_DRAIN):
            async for _ in chunks:
                pass
    except TimeoutError:
        return  # the connection is given up; the answer is complete


async def _beginning(response: httpx2.Response) -> bytes:
    found = b""
    async with aclosing(response.aiter_raw()) as chunks:
        async for data in chunks:
            found += data
            if len(found) >= _ERROR_BODY:
                break
    return found[:_ERROR_BODY]
