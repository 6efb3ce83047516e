"""The interface against its own description: random requests, good and bad, to a real server."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from api.bridge import seated
from api.kit import open_api
from clankie.api.app import Routes
from clankie.api.openapi import describe
from clankie.api.serve import Server
from clankie.wiring.processes import LinuxProcesses
from fakes.clock import FakeClock
from fakes.hall import Machine

EXAMPLES = 5
OF_SEATS = r"^/v1/seats/\{seat\}/(events|session-start|transcript|approvals)"
described = describe(Routes().framework)
schema = (
    schemathesis.openapi.from_dict(described)
    .exclude(path="/v1/feed")  # a stream whatever is asked: it has tests of its own
    .exclude(path="/v1/backups")  # writes where it is told to
    .exclude(path_regex=OF_SEATS)  # nobody but a seat gets far there
)


of_seats = schemathesis.openapi.from_dict(described).include(path_regex=OF_SEATS)


class Live:
    """A house on a loop of its own, in a thread."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.url = self.secret = self.seat = self.token = ""
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)
        self._loop.close()

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        async with Machine(self.home, FakeClock(), processes=LinuxProcesses()).on() as hall:
            server = Server(hall.house)
            self.url = await server.start(
                host="127.0.0.1", port=0, socket=self.home / "service.sock"
            )
            self.secret = (self.home / "operator.token").read_text().strip()
            await hall.send("hello")
            bridge = await seated(open_api(hall, self.home))
            self.seat, self.token = bridge.seat, bridge.token
            self._ready.set()
            await self._stop.wait()
            hall.house.stopping = True
            hall.house.feed.close()
            await server.close()


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with Live(tmp_path_factory.mktemp("live")) as found:
        yield found


def tame(case: schemathesis.Case[Any]) -> None:
    """Take back what no schema can say, and what would wait; what is wrong stays wrong."""
    query = case.query or {}
    if isinstance(query.get("q"), str) and 1 <= len(query["q"]) <= 200:
        query["q"] = "hello"
    if case.path == "/v1/attachments":
        tame_upload(case, query)
    if number(query.get("wait")):
        query["wait"] = 0
    if number(query.get("before")) and number(query.get("after")):
        del query["after"]
    case.body = clean(case.body)
    if isinstance(case.body, dict):
        tame_body(case.body)


def tame_upload(case: schemathesis.Case[Any], query: dict[str, Any]) -> None:
    """What a picture is, and what a name may hold, other tests hold."""
    if isinstance(query.get("name"), str) and 1 <= len(query["name"]) <= 120:
        query["name"] = "printable"
    if str(case.media_type).startswith("image/"):
        case.media_type = "text/plain"
        case.headers["Content-Type"] = "text/plain"
    case.body = b"some text"


def tame_body(body: dict[str, Any]) -> None:
    for name in ("name", "label"):
        if isinstance(body.get(name), str) and 1 <= len(body[name]) <= 80:
            body[name] = "printable"
    if str(body.get("origin")).startswith(("http://", "https://")):
        body["origin"] = "https://example.com"
    tame_settings(body)
    if isinstance(body.get("attachments"), list):
        # How many go with a message is a setting.
        body["attachments"] = body["attachments"][:8]
    if body.get("kind") == "workspace":
        body["directory"] = "/srv/code"
    elif str(body.get("directory")).startswith("/"):
        del body["directory"]


def tame_settings(body: dict[str, Any]) -> None:
    """Servers, addresses and time zones have rules of their own, which other tests hold."""
    models = body.get("models")
    for name in ("base_url", "confirmed_local"):
        if isinstance(models, dict) and isinstance(models.get(name), str):
            models[name] = models[name] if len(models[name]) > 500 else ""
    if isinstance(body.get("mcp"), dict):
        body["mcp"].pop("servers", None)
    time = body.get("time")
    if isinstance(time, dict) and isinstance(time.get("zone"), str) and len(time["zone"]) <= 64:
        time["zone"] = "UTC"


def clean(body: Any) -> Any:
    """Without the character that is refused everywhere."""
    if isinstance(body, str):
        return body.replace("\0", "")
    if isinstance(body, list):
        return [clean(one) for one in body]
    if isinstance(body, dict):
        return {clean(name): clean(one) for name, one in body.items()}
    return body


def at_its_seat(case: schemathesis.Case[Any], seat: str) -> None:
    """Mostly at the seat that there is; one that cannot be stays what it is."""
    named = case.path_parameters.get("seat")
    if isinstance(named, str) and named:
        case.path_parameters["seat"] = seat


def number(given: object) -> bool:
    try:
        return float(str(given)) >= 0
    except ValueError:
        return False


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_what_it_does_is_what_it_says(case: schemathesis.Case[Any], live: Live) -> None:
    tame(case)
    case.call_and_validate(
        base_url=live.url, headers={"Authorization": f"Bearer {live.secret}"}, timeout=20
    )


@of_seats.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_what_it_says_to_a_seat_is_what_it_does(case: schemathesis.Case[Any], live: Live) -> None:
    tame(case)
    at_its_seat(case, live.seat)
    case.call_and_validate(
        base_url=live.url, headers={"Authorization": f"Bearer {live.token}"}, timeout=20
    )
