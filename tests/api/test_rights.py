"""Who may use which route: the whole matrix."""

import json
from typing import Any, cast

import pytest
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Route

from api.kit import HERE, Answer, Api
from clankie.api.app import Routes
from clankie.api.rights import PUBLIC, RIGHTS
from clankie.core.conversation import Principal
from clankie.core.driver import Presence, Standing
from clankie.core.ids import HEAD

HOLDERS = (
    Principal.OPERATOR,
    Principal.DEVICE,
    Principal.SEAT,
    Principal.WORKER,
    Principal.METRICS,
)
NAMES = {
    "{delivery:delivery}": "m-unknown",
    "{wake}": "w-unknown",
    "{token}": "t-unknown",
    "{name}": "model",
    "{digest}": "0" * 64,
    "{event:delivery}": "m-unknown",
    "{seat}": "seat-unknown",
    "{approval}": "q-unknown",
}
BINDING = "0f8fad5b-d9cb-469f-a165-70867728950e"
TAKEN = {"binding": BINDING, "attempt": 1}
EVENT = "/v1/seats/{seat}/events/{event:delivery}"
BODIES: dict[tuple[str, str], object] = {
    ("POST", "/v1/conversations"): {"request_id": "r-1", "name": "side", "kind": "global"},
    ("PATCH", "/v1/conversations/{conversation}"): {"name": "new", "expected_revision": 0},
    ("POST", "/v1/conversations/{conversation}/reset"): {"expected_revision": 0},
    ("POST", "/v1/conversations/{conversation}/inputs"): {"delivery_id": "m-1", "text": "hi"},
    ("POST", "/v1/conversations/{conversation}/cancel"): {},
    ("POST", "/v1/deliveries/{delivery:delivery}/settle"): {"as": "abandoned"},
    ("POST", "/v1/wakes/release"): {},
    ("PATCH", "/v1/settings"): {"expected_revision": 0},
    ("POST", "/v1/tokens"): {"principal": "device", "label": "phone"},
    ("PUT", "/v1/credentials/{name}"): {"origin": "https://example.com", "secret": "s"},
    ("POST", "/v1/backups"): {},
    ("POST", "/v1/login"): {"code": "WRONG234"},
    ("PUT", "/v1/conversations/{conversation}/goal"): {"text": "go on", "token_budget": 1},
    ("POST", "/v1/mcp-servers/{name}/agree"): {"hash": "abc"},
    ("POST", "/v1/seats/grants"): {"harness": "claude"},
    ("POST", "/v1/seats"): {
        "grant": "none",
        "harness": "claude",
        "native": {"session_id": "s-1", "pid": 1},
    },
    ("PUT", "/v1/seats/{seat}/attachment"): {"conversation": HEAD, "expected": None},
    ("POST", "/v1/seats/{seat}/session-start"): {"projection_id": "p-1"},
    ("POST", f"{EVENT}/ack"): TAKEN,
    ("POST", f"{EVENT}/refuse"): {**TAKEN, "reason": "busy"},
    ("POST", f"{EVENT}/reply"): {**TAKEN, "text": "hi"},
    ("POST", "/v1/seats/{seat}/transcript"): {"session_id": "s-1", "entries": []},
    ("POST", "/v1/seats/{seat}/approvals"): {"id": "q-1", "summary": "May I?"},
    ("POST", "/v1/approvals/{approval}"): {"decision": "deny", "expected_state": "pending"},
    ("POST", "/v1/mcp"): {},
}
QUERIES = {
    ("GET", "/v1/seats/{seat}/events"): f"?binding={BINDING}&poll_id=p-1",
    ("GET", "/v1/conversations/{conversation}/html"): "?cursors=1",
    ("GET", "/v1/conversations/{conversation}/search"): "?q=word",
    ("POST", "/v1/attachments"): "?name=a.txt",
}
STREAMS = {("GET", "/v1/feed")}


def routes_of(routes: list[BaseRoute]) -> set[tuple[str, str]]:
    found = set[tuple[str, str]]()
    for one in routes:
        assert isinstance(one, Route | APIRoute)
        found |= {(method, one.path) for method in one.methods or ()}
    return found


def every_route(api: Api) -> set[tuple[str, str]]:
    app = cast("Routes", api.app.app)
    framework = [one for one in app.framework.routes if isinstance(one, APIRoute)]
    assert len(framework) == len(app.framework.routes)
    return routes_of([*framework]) | routes_of(list(app.hot))


