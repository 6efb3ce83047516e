"""The log as a stream of server-sent events."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from api.kit import HERE, Api, Heard, Stream
from clankie.core.conversation import Principal
from clankie.core.ids import HEAD
from clankie.host import tokens
from fakes.lane import drafts, waits
from fakes.trouble import Trouble, pause_before


def streams(api: Api, **limits: float) -> None:
    """Change the limits of streams, beyond what an owner may set."""
    house = api.hall.house
    house.settings = replace(
        house.settings,
        streams=replace(house.settings.streams, **limits),  # type: ignore[arg-type]
    )


def ring(api: Api, size: int) -> None:
    api.hall.house.feed.ring = size


async def test_a_stream_replays_the_log_and_then_follows_it(api: Api) -> None:
    # proves: CONV-4
    await api.send("one", "m-1")
    await api.settled("m-1")
    before = await api.hall.log()
    async with api.stream(f"{HERE}/events") as stream:
        assert stream.status == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        replayed = [await stream.event() for _ in before]
        assert [one.data for one in replayed] == before
        assert [one.id for one in replayed] == [str(one["cursor"]) for one in before]
        assert {one.kind for one in replayed} == {""}
        await api.send("two", "m-2")
        tail = await stream.event()
        assert (tail.data["text"], tail.data["cursor"]) == ("two", len(before) + 1)


async def test_a_stream_begins_with_how_soon_to_come_back(api: Api) -> None:
    async with api.stream(f"{HERE}/events") as stream:
        assert await stream.chunk() == b"retry: 2000\n\n"


async def test_a_long_log_is_replayed_in_order_through_the_ring(api: Api) -> None:
    # proves: CONV-4
    ring(api, 16)
    for number in range(30):
        await api.send(f"t{number}", f"m-{number}")
    await api.settled("m-29")
    head = len(await api.hall.log())
    async with api.stream(f"{HERE}/events", query="after=5") as stream:
        found = [(await stream.event()).data["cursor"] for _ in range(head - 5)]
    assert found == [*range(6, head + 1)]


async def test_the_last_event_id_wins_over_after(api: Api) -> None:
    # proves: CONV-4
    await api.send("one", "m-1")
    await api.settled("m-1")
    head = len(await api.hall.log())
    last = {"last-event-id": str(head - 1)}
    async with api.stream(f"{HERE}/events", query="after=0", headers=last) as stream:
        assert (await stream.event()).id == str(head)


async def test_what_is_wrong_is_said_as_a_status_before_the_stream(api: Api) -> None:
    accept = {"accept": "text/event-stream"}
    ahead = await api.get(f"{HERE}/events?after=9", headers=accept)
    assert (ahead.status, ahead.code) == (409, "cursor_ahead")
    missing = await api.get("/v1/conversations/nowhere/events", headers=accept)
    assert (missing.status, missing.code) == (404, "conversation_not_found")
    wrong = await api.get(f"{HERE}/events", headers={**accept, "last-event-id": "x"})
    assert (wrong.status, wrong.json["errors"][0]["path"]) == (422, "Last-Event-ID")


async def test_an_answer_is_shown_while_it_is_written(api: Api) -> None:
    held = asyncio.Event()
    api.hall.lane.plays(drafts("Hel", "lo"))
    async with api.stream(f"{HERE}/events") as stream:
        await api.send("hi", "m-1")
        heard = await until_answered(stream)
    held.set()
    shown = [one.data for one in heard if one.kind == "draft"]
    assert "".join(one["text"] for one in shown) == "Hello"
    assert {one["delivery_id"] for one in shown} == {"m-1"}
    assert all(one.id == "" for one in heard if one.kind)
    assert [one.kind for one in heard].index("draft") < len(heard) - 1


async def until_answered(stream: Stream) -> list[Heard]:
    heard: list[Heard] = []
    while not heard or heard[-1].data.get("role") != "agent":
        heard.append(await stream.event())
    return heard


async def test_who_comes_late_gets_the_draft_so_far_and_its_end(api: Api) -> None:
    feed = api.hall.house.feed
    feed.draft(HEAD, "m-1", "a-1", "so ")
    feed.draft(HEAD, "m-1", "a-1", "far")
    async with api.stream(f"{HERE}/events") as stream:
        first = await stream.event()
        assert (first.kind, first.data["text"], first.data["seq"]) == ("draft", "so far", 2)
        feed.draft_end(HEAD, "a-1")
        ended = await stream.event()
        assert (ended.kind, ended.data) == ("draft_end", {"attempt": "a-1"})


async def test_a_quiet_stream_shows_that_it_lives(api: Api) -> None:
    streams(api, heartbeat=0.01)
    async with api.stream(f"{HERE}/events") as stream:
        assert [(await stream.next()).kind for _ in range(2)] == ["comment", "comment"]


async def test_a_reader_that_fell_out_of_the_ring_is_told_and_let_go(api: Api) -> None:
    ring(api, 16)
    async with api.stream(f"{HERE}/events") as stream:
        await api.send("one", "m-0")
        await api.settled("m-0")
        while (await stream.event()).data["kind"] != "turn":
            pass
        await api.hall.clock.settle()
        stream.open.clear()
        await api.send("two", "m-1")
        await stream.blocked.wait()
        for number in range(2, 9):
            await api.send("more", f"m-{number}")
            await api.settled(f"m-{number}")
        stream.open.set()
        rest = await stream.rest()
    assert rest[-1].kind == "behind"
    cursors = [int(one.id) for one in rest if one.id]
    assert cursors == [*range(cursors[0], cursors[0] + len(cursors))]
    assert stream.closed_well


async def test_who_was_let_go_reads_on_from_its_cursor(api: Api) -> None:
    # proves: CONV-4
    ring(api, 16)
    for number in range(12):
        await api.send("more", f"m-{number}")
    await api.settled("m-11")
    head = len(await api.hall.log())
    last = {"last-event-id": "3"}
    async with api.stream(f"{HERE}/events", headers=last) as stream:
        assert [(await stream.event()).id for _ in range(head - 3)] == [
            str(n) for n in range(4, head + 1)
        ]


async def test_a_reader_that_does_not_read_is_dropped(api: Api) -> None:
    streams(api, heartbeat=0.01)
    async with api.stream(f"{HERE}/events") as stream:
        await stream.next()
        stream.open.clear()
        await stream.end()
        assert stream.aborted
    assert len(api.app.door.streams) == 0


async def test_a_revoked_token_ends_its_streams(api: Api) -> None:
    # proves: BASE-3
    secret = await api.token(Principal.DEVICE)
    found = api.hall.house.tokens.who(secret)
    assert found is not None
    path = f"{HERE}/events"
    async with api.stream(path, token=secret) as theirs, api.stream(path) as own:
        assert len(api.app.door.streams) == 2
        assert (await api.ask("DELETE", f"/v1/tokens/{found.id}")).status == 204
        await theirs.end()
        assert theirs.closed_well
        await api.send("hello", "m-1")
        assert (await own.event()).data["text"] == "hello"
    answer = await api.get(f"{HERE}/events", token=secret)
    assert (answer.status, answer.code) == (401, "token_unknown")


async def test_a_token_that_dies_while_its_stream_is_prepared_opens_none(api: Api) -> None:
    secret = await api.token(Principal.DEVICE)
    found = api.hall.house.tokens.who(secret)
    assert found is not None
    reached, go = asyncio.Event(), asyncio.Event()
    trouble = Trouble(api.hall.house.store.conversations)
    trouble.plan("events_after", pause_before(reached, go))
    api.hall.house.store.conversations = trouble  # type: ignore[assignment]
    async with asyncio.TaskGroup() as tasks:
        head = {"accept": "text/event-stream"}
        asking = tasks.create_task(api.get(f"{HERE}/events", token=secret, headers=head))
        await reached.wait()
        await tokens.revoke(api.hall.house, found.id)
        go.set()
    answer = asking.result()
    assert (answer.status, answer.code) == (401, "token_unknown")


async def test_streams_end_when_the_service_goes_down(api: Api) -> None:
    async with api.stream(f"{HERE}/events") as stream, api.stream("/v1/feed") as feed:
        api.hall.house.stopping = True
        api.hall.house.feed.close()
        await stream.end()
        await feed.end()
        assert stream.closed_well
        assert feed.closed_well


async def test_a_client_that_leaves_takes_its_stream_with_it(api: Api) -> None:
    async with api.stream(f"{HERE}/events") as stream:
        assert len(api.app.door.streams) == 1
        stream.gone.set()
        await stream.end()
    assert len(api.app.door.streams) == 0
    assert api.hall.house.feed.channel(HEAD).readers == 0


@pytest.mark.parametrize(("limit", "value"), [("per_principal", 2), ("total", 2)])
async def test_streams_are_counted(api: Api, limit: str, value: int) -> None:
    streams(api, **{limit: value})
    accept = {"accept": "text/event-stream"}
    async with api.stream(f"{HERE}/events") as first, api.stream("/v1/feed"):
        refused = await api.get(f"{HERE}/events", headers=accept)
        assert (refused.status, refused.code) == (429, "too_many_streams")
        assert refused.json["limit"] == value
        first.gone.set()
        await first.end()
        async with api.stream(f"{HERE}/events") as again:
            assert again.status == 200


async def test_one_principals_streams_do_not_use_up_anothers(api: Api) -> None:
    streams(api, per_principal=1)
    device = await api.token(Principal.DEVICE)
    async with api.stream(f"{HERE}/events") as own, api.stream("/v1/feed", token=device) as other:
        assert (own.status, other.status) == (200, 200)


async def test_subscribers_share_the_bytes_of_an_event(api: Api) -> None:
    async with api.stream(f"{HERE}/events") as one, api.stream(f"{HERE}/events") as two:
        await api.hall.clock.settle()
        await one.chunk(), await two.chunk()
        feed = api.hall.house.feed
        feed.draft(HEAD, "m-1", "a-1", "words")
        assert await one.chunk() is await two.chunk()


async def test_the_feed_tells_how_each_conversation_stands(api: Api) -> None:
    side = await api.hall.make("side")
    async with api.stream("/v1/feed") as feed:
        found = {
            one.data["conversation"]: one.data for one in [await feed.event(), await feed.event()]
        }
        assert set(found) == {HEAD, side}
        assert set(found[side]) == {
            *(
                "conversation",
                "cursor",
                "revision",
                "state",
                "driver",
                "unread_reports",
                "uncertain",
            )
        }
        await api.send("hello", "m-1")
        assert (await feed.event()).data["revision"] == 1


async def test_the_feed_tells_of_a_busy_conversation_four_times_a_second(api: Api) -> None:
    held = asyncio.Event()
    api.hall.lane.plays(waits(held))
    async with api.stream("/v1/feed") as feed:
        await feed.event()
        await api.send("one", "m-1")
        assert (await feed.event()).data["conversation"] == HEAD
        for number in range(2, 6):
            await api.send("more", f"m-{number}")
        await api.hall.clock.settle()
        assert feed._body.empty()
        await api.hall.clock.advance(0.25)
        assert (await feed.event()).data["revision"] == 5
        await api.hall.clock.settle()
        assert feed._body.empty()
        held.set()


async def test_a_token_that_died_meanwhile_opens_no_stream(api: Api) -> None:
    _, secret = await tokens.issue(api.hall.house, Principal.DEVICE, "phone")
    found = api.hall.house.tokens.who(secret)
    assert found is not None
    await tokens.revoke(api.hall.house, found.id)
    answer = await api.get(f"{HERE}/events", token=secret, headers={"accept": "text/event-stream"})
    assert answer.status == 401


async def test_many_changes_at_once_are_told_of_each(api: Api) -> None:
    async with api.stream("/v1/feed") as feed:
        await feed.event()
        made = {await api.hall.make(f"side-{number}") for number in range(40)}
        told = set[str]()
        while not made <= told:
            await api.hall.clock.advance(0.25)
            told.add((await feed.event()).data["conversation"])
        assert told == made


async def test_an_answer_that_breaks_off_is_cut_and_logged(
    api: Api, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> AsyncIterator[list[bytes]]:
        yield [b"data: {}\n\n"]
        raise ZeroDivisionError("half way")

    monkeypatch.setattr("clankie.api.events.follow", broken)
    with pytest.raises(BaseExceptionGroup):
        async with api.stream(f"{HERE}/events") as stream:
            await stream.end()
    assert "answer broke off" in caplog.text
    assert len(api.app.door.streams) == 0
