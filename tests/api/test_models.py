"""Models of conversations, models there are, what was used, servers of tools, goals, logout."""

import asyncio
from typing import Any

from api.kit import HERE, Api
from api.test_login import logged_in
from clankie.core.conversation import Usage
from clankie.core.errors import McpServerNotFoundError
from clankie.host.ports import LaneResult, McpStatus, TurnHost, TurnRequest
from fakes.lane import waits


async def revision(api: Api) -> int:
    return int((await api.get(HERE)).json["revision"])


async def change(api: Api, **fields: object) -> Any:
    body = {"expected_revision": await revision(api), **fields}
    return await api.ask("PATCH", HERE, body)


async def test_a_conversation_may_have_a_model_of_its_own(api: Api) -> None:
    # proves: DAY-2
    after = await change(api, model="openai-chat:large")
    assert (after.status, after.json["model"]) == (200, "openai-chat:large")
    await api.send("hello", "m-1")
    await api.settled("m-1")
    assert api.hall.lane.requests[0].settings.models.model == "openai-chat:large"
    back = await change(api, model=None, name="other")
    assert "model" not in back.json
    assert back.json["name"] == "other"
    await api.send("hello", "m-2")
    await api.settled("m-2")
    assert api.hall.lane.requests[1].settings.models.model == "practice"


async def test_a_change_names_what_it_changes_and_the_revision_it_saw(api: Api) -> None:
    for fields in ({"model": "nothing"}, {"model": "a:b c"}, {"model": "x" * 201}):
        refused = await change(api, **fields)
        assert (refused.status, refused.code) == (422, "invalid_field"), fields
    assert (await change(api)).json == (await api.get(HERE)).json
    stale = await api.ask("PATCH", HERE, {"expected_revision": 7, "model": "practice"})
    assert (stale.status, stale.code) == (409, "revision_conflict")


async def test_the_service_says_which_model_answers_and_why(api: Api) -> None:
    # proves: SEC-3
    found = (await api.get("/v1/models")).json
    assert found["current"]["provider"] == "practice"
    assert [one["source"] for one in found["choices"]] == ["practice"]
    settings = {"models": {"model": "openai-chat:any", "base_url": "http://127.0.0.1:1/v1"}}
    await api.ask("PATCH", "/v1/settings", {**settings, "expected_revision": 0})
    found = (await api.get("/v1/models")).json
    assert found["current"] == found["choices"][0]
    assert found["current"]["model"] == "any"
    assert found["current"]["address"] == "http://127.0.0.1:1/v1"
    assert found["choices"][1]["provider"] == "practice"


async def costs(_request: TurnRequest, _host: TurnHost) -> LaneResult:
    usage = Usage(input_tokens=100, output_tokens=20, requests=2, model="m", cost_usd=0.25)
    return LaneResult(text="done", usage=usage)


async def test_every_turn_and_every_day_says_what_it_cost(api: Api) -> None:
    # proves: DAY-2
    api.hall.lane.plays(costs)
    await api.send("hello", "m-1")
    await api.settled("m-1")
    turn = (await api.hall.log())[-1]
    assert turn["usage"]["cost_usd"] == 0.25
    found = (await api.get("/v1/usage?days=3")).json
    assert len(found["days"]) == 3
    assert found["today"] == found["days"][-1]
    assert found["today"]["input_tokens"] == 100
    assert found["today"]["cost_usd"] == 0.25
    assert found["days"][0]["cost_usd"] is None
    assert found["daily_tokens"] == api.hall.house.settings.models.daily_tokens
    assert (await api.get("/v1/usage?days=0")).status == 422


class Bank:
    """A server whose tools changed."""

    def __init__(self) -> None:
        self.agreed: list[tuple[str, str]] = []

    def status(self) -> list[McpStatus]:
        return [McpStatus(name="notes", state="changed", tools=("read", "write"), hash="abc")]

    def settings_changed(self) -> None:
        """Nothing runs."""

    async def agree(self, name: str, hash_: str) -> None:
        if name != "notes":
            raise McpServerNotFoundError(name)
        self.agreed.append((name, hash_))


async def test_servers_of_tools_are_listed_and_their_changes_agreed_to(api: Api) -> None:
    bank = Bank()
    api.hall.house.mcp = bank
    (found,) = (await api.get("/v1/mcp-servers")).json
    assert found == {
        "name": "notes",
        "state": "changed",
        "tools": ["read", "write"],
        "sentence": "",
        "hash": "abc",
    }
    assert (await api.post("/v1/mcp-servers/notes/agree", {"hash": "abc"})).status == 204
    assert bank.agreed == [("notes", "abc")]
    unknown = await api.post("/v1/mcp-servers/other/agree", {"hash": "abc"})
    assert (unknown.status, unknown.code) == (404, "mcp_server_not_found")
    assert (await api.post("/v1/mcp-servers/notes/agree", {})).status == 422


async def test_a_server_that_is_switched_off_is_listed_and_not_agreed_to(api: Api) -> None:
    server = {"command": "notes", "on": False}
    servers = {"mcp": {"servers": {"notes": server}}, "expected_revision": 0}
    assert (await api.ask("PATCH", "/v1/settings", servers)).status == 200
    (found,) = (await api.get("/v1/mcp-servers")).json
    assert (found["name"], found["state"]) == ("notes", "off")
    answer = await api.post("/v1/mcp-servers/notes/agree", {"hash": "abc"})
    assert (answer.status, answer.code) == (409, "transition_refused")


async def test_a_goal_is_set_read_and_forgotten(api: Api) -> None:
    path = f"{HERE}/goal"
    assert (await api.get(path)).json == {"goal": None}
    hold = asyncio.Event()
    api.hall.lane.plays(waits(hold))
    put = await api.ask("PUT", path, {"text": "tidy up", "token_budget": 5})
    assert (put.status, put.json["goal"]["state"]) == (200, "active")
    assert (await api.get(path)).json["goal"]["text"] == "tidy up"
    assert (await api.ask("DELETE", path)).json == {"goal": None}
    assert (await api.get(path)).json == {"goal": None}
    hold.set()
    for bad in ({"text": " ", "token_budget": 5}, {"text": "x", "token_budget": 0}, {}):
        assert (await api.ask("PUT", path, bad)).status == 422
    nowhere = "/v1/conversations/nowhere/goal"
    assert (await api.get(nowhere)).code == "conversation_not_found"


async def test_logging_out_ends_the_session_of_this_browser_alone(api: Api) -> None:
    head, csrf = await logged_in(api)
    other, _ = await logged_in(api)
    refused = await api.post("/v1/logout", token=None, headers=head)
    assert (refused.status, refused.code) == (403, "not_allowed")
    gone = await api.post("/v1/logout", token=None, headers=head | {"x-clankie-csrf": csrf})
    assert gone.status == 204
    assert all("Max-Age=0" in one for one in gone.headers.get_list("set-cookie"))
    assert (await api.get("/v1/status", token=None, headers=head)).status == 401
    assert (await api.get("/v1/status", token=None, headers=other)).status == 200
    assert (await api.post("/v1/logout")).status == 204
    assert (await api.get("/v1/status")).status == 200
