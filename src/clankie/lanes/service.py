"""The service lane: picks the model that the settings name and runs turns on it.

It keeps sessions and, once a model over HTTP was needed, one client for all of them.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, Self

from clankie.host.framing import one_line
from clankie.host.ports import LaneError
from clankie.lanes.choice import LOCAL, Chooser
from clankie.lanes.endpoint import PRACTICE, endpoint
from clankie.lanes.model import ModelError, ModelPictureError
from clankie.lanes.practice import PracticeModel
from clankie.lanes.prices import Prices
from clankie.lanes.runner import Kit, Mind, Run
from clankie.lanes.session import Sessions, bound, key_of, seeded
from clankie.lanes.sight import sees
from clankie.lanes.tools import PLAIN

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    import httpx2

    from clankie.core.settings import Models
    from clankie.host.ports import Clock, Credentials, Ids, LaneResult, TurnHost, TurnRequest
    from clankie.lanes.endpoint import Endpoint
    from clankie.lanes.model import Spent
    from clankie.lanes.tools import Offers

PACE: Final = 0.01
"""Seconds between the words of the practice model: it is seen to write."""

_QUOTE: Final = 300
_HIDDEN: Final = "[secret]"


class ServiceLane:
    """Implements `host.ports.Lane`; `chooser` says which models there are, `bank` which tools.

    Leave it to close its connections.
    """

    def __init__(
        self,
        clock: Clock,
        ids: Ids,
        credentials: Credentials,
        *,
        pace: float = PACE,
        bank: Offers = PLAIN,
        prices: Prices | None = None,
    ) -> None:
        self._kit = Kit(clock=clock, ids=ids, tools={}, specs=())
        self._bank = bank
        self._credentials = credentials
        self._practice = PracticeModel(clock, pace)
        self._sessions = Sessions()
        self._prices = prices or Prices()
        self._blind: set[str] = set()
        self.chooser: Final = Chooser(credentials, self._opened, LOCAL)
        self._client: httpx2.AsyncClient | None = None
        self._opening = asyncio.Lock()
        self._model: str | None = None
        self._address: str | None = None
        self._last_error: str | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections to model servers; the next turn opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def run(self, request: TurnRequest, host: TurnHost) -> LaneResult:
        """Run one turn. A turn that does not end well takes its session with it.

        Raises:
            LaneError: every known failure.
        """
        # Taken before anything can fail: what does not end well is not put back.
        key = key_of(request.settings.models)
        session = self._sessions.take(request.conversation, bound(request.settings), key)
        mind = await self._chosen(request.settings.models)
        kit = await self._equipped(request, host)
        if session is None:
            session = seeded(await host.projection(), request.settings, self._kit.ids)
        self._sessions.lend(request.conversation, session)
        try:
            result = await Run(kit, mind, request, host, session).result()
        except LaneError as error:
            self._last_error = error.code
            if error.code == ModelPictureError.code:
                self._blind.add(key)
            raise
        else:
            self._last_error = None
            self._sessions.keep(request.conversation, session)
            return result
        finally:
            self._sessions.drop(request.conversation, session)

    async def _equipped(self, request: TurnRequest, host: TurnHost) -> Kit:
        tools = await self._bank.offered(request, host)
        return replace(self._kit, tools=tools, specs=[tool.spec() for tool in tools.values()])

    def evict(self, conversation: str) -> None:
        """Forget the session; a turn that uses it now will not bring it back."""
        self._sessions.evict(conversation)

    def status(self) -> dict[str, object]:
        """The model and address of the last turn, its error code if it failed, sessions kept."""
        return {
            "model": self._model,
            "endpoint": self._address,
            "last_error": self._last_error,
            "sessions": len(self._sessions),
        }

    async def _chosen(self, models: Models) -> Mind:
        self._model, self._address = models.model, None
        if models.model == PRACTICE:
            return Mind(model=self._practice)
        try:
            return await self._remote(models)
        except ModelError as error:
            self._last_error = error.code
            raise LaneError(error.code, error.detail) from error

    async def _remote(self, models: Models) -> Mind:
        at = endpoint(models)
        self._address = at.origin
        client = await self._opened()
        self._prices.prepare(at)
        from clankie.lanes.remote import RemoteModel  # noqa: PLC0415 - as in `_open`

        model = RemoteModel(
            client=client,
            endpoint=at,
            secret=self._credentials.secret_for(at.provider, at.origin),
            silence=models.request_timeout,
            clock=self._kit.clock,
            quote=self._quoted,
        )
        return Mind(
            model=model,
            sees=sees(at.model) and key_of(models) not in self._blind,
            cost=partial(self._cost, at),
        )

    async def _cost(self, at: Endpoint, spent: Sequence[Spent | None]) -> float | None:
        return await self._prices.cost(at, spent, self._kit.clock.now())

    async def _opened(self) -> httpx2.AsyncClient:
        async with self._opening:
            if self._client is None:
                # Loading the library and the certificates takes a while; other turns go on.
                self._client = await asyncio.to_thread(_open)
            return self._client

    def _quoted(self, words: str) -> str:
        for secret in self._credentials.known_secrets():
            words = words.replace(secret, _HIDDEN) if secret else words
        return one_line(words, _QUOTE)


def _open() -> httpx2.AsyncClient:
    # A service that talks to no model server stays small: the library is loaded at first use.
    from clankie.lanes.remote import make_client  # noqa: PLC0415 - see above

    return make_client()
