"""Any model behind an address, over one shared HTTP client; what is said there is its dialect's.

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

from clankie.lanes import anthropic, google, openai_chat, responses
from clankie.lanes.endpoint import PROVIDERS, Protocol
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
from clankie.lanes.refusals import Asking, refusal
from clankie.lanes.sse import Lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clankie.host.ports import Clock
    from clankie.lanes.dialect import Dialect, Reader
    from clankie.lanes.endpoint import Endpoint

CONNECT: Final = 10.0
"""Seconds to reach a server."""

DIALECTS: Final[Mapping[Protocol, Dialect]] = {
    Protocol.CHAT: openai_chat.DIALECT,
    Protocol.MESSAGES: anthropic.DIALECT,
    Protocol.RESPONSES: responses.DIALECT,
    Protocol.GENERATE: google.DIALECT,
}

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
class RemoteModel:
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
        dialect = DIALECTS[self.endpoint.protocol]
        headers = self._headers(dialect)
        timeout = httpx2.Timeout(self.silence, connect=CONNECT, pool=None)
        reader = dialect.reader(self.quote)
        try:
            async with self.client.stream(
                "POST",
                self.endpoint.url,
                content=dialect.body(self.endpoint, request),
                headers=headers,
                timeout=timeout,
            ) as response:
                await self._check(response, pictures=bool(request.pictures))
                async with aclosing(_parts(response, reader)) as parts:
                    async for part in parts:
                        yield part
        except httpx2.TransportError as error:
            # What broke after the end of the answer takes nothing from it.
            if not reader.complete:
                raise self._broken(error) from error
        for part in reader.end():
            yield part

    def _headers(self, dialect: Dialect) -> dict[str, str]:
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            "accept-encoding": "identity",
            **dialect.headers,
        }
        secret, at = self.secret, self.endpoint
        if secret is None:
            if at.own and PROVIDERS[at.provider].paid:
                raise ModelCredentialError(
                    f"Nothing was sent: there is no credential {at.provider!r} for {at.origin}. "
                    f"Store one with {at.remedy}."
                )
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
        return {**headers, dialect.key: dialect.before + secret}

    async def _check(self, response: httpx2.Response, *, pictures: bool) -> None:
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
            Asking(self.endpoint, self.quote, self.clock.now(), pictures=pictures),
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


async def _parts(response: httpx2.Response, reader: Reader) -> AsyncGenerator[Part, None]:
    lines = Lines()
    async with aclosing(response.aiter_raw()) as chunks:
        async for data in chunks:
            for payload in lines.feed(data):
                for part in reader.take(payload):
                    yield part
                if reader.over:
                    await _drain(chunks)
                    return
    for payload in lines.end():
        for part in reader.take(payload):
            yield part
        if reader.over:
            return


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
