"""Opening, following, sending, and the slash commands, against a service of scripted answers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from clankie.cli.chat.desk import Desk
from clankie.cli.chat.orders import LeaveError, matching, obey
from clankie.cli.chat.remote import Item, Kind
from clankie.cli.chat.status import live, status
from clankie.cli.failures import CommandError, ConnectionLostError, ProblemError
from fakes.clock import FakeClock
from fakes.remote import FakeRemote, Screen

pytestmark = pytest.mark.anyio

HOME = "/v1/conversations/global-default"
INPUTS = f"{HOME}/inputs"
AT = "2026-11-30T12:00:00.000Z"

SOON = "2026-11-30T12:00:25.000Z"
LIVE = {"kind": "seat", "seat": "s-1", "harness": "claude", "state": "live", "since": AT}


def conversation(name: str = "Clankie", id_: str = "global-default", **more: Any) -> dict[str, Any]:
    return {"id": id_, "name": name, "state": "idle", "revision": 0, "cursor": 0, **more}


def receipt(id_: str = "m-1", state: str = "uncertain", **more: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "state": state,
        "conversation": "global-default",
        "admitted_at": AT,
        "message_cursor": 1,
        **more,
    }


def stored(revision: int) -> dict[str, Any]:
    return {
        "delivery": {"id": f"m-{revision}", "state": "queued"},
        "revision": revision,
        "cursor": 2,
    }


def message(cursor: int, text: str, delivery: str = "m-1") -> dict[str, Any]:
    author = {"principal": "operator", "id": "operator"}
    said = {"role": "owner", "text": text, "delivery_id": delivery}
    return {"cursor": cursor, "kind": "message", "author": author, "at": AT, **said}


class Table:
    """A desk with its fakes."""

    def __init__(self) -> None:
        self.remote = FakeRemote()
        self.screen = Screen()
        self.remote.news = self.screen.news
        self.remote.put("GET /v1/conversations", {"conversations": [conversation()]})
        self.remote.put(f"GET {HOME}/events", {"events": []})
        self.remote.put("GET /v1/deliveries", {"deliveries": []})
        settings = {"models": {"model": "practice"}, "persona": {"name": "Clankie"}}
        self.remote.put("GET /v1/settings", {"revision": 3, "settings": settings})
        missing = ProblemError(404, {"code": "not_found"})
        self.remote.put("GET /v1/models", missing)
        self.desk = Desk(self.remote, self.screen, FakeClock())  # type: ignore[arg-type] # stands in for a Remote

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        await self.desk.open("global-default")
        async with asyncio.TaskGroup() as group:
            working = group.create_task(self.desk.run())
            yield
            working.cancel()

    async def sent(self, count: int) -> list[dict[str, Any]]:
        """The bodies that were posted as messages, once there are so many and none waits."""
        await self.screen.until(
            lambda: len(self.remote.bodies(INPUTS)) >= count and not self.desk.outbox.waiting
        )
        return self.remote.bodies(INPUTS)


@pytest.fixture
async def table() -> Table:
    return Table()


async def test_opening_shows_the_last_events_and_follows_from_there(table: Table) -> None:
    table.remote.put("GET /v1/conversations", {"conversations": [conversation(cursor=7)]})
    table.remote.put(f"GET {HOME}/events", {"events": [message(7, "earlier words")]})
    async with table.running():
        await table.screen.until(lambda: bool(table.remote.followed))
    assert "earlier words" in table.screen.text
    assert "earlier events" in table.screen.text
    assert table.remote.followed == [("global-default", 7)]


# proves: DAY-1
async def test_opening_announces_what_is_uncertain_here_and_elsewhere(table: Table) -> None:
    other = conversation("work", "c-2", uncertain=2)
    table.remote.put("GET /v1/conversations", {"conversations": [conversation(), other]})
    table.remote.put(f"GET {HOME}/events", {"events": []}, {"events": [message(1, "pay the bill")]})
    sentence = "The model was asked at 14:02 UTC; the process died; tools run: none."
    open_ = {"deliveries": [receipt(detail=sentence)]}
    table.remote.put("GET /v1/deliveries", {"deliveries": []}, {"deliveries": []}, open_)
    await table.desk.open("global-default")
    assert "pay the bill" in table.screen.text
    assert sentence in table.screen.text
    assert "/again 1" in table.screen.text
    assert "Uncertain elsewhere: work (2)" in table.screen.text


async def test_messages_leave_in_order_with_the_revision_that_was_seen(table: Table) -> None:
    # proves: CONV-5
    table.remote.put(f"POST {INPUTS}", stored(1), stored(2))
    async with table.running():
        table.desk.outbox.submit("first")
        table.desk.outbox.submit("second")
        sent = await table.sent(2)
    assert [one["text"] for one in sent] == ["first", "second"]
    assert [one["expected_revision"] for one in sent] == [0, 1]
    assert sent[0]["delivery_id"] != sent[1]["delivery_id"]


async def test_a_message_that_the_service_could_not_take_is_sent_again_with_its_id(
    table: Table,
) -> None:
    # proves: FENCE-1
    table.remote.put(f"POST {INPUTS}", ConnectionLostError("gone"), stored(1))
    async with table.running():
        table.desk.outbox.submit("hello")
        sent = await table.sent(2)
    assert sent[0] == sent[1]


async def test_a_refused_message_returns_to_the_input(table: Table) -> None:
    closed = ProblemError(410, {"code": "conversation_closed", "detail": "It is closed."})
    table.remote.put(f"POST {INPUTS}", closed)
    async with table.running():
        table.desk.outbox.submit("hello")
        await table.screen.until(lambda: bool(table.screen.returned))
    assert table.screen.returned == ["hello"]
    assert "It is closed." in table.screen.text


def conflict(revision: int, cursor: int) -> ProblemError:
    facts = {"revision": revision, "cursor": cursor}
    return ProblemError(409, {"code": "revision_conflict", "detail": "Moved on.", **facts})


async def test_a_conflict_that_hides_nothing_from_the_owner_is_settled_quietly(
    table: Table,
) -> None:
    # proves: CONV-5
    table.remote.put(f"POST {INPUTS}", conflict(4, 0), stored(5))
    async with table.running():
        table.desk.outbox.submit("hello")
        sent = await table.sent(2)
    assert [one["expected_revision"] for one in sent] == [0, 4]
    assert sent[0]["delivery_id"] == sent[1]["delivery_id"]
    assert table.screen.returned == []


async def test_a_message_typed_before_another_client_spoke_comes_back_to_be_read_again(
    table: Table,
) -> None:
    # proves: CONV-5
    table.remote.put(f"POST {INPUTS}", conflict(1, 1))
    async with table.running():
        table.desk.outbox.submit("hello")
        await table.remote.called.wait()
        await table.remote.stream.put(Item(Kind.EVENT, message(1, "from elsewhere", "m-9")))
        await table.screen.until(lambda: bool(table.screen.returned))
    assert table.screen.returned == ["hello"]
    assert "Something new came" in table.screen.text
    assert "from elsewhere" in table.screen.text


async def test_a_message_that_cannot_be_stored_can_be_taken_back(table: Table) -> None:
    table.remote.put(f"POST {INPUTS}", ConnectionLostError("gone"))
    async with table.running():
        table.desk.outbox.submit("hello")
        await table.screen.until(lambda: bool(table.desk.outbox.waiting[0].failing))
        assert any("not stored yet" in one.text for one in live(table.desk, 0, 0))
        assert "--id" in table.desk.outbox.unconfirmed()[1].text
        taken = table.desk.outbox.withdraw()
        await table.screen.until(lambda: not table.desk.outbox.waiting)
    assert taken is not None
    assert taken.send.text == "hello"


async def test_a_broken_stream_is_said_and_a_new_one_asks_who_answers_now(table: Table) -> None:
    async with table.running():
        await table.remote.stream.put(Item(Kind.DOWN, {"reason": "gone"}))
        await table.screen.until(lambda: not table.desk.connected)
        assert any("reconnecting" in one.text for one in live(table.desk, 0, 0))
        settings = {"models": {"model": "openai-chat:new"}, "persona": {"name": "Robin"}}
        table.remote.put("GET /v1/settings", {"revision": 4, "settings": settings})
        await table.remote.stream.put(Item(Kind.UP, {}))
        await table.screen.until(lambda: table.desk.model == "openai-chat:new")
    assert "openai-chat:new" in status(table.desk, "", 80).plain


async def test_a_doubt_that_arises_now_is_explained_from_its_receipt(table: Table) -> None:
    turn = {"cursor": 1, "kind": "turn", "phase": "uncertain", "delivery_id": "m-1", "at": AT}
    table.remote.put("GET /v1/deliveries/m-1", receipt(detail="The model was asked at 14:02."))
    async with table.running():
        await table.remote.stream.put(Item(Kind.EVENT, turn))
        await table.screen.until(lambda: "14:02" in table.screen.text)


async def test_the_live_part_shows_draft_tool_and_queue(table: Table) -> None:
    await table.desk.open("global-default")
    story = table.desk.story
    story.adopt({"id": "m-1", "state": "running"}, "one")
    story.adopt({"id": "m-2", "state": "queued"}, "two")
    story.more({"delivery_id": "m-1", "attempt": "a", "text": "half a li"})
    shown = [one.text for one in live(table.desk, 12, 3)]
    assert "half a li" in shown
    assert any("is writing  12 s" in one for one in shown)
    assert "queued: “two”" in shown
    story.waiting["m-1"].tool = "shell"
    assert any("is running shell" in one.text for one in live(table.desk, 0, 0))


async def test_the_status_line_fits_narrow_terminals(table: Table) -> None:
    await table.desk.open("global-default")
    for width in (20, 40, 80):
        assert len(status(table.desk, "", width).plain) <= width
    assert "again to leave" in status(table.desk, "Press Ctrl-C again to leave", 80).plain


# ── slash commands ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("driver", "words"),
    [
        ({"kind": "service"}, "practice"),
        (LIVE, "Claude Code drives"),
        (LIVE | {"state": "holding", "hold_until": SOON}, "silent, takeover in 25 s"),
        (LIVE | {"state": "holding"}, "silent, what comes is kept for it"),
        (LIVE | {"state": "absent"}, "Claude Code is away, the service answers"),
        (LIVE | {"state": "parked"}, "at its usage limit, the service answers"),
    ],
)
async def test_the_status_line_says_who_drives(
    driver: dict[str, Any], words: str, table: Table
) -> None:
    row = conversation(driver=driver)
    table.remote.put("GET /v1/conversations", {"conversations": [row]})
    await table.desk.open("global-default")
    assert words in status(table.desk, "", 90).plain


async def test_a_change_of_driver_is_seen_at_once(table: Table) -> None:
    async with table.running():
        assert "practice" in status(table.desk, "", 90).plain
        table.remote.feeds.put_nowait({"conversation": "c-2", "driver": LIVE})
        row = {"conversation": "global-default", "driver": LIVE, "state": "running"}
        table.remote.feeds.put_nowait(row)
        await table.screen.until(lambda: "Claude Code drives" in status(table.desk, "", 90).plain)


async def test_what_waits_and_works_at_a_seat_is_said_to_be_there(table: Table) -> None:
    row = conversation(driver=LIVE)
    table.remote.put("GET /v1/conversations", {"conversations": [row]})
    await table.desk.open("global-default")
    for number, state in enumerate(("running", "queued")):
        table.desk.story.adopt(receipt(f"m-{number}", state), state)
    shown = "\n".join(one.text for one in live(table.desk, 3, 0))
    assert "Claude Code works on it" in shown
    assert "waits at Claude Code: “queued”" in shown


async def test_the_evidence_of_a_doubt_at_a_seat_is_shown(table: Table) -> None:
    attempt = {
        "n": 1,
        "state": "uncertain",
        "destination": {"kind": "seat", "seat": "s-1", "occupant": "o-1"},
        "evidence": {"proof": "uuid"},
    }
    found = receipt(detail="It was given to a seat.", attempts=[attempt])
    table.remote.put("GET /v1/deliveries/m-1", found)
    table.remote.put(f"GET {HOME}/events", {"events": [message(1, "push it")]})
    table.desk.story.doubt("m-1", "")
    told = "\n".join(one.text for one in await obey(table.desk, "/look 1"))
    assert "at the seat s-1, acknowledged: never, proof: uuid" in told


async def test_a_message_can_be_queued_behind_a_turn(table: Table) -> None:
    table.remote.put(f"POST {INPUTS}", stored(1))
    async with table.running():
        await obey(table.desk, "/queue afterwards")
        (body,) = await table.sent(1)
    assert body["mode"] == "queue"


async def test_typing_a_slash_offers_what_matches() -> None:
    assert [one.name for one in matching("/re")] == ["rename", "reset"]
    assert matching("/rename x") == []
    assert matching("hello") == []


async def test_an_unknown_command_is_refused_and_not_sent(table: Table) -> None:
    await table.desk.open("global-default")
    with pytest.raises(CommandError, match="/help"):
        await obey(table.desk, "/qiut")
    assert table.desk.outbox.waiting == type(table.desk.outbox.waiting)()


async def test_help_lists_every_command_and_quit_leaves(table: Table) -> None:
    told = "\n".join(one.text for one in await obey(table.desk, "/help"))
    assert "/steer TEXT" in told
    with pytest.raises(LeaveError):
        await obey(table.desk, "/quit")


async def test_a_new_conversation_is_made_and_entered(table: Table) -> None:
    made = conversation("work", "c-2")
    table.remote.put("POST /v1/conversations", made)
    table.remote.put("GET /v1/conversations/c-2/events", {"events": []})
    async with table.running():
        table.remote.put("GET /v1/conversations", {"conversations": [conversation(), made]})
        await obey(table.desk, "/new work")
        await table.screen.until(lambda: ("c-2", 0) in table.remote.followed)
        assert table.desk.id == "c-2"
        listed = "\n".join(one.text for one in await obey(table.desk, "/switch"))
    assert "▸ work" in listed


async def test_a_conversation_that_is_not_there_is_not_entered(table: Table) -> None:
    async with table.running():
        with pytest.raises(CommandError):
            await obey(table.desk, "/switch nowhere")
        assert table.desk.id == "global-default"


async def test_renaming_and_resetting_name_the_revision(table: Table) -> None:
    # proves: CONV-5
    table.remote.put(f"PATCH {HOME}", conversation("new", revision=1))
    table.remote.put(f"POST {HOME}/reset", conversation(revision=2))
    await table.desk.open("global-default")
    await obey(table.desk, "/rename new")
    table.remote.put("GET /v1/seats", {"seats": [{"conversation": "c-other"}]})
    assert await obey(table.desk, "/reset") == []
    assert table.remote.bodies(HOME)[-1] == {"name": "new", "expected_revision": 0}
    assert table.remote.bodies(f"{HOME}/reset") == [{"expected_revision": 1}]
    assert table.desk.revision == 2
    # Who has a harness there is told what that one needs.
    table.remote.put("GET /v1/seats", {"seats": [{"conversation": "global-default"}]})
    (line,) = await obey(table.desk, "/reset")
    assert "/new in Codex" in str(line)


async def test_the_model_is_changed_against_the_revision_of_the_settings(table: Table) -> None:
    table.remote.put("PATCH /v1/settings", {})
    await table.desk.open("global-default")
    await obey(table.desk, "/model openai-chat:x http://127.0.0.1:1/v1")
    models = {"model": "openai-chat:x", "base_url": "http://127.0.0.1:1/v1"}
    assert table.remote.bodies("/v1/settings")[-1] == {"models": models, "expected_revision": 3}
    with pytest.raises(CommandError):
        await obey(table.desk, "/model a b c")
    assert "practice" in (await obey(table.desk, "/model"))[0].text


async def test_steering_is_sent_as_such(table: Table) -> None:
    table.remote.put(f"POST {INPUTS}", stored(1))
    async with table.running():
        await obey(table.desk, "/steer to the left")
        sent = await table.sent(1)
    assert sent[0]["mode"] == "steer"
    assert sent[0]["text"] == "to the left"


async def doubtful(table: Table, **more: Any) -> None:
    await table.desk.open("global-default")
    table.desk.story.doubt("m-1", "x")
    table.remote.put("GET /v1/deliveries/m-1", receipt(detail="Asked at 14:02.", **more))
    table.remote.put(f"GET {HOME}/events", {"events": [message(1, "pay the bill")]})


# proves: DAY-1
async def test_a_doubt_is_looked_at_and_closed(table: Table) -> None:
    await doubtful(table, attempts=[{"n": 1, "state": "uncertain"}])
    looked = "\n".join(one.text for one in await obey(table.desk, "/look 1"))
    assert "pay the bill" in looked
    assert "Asked at 14:02." in looked
    assert "no tool" in looked
    assert "Asked at 14:02." in "\n".join(one.text for one in await obey(table.desk, "/uncertain"))
    table.remote.put("POST /v1/deliveries/m-1/settle", {})
    await obey(table.desk, "/close 1")
    assert table.remote.bodies("/v1/deliveries/m-1/settle") == [{"as": "abandoned"}]
    assert "uncertain" not in status(table.desk, "", 80).plain


# proves: DAY-1
async def test_sending_again_asks_when_a_tool_had_started(table: Table) -> None:
    tools = {"tools": [{"name": "shell", "state": "uncertain"}]}
    await doubtful(table, attempts=[{"n": 1, "state": "uncertain", "evidence": tools}])
    asked = "\n".join(one.text for one in await obey(table.desk, "/again 1"))
    assert "shell" in asked
    assert "/again 1 yes" in asked
    assert not table.desk.outbox.waiting
    await obey(table.desk, "/again 1 yes")
    out = table.desk.outbox.waiting[0].send
    assert (out.text, out.retry_of) == ("pay the bill", "m-1")
    assert out.delivery_id != "m-1"


async def test_a_message_with_files_is_not_sent_again_without_them(table: Table) -> None:
    await doubtful(table)
    picture = {"name": "cat.png", "media_type": "image/png"}
    event = {**message(1, "look"), "attachments": [picture]}
    table.remote.put(f"GET {HOME}/events", {"events": [event]})
    with pytest.raises(CommandError, match="Files were attached"):
        await obey(table.desk, "/again 1")
    assert not table.desk.outbox.waiting


@pytest.mark.parametrize("order", ["/look", "/look 2", "/look x", "/close 0", "/new", "/steer"])
async def test_a_command_without_what_it_needs_says_so(order: str, table: Table) -> None:
    await doubtful(table)
    with pytest.raises(CommandError) as refused:
        await obey(table.desk, order)
    assert refused.value.code == "usage"


async def test_a_file_goes_with_the_next_message_and_with_no_other(
    table: Table, tmp_path: Path
) -> None:
    # proves: DAY-2
    file = tmp_path / "notes.txt"
    file.write_text("words")
    stored = {"digest": "0" * 64, "name": "notes.txt", "media_type": "text/plain", "size": 5}
    table.remote.put("POST /v1/attachments", stored)
    lines = await obey(table.desk, f"/attach {file}")
    assert "notes.txt" in lines[0].text
    table.desk.outbox.submit("look at it")
    table.desk.outbox.submit("and this")
    first, second = (one.send.to_json() for one in table.desk.outbox.waiting)
    assert first["attachments"] == [{"digest": "0" * 64, "name": "notes.txt"}]
    assert "attachments" not in second
    with pytest.raises(CommandError):
        await obey(table.desk, f"/attach {tmp_path / 'nothing'}")


async def test_the_chat_says_who_really_answers(table: Table) -> None:
    # proves: SEC-3
    current = {"provider": "ollama", "model": "llama3", "source": "local", "ready": True}
    table.remote.put("GET /v1/models", {"current": current, "choices": []})
    await table.desk.refresh()
    assert table.desk.model == "ollama:llama3"
    table.desk.conversation["model"] = "openai:large"
    await table.desk.refresh()
    assert table.desk.model == "openai:large"
