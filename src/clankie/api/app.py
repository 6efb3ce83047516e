"""The application: gate, hot routes, and the framework's routes behind them."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from fastapi import FastAPI
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from starlette.exceptions import HTTPException
from starlette.routing import Route, Router

from clankie import __version__
from clankie.api import (
    attachments,
    bank_door,
    console,
    conversations,
    credentials,
    deliveries,
    events,
    feed,
    goals,
    inputs,
    login,
    models,
    openapi,
    reading,
    seat_events,
    seat_poll,
    seats,
    service,
    settings,
    tokens,
    wakes,
)
from clankie.api.door import ApiConfig, Door
from clankie.api.gate import Gate

if TYPE_CHECKING:
    from starlette.routing import BaseRoute
    from starlette.types import Receive, Scope, Send

    from clankie.host.house import House

_RESOURCES = (
    conversations,
    reading,
    goals,
    deliveries,
    wakes,
    settings,
    tokens,
    credentials,
    models,
    service,
    login,
    seats,
    seat_events,
)

_PARAMETER: Final = re.compile(r"\{[^}]*\}")


class Routes:
    """Hot routes first; what they do not know goes to the framework."""

    def __init__(self) -> None:
        self.framework = _framework()
        self.hot: list[BaseRoute] = [*inputs.routes(), *events.routes(), *feed.routes()]
        self.hot += [*seat_poll.routes(), *bank_door.routes()]
        self.hot += [*attachments.routes(), *reading.hot_routes(), *console.routes()]
        self.hot.extend(openapi.routes(self.framework))
        self._router = Router(self.hot, redirect_slashes=False, default=self.framework)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request that passed the gate."""
        scope["app"] = self.framework
        try:
            await self._router(scope, receive, send)
        except HTTPException as error:
            if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
                error.headers = {"Allow": self._allowed(scope["path"])}
            raise

    def _allowed(self, path: str) -> str:
        """The methods of a path, over all routes that share its most literal template."""
        found: dict[str, set[str]] = {}
        for route in (*self.hot, *self.framework.routes):
            if isinstance(route, Route) and route.path_regex.match(path):
                found.setdefault(route.path, set()).update(route.methods or ())
        literal = max(found, key=lambda template: len(_PARAMETER.sub("", template)))
        return ", ".join(sorted(found[literal]))


def _framework() -> FastAPI:
    app = FastAPI(
        title="Clankie",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False},
    )
    for resource in _RESOURCES:
        app.router.routes.extend(resource.routes.routes)
    # The gate turns every error into a problem; the framework's own layers would say it otherwise.
    app.middleware_stack = AsyncExitStackMiddleware(app.router)
    return app


def create_app(house: House, config: ApiConfig) -> Gate:
    """The ASGI application for a running house.

    It keeps nothing on disk and starts nothing: `serve.serving` puts it on sockets.
    """
    return Gate(Routes(), Door(house=house, config=config))
