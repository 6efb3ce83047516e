"""The real Claude Code drives a conversation of the real service, from end to end."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from clankie.seats.claude.registry import session
from fakes.until import until
from harnesses.claude_lab import ASKS, Lab
from harnesses.house import House, house
from harnesses.install import Harnesses
from harnesses.model import Model

pytestmark = pytest.mark.anyio

BOTH = pytest.mark.parametrize("manner", ["--headless", "--detached"])


@pytest.fixture
def lab(tmp_path: Path, harnesses: Harnesses, model: Model) -> Lab:
    return Lab(tmp_path, model, harnesses.claude)


@pytest.fixture
async def home(lab: Lab) -> AsyncIterator[House]:
    theirs = {name: value for name, value in lab.environment.items() if "CLANKIE" not in name}
    async with house(theirs, lab.work) as one:
        yield one


def texts(home: House, conversation: str, role: str) -> list[str]:
    return [one["text"] for one in home.events(conversation) if one.get("role") == role]


def states(home: House) -> list[str]:
    return [one["state"] for one in home.client.get("/v1/seats")["seats"]]


async def settled(home: House, delivery: dict[str, Any]) -> dict[str, Any]:
    """The receipt, once it is final."""
    final = {"settled", "failed", "uncertain", "not_sent", "cancelled"}
    name = delivery["id"]
    await until(lambda: home.delivery(name)["state"] in final, why=home.log)
    return home.delivery(name)


@BOTH
async def test_owner_messages_are_answered_in_the_harness_and_the_answers_are_in_the_log(
    home: House, manner: str
) -> None:
    # proves: SEAT-1, SEAT-3, HAND-2
    await home.run("conversations", "new", "crest")
    seat = await home.open("claude", "--conversation", "crest", manner)
    conversation = seat["conversation"]
    for words in ("one", "two"):
        receipt = await settled(home, home.send(conversation, f"~say {words}"))
        assert receipt["state"] == "settled"
        (attempt,) = receipt["attempts"]
        assert attempt["destination"]["seat"] == seat["seat"]
        assert attempt["evidence"]["proof"] in {"uuid", "text"}
        (answer,) = [
            one for one in home.events(conversation) if one["cursor"] == receipt["reply_cursor"]
        ]
        assert answer["text"] == words
        assert answer["author"] == {"principal": "seat", "id": seat["seat"]}
    assert texts(home, conversation, "owner") == ["~say one", "~say two"]
    assert texts(home, conversation, "agent") == ["one", "two"]
    assert texts(home, conversation, "external") == []


async def test_a_second_owner_message_is_typed_and_what_a_person_types_is_the_harnesss_word(
    home: House, lab: Lab
) -> None:
    # proves: SEC-4
    seat = await home.open("claude", "--new")
    conversation = seat["conversation"]
    await settled(home, home.send(conversation, "~say first"))
    # Its hooks still run for a moment after the answer.
    await until(lambda: (found := session(lab.config, seat["native"]["pid"])) and found.free)
    receipt = await settled(home, home.send(conversation, "~say typed"))
    assert receipt["attempts"][0]["evidence"]["proof"] == "text", home.log()
    home.tmux("send-keys", "-t", seat["pane"], "-l", "~say by hand")
    await lab.clock.sleep(0.5)
    home.tmux("send-keys", "-t", seat["pane"], "Enter")
    await until(lambda: "by hand" in texts(home, conversation, "agent"))
    assert texts(home, conversation, "owner") == ["~say first", "~say typed"]
    assert texts(home, conversation, "external") == ["~say by hand"]


async def test_a_new_session_reads_the_log_first(home: House, lab: Lab) -> None:
    # proves: HAND-2
    made = await home.run("conversations", "new", "told")
    conversation = made["id"]
    await settled(home, home.send(conversation, "the word is CREST-7"))
    seat = await home.open("claude", "--conversation", "told", "--headless")
    assert seat["conversation"] == conversation
    await settled(home, home.send(conversation, "~say read"))
    (asked, *_) = lab.model.fresh("~say read")
    assert "CREST-7" in asked.text


async def test_its_tools_are_those_of_a_seat(home: House, lab: Lab) -> None:
    seat = await home.open("claude", "--new", "--headless")
    call = "~tool mcp__plugin_clankie_clankie__get_self_state {}"
    await settled(home, home.send(seat["conversation"], call))
    (asked, *_) = lab.model.fresh(seat["conversation"])
    offered = {one.rpartition("__")[2] for one in asked.tools if "clankie" in one}
    assert offered <= {
        "get_self_state",
        "reply",
        "schedule_wake",
        "watch",
        "observe_room",
        "read_conversation",
    }


@BOTH
async def test_a_killed_service_comes_back_and_nothing_is_run_twice(
    home: House, lab: Lab, manner: str
) -> None:
    # proves: FENCE-4, FENCE-7, SEAT-5
    seat = await home.open("claude", "--new", manner)
    conversation = seat["conversation"]
    delivery = home.send(conversation, "~hold turn")
    await until(lambda: lab.model.fresh("~hold turn"))
    await home.kill()
    await home.start()
    await until(lambda: home.seat(conversation).get("state") == "live", why=home.log)
    lab.model.release("turn")
    receipt = await settled(home, delivery)
    assert receipt["state"] == "settled"
    assert len(receipt["attempts"]) == 1
    again = await settled(home, home.send(conversation, "~say on we go"))
    assert again["state"] == "settled"
    assert len(lab.model.fresh("~hold turn")) == 1
    assert texts(home, conversation, "agent") == ["done", "on we go"]


async def test_after_both_were_killed_the_session_goes_on_in_a_new_seat(
    home: House, lab: Lab
) -> None:
    # proves: FENCE-4, HAND-2
    seat = await home.open("claude", "--new", "--headless")
    conversation = seat["conversation"]
    await settled(home, home.send(conversation, "~say before"))
    stuck = home.send(conversation, "~hold for ever")
    await until(lambda: lab.model.fresh("~hold for ever"))
    await home.kill()
    os.kill(seat["native"]["pid"], signal.SIGKILL)
    await home.start()
    native = seat["native"]["session_id"]
    again = await home.open(
        "claude",
        "--conversation",
        conversation,
        "--headless",
        "--resume",
        native,
        "--replace",
        seat["seat"],
    )
    assert again["native"]["session_id"] == native
    assert again["native"]["pid"] != seat["native"]["pid"]
    receipt = await settled(home, home.send(conversation, "~say after"))
    assert receipt["attempts"][0]["destination"]["seat"] == again["seat"]
    # The session's own past holds the words that it never answered; nobody gave them to it again.
    assert len(home.delivery(stuck["id"])["attempts"]) == 1
    assert texts(home, conversation, "agent") == ["before", "after"]
    lab.model.release("for ever")


async def test_a_killed_harness_leaves_what_it_had_where_it_was(home: House, lab: Lab) -> None:
    # proves: FENCE-4
    seat = await home.open("claude", "--new", "--headless")
    conversation = seat["conversation"]
    first = home.send(conversation, "~hold for ever")
    await until(lambda: lab.model.fresh("~hold for ever"))
    second = home.send(conversation, "never read")
    await until(lambda: home.delivery(second["id"])["attempts"])
    await until(lambda: home.delivery(second["id"])["attempts"][0]["state"] == "taken")
    os.kill(seat["native"]["pid"], signal.SIGKILL)
    await until(lambda: not home.seat(conversation))
    for delivery in (first, second):
        assert len(home.delivery(delivery["id"])["attempts"]) == 1
    assert not lab.model.seen("never read")
    lab.model.release("for ever")


async def test_a_question_of_the_harness_is_answered_by_the_owner(home: House, lab: Lab) -> None:
    seat = await home.open("claude", "--new", "--headless")
    conversation = seat["conversation"]
    delivery = home.send(conversation, ASKS)
    (question,) = await until(lambda: home.client.get("/v1/approvals")["items"])
    assert question["conversation"] == conversation
    assert not (lab.work / "made").exists()
    answer = {"decision": "approve", "expected_state": "pending"}
    home.client.post(f"/v1/approvals/{question['id']}", answer)
    assert (await settled(home, delivery))["state"] == "settled"
    assert (lab.work / "made").exists()


async def test_a_usage_limit_parks_the_seat_and_the_delivery_failed(
    tmp_path: Path, harnesses: Harnesses, model: Model
) -> None:
    # proves: LIMIT-1
    lab = Lab(tmp_path, model, harnesses.claude, subscriber=True)
    theirs = {name: value for name, value in lab.environment.items() if "CLANKIE" not in name}
    async with house(theirs, lab.work) as home:
        seat = await home.open("claude", "--new", "--headless")
        receipt = await settled(home, home.send(seat["conversation"], "~fail limit"))
        assert receipt["state"] == "failed"
        assert receipt["code"] == "usage_limited"
        await until(lambda: states(home) == ["parked"], why=home.log)
