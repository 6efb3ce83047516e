"""The log as pages and as a long poll."""

import asyncio
import json

import pytest

from api.kit import HERE, Api
from fakes.lane import drafts
from fakes.trouble import Trouble


async def filled(api: Api, count: int = 3) -> int:
    """Some turns in the log; its head."""
    for number in range(count):
        await api.send(f"text {number}", f"m-{number}")
        await api.settled(f"m-{number}")
    return len(await api.hall.log())


async def test_a_page_holds_the_events_as_they_are_stored(api: Api) -> None:
    # proves: CONV-4
    head = await filled(api)
    answer = await api.get(f"{HERE}/events")
    assert answer.status == 200
    assert answer.json["events"] == await api.hall.log()
    assert [one["cursor"] for one in answer.json["events"]] == [*range(1, head + 1)]
    assert answer.json["head_cursor"] == answer.json["next_cursor"] == head
    assert answer.json["has_more"] is False


async def test_pages_join_without_gap_or_repetition(api: Api) -> None:
    # proves: CONV-4
    head = await filled(api)
    seen: list[int] = []
    after, more = 0, True
    while more:
        page = (await api.get(f"{HERE}/events?after={after}&limit=4")).json
        seen += [one["cursor"] for one in page["events"]]
        after, more = page["next_cursor"], page["has_more"]
    assert seen == [*range(1, head + 1)]


async def test_a_log_can_be_read_backwards(api: Api) -> None:
    head = await filled(api)
    last = (await api.get(f"{HERE}/events?before={head + 1}&limit=2")).json
    assert [one["cursor"] for one in last["events"]] == [head - 1, head]
    assert last["next_cursor"] == head - 1
    assert last["has_more"] is True
    before = (await api.get(f"{HERE}/events?before={last['next_cursor']}&limit=500")).json
    assert [one["cursor"] for one in before["events"]] == [*range(1, head - 1)]
    assert before["has_more"] is False


async def test_a_page_at_the_end_is_empty_and_says_where_the_end_is(api: Api) -> None:
    head = await filled(api, 1)
    page = (await api.get(f"{HERE}/events?after={head}")).json
    assert page == {"events": [], "next_cursor": head, "head_cursor": head, "has_more": False}


async def test_a_cursor_beyond_the_end_is_refused_with_the_end(api: Api) -> None:
    # proves: CONV-4
    head = await filled(api, 1)
    answer = await api.get(f"{HERE}/events?after={head + 1}")
    assert (answer.status, answer.code) == (409, "cursor_ahead")
    assert answer.json["head_cursor"] == head


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("after=-1", "after"),
        ("after=x", "after"),
        ("after=", "after"),
        ("after=1.0", "after"),
        (f"after={2**53}", "after"),
        ("after=" + "9" * 5_000, "after"),
        ("after=%C2%B2", "after"),
        ("before=0", "before"),
        ("before=3&after=1", "before"),
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("wait=soon", "wait"),
        ("wait=nan", "wait"),
        ("&".join(f"a{n}=1" for n in range(40)), "query"),
    ],
)
async def test_a_parameter_that_is_wrong_is_named(api: Api, query: str, path: str) -> None:
    # proves: SEC-11
    answer = await api.get(f"{HERE}/events?{query}")
    assert (answer.status, answer.code) == (422, "invalid_field")
    assert answer.json["errors"][0]["path"] == path


async def test_an_unknown_conversation_has_no_log(api: Api) -> None:
    answer = await api.get("/v1/conversations/nowhere/events")
    assert (answer.status, answer.code) == (404, "conversation_not_found")


async def test_a_poll_answers_as_soon_as_something_is_said(api: Api) -> None:
    # proves: CONV-4
    head = await filled(api, 1)
    async with asyncio.TaskGroup() as tasks:
        poll = tasks.create_task(api.get(f"{HERE}/events?after={head}&wait=30"))
        await api.hall.clock.settle()
        assert not poll.done()
        tasks.create_task(api.send("now", "m-9"))
    events = poll.result().json["events"]
    assert events[0]["cursor"] == head + 1
    assert events[0]["text"] == "now"


async def test_drafts_do_not_end_a_poll(api: Api) -> None:
    head = await filled(api, 1)
    feed = api.hall.house.feed
    trouble = Trouble(api.hall.house.store.conversations)
    api.hall.house.store.conversations = trouble  # type: ignore[assignment]
    async with asyncio.TaskGroup() as tasks:
        poll = tasks.create_task(api.get(f"{HERE}/events?after={head}&wait=30"))
        await api.hall.clock.settle()
        read = trouble.calls.count("events_after")
        feed.draft("global-default", "m-9", "a-9", "words")
        await api.hall.clock.settle()
        assert not poll.done()
        assert trouble.calls.count("events_after") == read
        api.hall.lane.plays(drafts("fin", "ally"))
        tasks.create_task(api.send("now", "m-9"))
    assert poll.result().json["events"]


async def test_a_poll_whose_time_is_over_answers_with_an_empty_page(api: Api) -> None:
    head = await filled(api, 1)
    page = await api.get(f"{HERE}/events?after={head}&wait=0.01")
    assert page.json["events"] == []
    assert len(api.hall.house.feed.channel("global-default")._ring) == 0


async def test_a_poll_ends_when_the_service_goes_down(api: Api) -> None:
    head = await filled(api, 1)
    async with asyncio.TaskGroup() as tasks:
        poll = tasks.create_task(api.get(f"{HERE}/events?after={head}&wait=30"))
        await api.hall.clock.settle()
        api.hall.house.stopping = True
        api.hall.house.feed.close()
    assert poll.result().json["events"] == []


async def test_what_a_page_holds_stays_below_its_bound(api: Api) -> None:
    for number in range(20):
        await api.send("ä" * 60_000, f"m-{number}")
    await api.settled("m-19")
    first = await api.get(f"{HERE}/events?limit=500")
    assert first.json["has_more"] is True
    assert len(first.raw) <= 1_048_576 + 200
    assert json.loads(first.raw)["next_cursor"] < first.json["head_cursor"]