async def asked(
    api: Api, route: tuple[str, str], token: str | None, conversation: str = HEAD
) -> Answer:
    method, path = route
    for name, value in (NAMES | {"{conversation}": conversation}).items():
        path = path.replace(name, value)
    if route in STREAMS and token is not None:
        async with api.stream(path, token=token) as stream:
            if stream.status == 200:
                return Answer(200, cast("Any", None), b"{}")
            raw = await stream.chunk() or b"{}"
            return Answer(stream.status, cast("Any", None), raw)
    path += QUERIES.get(route, "")
    if route == ("POST", "/v1/attachments"):
        head = {"content-type": "text/plain"}
        return await api.ask(method, path, raw=b"words", headers=head, token=token)
    return await api.ask(method, path, BODIES.get(route), token=token)


async def test_every_route_stands_in_the_table_of_rights(api: Api) -> None:
    # proves: BASE-3
    assert every_route(api) == set(RIGHTS)


async def test_no_route_of_a_later_part_answers_yet(api: Api) -> None:
    for path in ("roster", "rooms", "play", "renders", "fleets"):
        answer = await api.get(f"/v1/{path}")
        assert (answer.status, answer.code) == (404, "not_found")


@pytest.mark.parametrize("principal", HOLDERS)
async def test_each_principal_may_use_its_routes_and_no_others(
    api: Api, principal: Principal
) -> None:
    # proves: BASE-3, CONV-2
    secret, side = await api.token(principal), await api.hall.make("side")
    for route, allowed in sorted(RIGHTS.items()):
        if route == ("POST", "/v1/seats"):
            continue  # it asks for no token, and is for the unix socket alone
        answer = await asked(api, route, secret, side)
        refused = answer.status == 403
        assert refused is (route not in PUBLIC and principal not in allowed), (route, answer)
        if refused:
            assert json.loads(answer.raw)["code"] == "not_allowed"


async def test_without_a_token_only_health_login_and_the_empty_console_answer(api: Api) -> None:
    # proves: BASE-3
    console = {("GET", "/"), ("GET", "/login"), ("GET", "/console/{file}")}
    proven = {("POST", "/v1/seats")}  # by a grant
    assert console | proven | {("GET", "/v1/health"), ("POST", "/v1/login")} == PUBLIC
    for route in sorted(set(RIGHTS) - PUBLIC):
        answer = await asked(api, route, None)
        assert (answer.status, answer.code) == (401, "token_missing"), route
        assert answer.headers["www-authenticate"].startswith("Bearer")
    assert (await api.get("/v1/health", token=None)).json == {"ok": True}
    unknown = await api.get("/v1/nothing", token=None)
    assert unknown.status == 401


@pytest.mark.parametrize(
    "given", ["Bearer nobody", "Basic b3BlcmF0b3I6eA==", "Bearer ", "Bearer \xe9"]
)
async def test_a_bearer_nobody_has_opens_nothing(api: Api, given: str) -> None:
    answer = await api.ask(
        "GET", "/v1/status", headers=cast("Any", {"authorization": given.encode("latin-1")})
    )
    assert answer.status == 401
    assert answer.code in {"token_unknown", "token_missing"}


async def test_a_seat_sees_only_the_conversation_it_is_attached_to(api: Api) -> None:
    # proves: CONV-2
    secret = await api.token(Principal.SEAT)
    found = api.hall.house.tokens.who(secret)
    assert found is not None
    name = found.principal.id
    paths = [HERE, f"{HERE}/events", f"{HERE}/projection", f"{HERE}/prompt"]
    for path in paths:
        answer = await api.get(path, token=secret)
        assert (answer.status, answer.code) == (404, "conversation_not_found")

    class Attached:
        def standing(self, conversation: str) -> Standing | None:
            seat = Standing(seat=name, occupant="o-1", presence=Presence.LIVE)
            return seat if conversation == HEAD else None

    api.hall.house.seats = Attached()
    another = api.hall.house.tokens.who(await api.token(Principal.DEVICE))
    assert another is not None
    own, name = name, another.principal.id
    assert (await api.get(HERE, token=secret)).code == "conversation_not_found"
    name = own
    for path in paths:
        assert (await api.get(path, token=secret)).status == 200
    side = await api.hall.make("side")
    other = await api.get(f"/v1/conversations/{side}/events", token=secret)
    assert other.status == 404
    assert (await api.send("hello", "m-1", token=secret)).status == 403
