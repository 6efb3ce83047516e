"""The real Codex in a seat of the real service: whole stories, with crashes in them."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from clankie.cli.client import items
from clankie.seats.codex.rpc import connected
from fakes.until import until
from harnesses.codex_seat import Codex, codex
from harnesses.house import House, house
from harnesses.install import Harnesses
from harnesses.model import Model

HEAD = "global-default"
ESCALATED = '{"cmd":"touch made","sandbox_permissions":"require_escalated","justification":"try"}'


@pytest.fixture
def one(tmp_path: Path, harnesses: Harnesses, model: Model) -> Iterator[Codex]:
    made = codex(tmp_path, harnesses, model)
    yield made
    made.end()


@pytest.fixture
def asking(tmp_path: Path, harnesses: Harnesses, model: Model) -> Iterator[Codex]:
    made = codex(tmp_path, harnesses, model, approval="on-request", sandbox="read-only")
    yield made
    made.end()


class Story:
    """A service, and what is looked at in its log."""

    def __init__(self, house: House) -> None:
        self.house = house

    async def open(self, *arguments: str) -> dict[str, Any]:
        return await self.house.open("codex", "--headless", *arguments)

    def says(self, text: str) -> str:
        return str(self.house.send(HEAD, text)["id"])

    async def ends(self, delivery: str, state: str = "settled") -> dict[str, Any]:
        def found() -> dict[str, Any]:
            receipt = self.house.delivery(delivery)
            return receipt if receipt["state"] == state else {}

        return await until(found, why=lambda: (self.house.delivery(delivery), self.house.log()))

    def said(self, *, by: str = "seat") -> list[str]:
        """What was said in the log by these, in order."""
        found = [e for e in self.house.events(HEAD) if e["kind"] == "message"]
        return [e["text"] for e in found if e["author"]["principal"] == by]

    def notices(self) -> list[str]:
        return [e["code"] for e in self.house.events(HEAD) if e["kind"] == "notice"]

    def attempts(self, delivery: str) -> list[tuple[str, str]]:
        found = self.house.delivery(delivery)["attempts"]
        return [(one["destination"]["kind"], one["state"]) for one in found]

    def folder(self) -> Path:
        (found,) = self.house.home.glob("seats/*/codex.json")
        return found.parent

    def drivers(self) -> list[int]:
        """The processes that drive seats of this service."""
        under = f"{self.house.home}/seats/".encode()
        found: list[int] = []
        for one in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if one.name.isdigit() and _drives((one / "cmdline").read_bytes(), under):
                    found.append(int(one.name))
        return found

    def drive(self) -> subprocess.Popen[bytes]:
        """Start the driver of the seat again."""
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "clankie", "seat", "drive", str(self.folder())],
            env=dict(self.house._env()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def _drives(argv: bytes, under: bytes) -> bool:
    parts = argv.rstrip(b"\0").split(b"\0")
    return parts[-3:-1] == [b"seat", b"drive"] and parts[-1].startswith(under)


@asynccontextmanager
async def living(one: Codex) -> AsyncGenerator[Story]:
    environment = {**one.place.environment}
    del environment["CLANKIE_SEAT_GRANT"]
    async with house(environment, Path(one.place.directory)) as made:
        story = Story(made)
        try:
            yield story
        finally:
            for driver in story.drivers():
                os.kill(driver, signal.SIGTERM)
            await until(lambda: not story.drivers())


def test_the_log_goes_in_and_the_answer_comes_back(one: Codex, model: Model) -> None:
    # proves: HAND-2, SEAT-3
    async def story() -> None:
        async with living(one) as life:
            before = life.says("remember the blue door")
            await life.ends(before)
            await life.open()
            delivery = life.says("~say hello from codex")
            receipt = await life.ends(delivery)
            assert receipt["attempts"][0]["evidence"]["proof"] == "client_id"
            assert life.said() == ["hello from codex"]
            assert receipt["reply_cursor"]
            # The session began with what was said before it.
            assert "remember the blue door" in model.seen("~say hello from codex")[0].text
            # And our tools answer in there, as the seat.
            await life.ends(life.says("~tool mcp__clankie::get_self_state {}"))
            assert HEAD in life.said()[-1]

    asyncio.run(story())


def test_a_message_joins_the_turn_and_a_stop_ends_it(one: Codex, model: Model) -> None:
    # proves: SEAT-11
    async def story() -> None:
        async with living(one) as life:
            await life.open()
            first = life.says("~hold a")
            await asyncio.to_thread(model.wait, "~hold a")
            second = life.says("~say joined")
            await until(lambda: life.attempts(second) == [("seat", "taken")], why=life.house.log)
            model.release("a")
            await life.ends(first)
            await life.ends(second)
            assert life.said() == ["joined"]
            third = life.says("~hold b")
            await asyncio.to_thread(model.wait, "~hold b")
            await until(lambda: life.attempts(third)[0][1] in {"taken", "accepted"})
            await life.house.run("deliveries", "cancel", HEAD, "--delivery", third)
            await life.ends(third, "cancelled")
            model.release("b")
            await life.ends(life.says("~say on"))
            assert life.said() == ["joined", "on"]

    asyncio.run(story())


def test_the_owner_answers_what_codex_asks(asking: Codex) -> None:
    async def story() -> None:
        async with living(asking) as life:
            await life.open()
            delivery = life.says(f"~tool exec_command {ESCALATED}")
            client = life.house.client

            def asked() -> list[dict[str, Any]]:
                return items(client.get("/v1/approvals"), "items")

            (question,) = await until(asked, why=life.house.log)
            assert "touch made" in question["detail"]
            answer = {"decision": "approve", "expected_state": "pending"}
            client.post(f"/v1/approvals/{question['id']}", answer)
            await life.ends(delivery)
            assert (Path(asking.place.directory) / "made").exists()

    asyncio.run(story())


@pytest.mark.parametrize("answered", [True, False])
def test_what_was_answered_while_nobody_drove_is_asked_no_more(
    asking: Codex, answered: bool
) -> None:
    # proves: SEAT-13
    async def story() -> None:
        async with living(asking) as life:
            await life.open()
            delivery = life.says(f"~tool exec_command {ESCALATED}")
            client = life.house.client

            def asked() -> dict[str, Any]:
                return (items(client.get("/v1/approvals"), "items") or [{}])[0]

            await until(asked, why=life.house.log)
            await until(lambda: life.attempts(delivery)[0][1] in {"taken", "accepted"})
            (driver,) = life.drivers()
            os.kill(driver, signal.SIGKILL)
            await until(lambda: asked().get("unwatched"))
            assert asked()["state"] == "pending"
            if answered:
                await decline(json.loads((life.folder() / "codex.json").read_text()))
            again = life.drive()
            await until(lambda: "unwatched" not in asked(), why=life.house.log)
            if answered:
                await until(lambda: asked()["state"] == "withdrawn", why=life.house.log)
                await life.ends(delivery)
            else:
                answer = {"decision": "deny", "expected_state": "pending"}
                client.post(f"/v1/approvals/{asked()['id']}", answer)
                await life.ends(delivery)
            assert not (Path(asking.place.directory) / "made").exists()
            again.terminate()
            await asyncio.to_thread(again.wait)

    asyncio.run(story())


async def decline(record: dict[str, Any]) -> None:
    """Say no to what stands, as a person does in a terminal that joined the server."""
    async with connected(Path(record["link"])) as rpc:
        await rpc.call("thread/resume", {"threadId": record["thread"], "excludeTurns": True})
        async for said in rpc.said():
            if said.number is not None:
                await rpc.answer(said.number, {"decision": "decline"})
            if said.method == "serverRequest/resolved":
                return


def test_a_limit_ends_the_message_and_the_rest_goes_on_without_the_seat(one: Codex) -> None:
    # proves: LIMIT-1
    async def story() -> None:
        async with living(one) as life:
            await life.open()
            delivery = life.says("~fail limit")
            receipt = await life.ends(delivery, "failed")
            assert receipt["code"] == "usage_limited"
            assert life.attempts(delivery) == [("seat", "failed")]
            await until(lambda: life.notices().count("seat_parked") == 1)
            # It is not run again by anybody; what comes next runs on the service lane.
            other = life.says("what next?")
            await life.ends(other)
            assert life.attempts(other)[-1][0] != "seat"
            assert len(life.house.delivery(delivery)["attempts"]) == 1

    asyncio.run(story())


def test_what_a_dead_codex_never_got_is_answered_by_the_service(one: Codex, model: Model) -> None:
    # proves: FENCE-4
    async def story() -> None:
        async with living(one) as life:
            row = await life.open()
            await life.ends(life.says("~say before"))
            pid = int(row["native"]["pid"])
            os.kill(pid, signal.SIGSTOP)
            delivery = life.says("what now?")
            await until(lambda: life.attempts(delivery) == [("seat", "attempting")])
            await until(lambda: delivery in (life.folder() / "taken.jsonl").read_text())
            os.kill(pid, signal.SIGKILL)
            await life.ends(delivery)
            assert life.attempts(delivery)[0] == ("seat", "refused")
            assert life.attempts(delivery)[1][0] == "service"
            assert not model.seen("what now?")

    asyncio.run(story())


def test_the_service_killed_in_a_turn_learns_its_end_afterwards(one: Codex, model: Model) -> None:
    # proves: SERV-1
    async def story() -> None:
        async with living(one) as life:
            await life.open()
            delivery = life.says("~hold a")
            await asyncio.to_thread(model.wait, "~hold a")
            await until(lambda: life.attempts(delivery)[0][1] in {"taken", "accepted"})
            await life.house.kill()
            model.release("a")
            await life.house.start()
            await life.ends(delivery)
            assert life.attempts(delivery) == [("seat", "delivered")]
            assert life.said() == ["done"]
            await life.ends(life.says("~say after"))
            assert life.said() == ["done", "after"]
            assert len(model.fresh("~hold a")) == 1

    asyncio.run(story())


def test_a_driver_killed_in_a_turn_is_started_again_beside_the_same_codex(
    one: Codex, model: Model
) -> None:
    # proves: SEAT-13
    async def story() -> None:
        async with living(one) as life:
            row = await life.open()
            delivery = life.says("~hold a")
            await asyncio.to_thread(model.wait, "~hold a")
            await until(lambda: life.attempts(delivery)[0][1] in {"taken", "accepted"})
            (driver,) = life.drivers()
            os.kill(driver, signal.SIGKILL)
            model.release("a")
            again = life.drive()
            await life.ends(delivery)
            assert life.said() == ["done"]
            await life.ends(life.says("~say after"))
            assert life.said() == ["done", "after"]
            assert life.house.seat(HEAD)["seat"] == row["seat"]
            assert life.house.seat(HEAD)["native"] == row["native"]
            assert len(model.fresh("~hold a")) == 1
            again.terminate()
            await asyncio.to_thread(again.wait)

    asyncio.run(story())


def test_what_a_person_types_in_the_terminal_is_the_seats_word(one: Codex) -> None:
    # proves: SEC-4
    async def story() -> None:
        async with living(one) as life:
            await life.house.open("codex")
            tmux = dict(life.house._env())

            def pane(*arguments: str) -> str:
                done = subprocess.run(
                    ["tmux", *arguments], env=tmux, capture_output=True, text=True, check=True
                )
                return done.stdout

            screen = ("capture-pane", "-p", "-t", "clankie:")
            await until(lambda: "Ask Codex" in pane(*screen), why=lambda: pane(*screen))
            pane("send-keys", "-t", "clankie:", "-l", "~say typed by a person")
            await until(lambda: "typed by a person" in pane(*screen))
            # Right behind words Enter is a newline, so it is pressed until it was taken.
            await until(
                lambda: (
                    pane("send-keys", "-t", "clankie:", "Enter"),
                    "typed by a person" in life.said(),
                )[1]
            )
            await life.ends(life.says("~say from the owner"))
            found = [e for e in life.house.events(HEAD) if e["kind"] == "message"]
            assert [(e["author"]["principal"], e["role"], e["text"]) for e in found] == [
                ("seat", "external", "~say typed by a person"),
                ("seat", "agent", "typed by a person"),
                ("operator", "owner", "~say from the owner"),
                ("seat", "agent", "from the owner"),
            ]

    asyncio.run(story())


def test_our_trusted_hook_gives_a_session_the_log(one: Codex, model: Model) -> None:
    # proves: HAND-2
    async def story() -> None:
        async with living(one) as life:
            await life.ends(life.says("remember the green door"))
            await life.open("--trust-hooks")
            await life.ends(life.says("~say hello"))
            (request,) = model.seen("~say hello")
            assert "remember the green door" in request.text

    asyncio.run(story())
