"""The service is killed at each commit that concerns a seat, with a real harness in it.

What was accepted is neither lost nor given to the harness's model twice: it is answered, or shown
as uncertain with what is known of it; and the conversation goes on.

Most of a life is waiting for another program. So some of them run beside each other, from the first
test that looks at one of them.
"""

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fakes.until import until
from harnesses.install import Harnesses
from harnesses.mortal import Life, around, living
from process.test_kills_beside_seats import escalated

TOOL = "~tool mcp__plugin_clankie_clankie__"
BESIDE = 4
"""Lives at a time: what starts starves others."""
Story = Callable[[Life], Awaitable[None]]


async def _to_and_fro(life: Life) -> None:
    """From the admission of a message to its answer in the log."""
    await life.open()
    await life.goes_on("m-0")
    async with life.house.dying("admit.before-commit"):
        assert await life.says("m-1", "~say one") is None
    async with life.house.dying("admit.after-commit", *around("reserve"), "take.after-commit"):
        assert await life.says("m-1", "~say one") is None
    await life.says("m-1", "~say one")
    # On a page that nobody read: that is known of it, and it is given to nobody.
    lost = await life.ends("m-1", ("uncertain", 0))
    assert life.attempts("m-1") == ["seat uncertain"]
    assert "was given to the seat" in lost["detail"]

    async with life.house.dying("admit.after-commit", "take.before-commit", *around("ack")):
        await life.says("m-2", "~hold two")
    await life.says("m-2", "~hold two")
    await life.comes(lambda: life.attempts("m-2") == ["seat accepted"], "m-2")
    async with life.house.dying(*around("sync")):
        life.model.release("two [m-2]")
    await life.answered("m-2")

    # With its own words, before anything of its answer; where they were lost with the page that
    # held them, nobody had them. The end of a turn is told last.
    await life.comes(lambda: life.sits().get("activity") == "waiting")
    async with life.house.dying(*around("sync")):
        await life.says("m-3", "~hold three")
    await life.says("m-3", "~hold three")
    life.model.release("three [m-3]")
    await life.goes_on("m-4")
    await life.ends("m-3", ("settled", 1), ("uncertain", 0))
    await life.ends("m-1", ("uncertain", 0))


async def _sitting_down(life: Life) -> None:
    """From the leave to sit down to the first poll."""
    for point in (*around("grant"), *around("register")):
        async with life.house.dying(point):
            with pytest.raises(AssertionError):
                await life.open()
    for points in ("seat.before-commit", *around("asked")), ("seat.after-commit",):
        async with asyncio.TaskGroup() as tasks, life.house.dying(*points):
            opening = tasks.create_task(life.open())
        assert opening.done()
        await life.goes_on(f"m-{len(points)}")
        await life.house.run("seat", "retire", str(life.row["seat"]))


async def _away(life: Life) -> None:
    """A seat that falls silent, and comes back."""
    await life.open()
    await life.goes_on("m-0")
    for name, point in zip(("m-1", "m-2"), around("lapse"), strict=True):
        await life.set(acknowledge=2.0)
        await life.loses(name)
        async with life.house.dying(point):
            pass
        os.kill(life.driver, signal.SIGCONT)
        await life.set(acknowledge=60.0)
        await life.goes_on(f"{name}-next")
        # It had read the page, or it had not.
        await life.ends(name, ("settled", 1), ("uncertain", 0))

    await _alone(life, "t-1")
    async with life.house.dying("take.before-commit", *around("ack")):
        os.kill(life.driver, signal.SIGCONT)
    await life.comes(lambda: _handoff(life) == "delivered", "t-1")
    assert life.asked("t-1") == 1

    await _alone(life, "t-2")
    async with life.house.dying("take.after-commit"):
        os.kill(life.driver, signal.SIGCONT)
    await life.comes(lambda: _handoff(life) == "uncertain", "t-2")
    assert life.asked("t-2") == 0
    await life.goes_on("m-3")


async def _alone(life: Life, name: str) -> None:
    """The pump stands still, and the service answers by itself."""
    await life.set(hold=1.0)
    os.kill(life.driver, signal.SIGSTOP)
    # A poll that is open would take it for a pump that does not read.
    await life.house.kill()
    await life.house.start()
    async with life.house.dying("admit.after-commit", *around("take_over")):
        await life.says(name, "say")
    await life.says(name, "say")
    await life.ends(name, ("settled", 0))
    assert life.attempts(name)[-1] == "service completed"
    await life.set(hold=60.0)


def _handoff(life: Life) -> str:
    return str(life.events("handoff")[-1]["phase"])


async def _let_go(life: Life) -> None:
    """The owner takes a seat away from the conversation, and gives it back."""
    await life.open()
    await life.goes_on("m-0")
    path = f"/v1/seats/{life.row['seat']}/attachment"
    there = {"conversation": life.row["conversation"], "expected": None}
    for point in around("seat"):
        async with life.house.dying(point):
            assert await life.ask("DELETE", path) is None
    for point in around("seat"):
        async with life.house.dying(point):
            assert await life.ask("PUT", path, there) is None
    await life.goes_on("m-1")


async def _tools(life: Life) -> None:
    """What the harness asks of the service."""
    await life.open()
    await life.goes_on("m-0")
    for name, point in zip(("w-1", "w-2"), around("watch"), strict=True):
        async with life.house.dying(point):
            await life.says(name, f'{TOOL}watch {{"delivery": "m-0"}}\n')
        await life.answered(name)
    # Only what is on disk is told, once.
    told = await until(lambda: [one for one in life.events("message") if _external(one)])
    assert len(told) == 1
    watched = str(told[0]["delivery_id"])
    await life.comes(lambda: life.receipt(watched)["state"] == "settled", watched)
    assert len(life.model.fresh(watched)) == 1
    await _escalated(life, "e-1", "reply.after-commit")
    await life.ends("e-1", ("settled", 1))
    assert life.attempts("e-1") == ["seat replied"]
    await _escalated(life, "e-2", "reply.before-commit")
    # The harness is told that it reached nobody, and does not say it again.
    await life.comes(lambda: life.attempts("e-2") == ["seat accepted"], "e-2")
    await life.goes_on("m-1")
    await life.set(reply=1.0, silent_turn=1.0)
    await life.house.kill()
    await life.house.start()
    unsaid = await life.ends("e-2", ("settled", 1))
    assert life.attempts("e-2") == ["seat delivered"]
    assert "reply_cursor" not in unsaid
    said = [one["text"] for one in life.events("message") if one["role"] == "agent"]
    assert said.count("the answer to e-1") == 1
    assert "the answer to e-2" not in said


async def _escalated(life: Life, name: str, point: str) -> None:
    """Somebody's question, which the harness answers with a tool: the service dies of that."""
    await life.house.kill()
    answer = json.dumps({"event": name, "text": f"the answer to {name}"})
    await asyncio.to_thread(escalated, life.house.place, name, f"{TOOL}reply {answer}\n")
    await life.house.through(point)


def _external(event: dict[str, Any]) -> bool:
    return bool(event["role"] == "external")


async def _refusing(life: Life) -> None:
    """A harness that ends with words on their way to it, which it can never have had."""
    await life.open()
    await life.goes_on("m-0")
    for name, point in zip(("m-1", "m-2"), around("refused"), strict=True):
        native = life.row["native"]
        os.kill(native["pid"], signal.SIGSTOP)
        await life.says(name, "say")
        await life.comes(partial(_noted, life, name), name)
        async with life.house.dying(point):
            os.kill(native["pid"], signal.SIGKILL)
        # On disk, another runs it; else nobody can tell that it was refused.
        await life.ends(name, ("uncertain" if name == "m-1" else "settled", 0))
        await life.open("--resume", native["session_id"], "--replace", life.row["seat"])
        await life.goes_on(f"{name}-next")
    assert life.attempts("m-1") == ["seat uncertain"]
    assert life.attempts("m-2") == ["seat refused", "service completed"]


def _noted(life: Life, name: str) -> bool:
    """Whether its pump has it, and may hand it over."""
    files = life.house.home.glob("seats/*/taken.jsonl")
    return any(f'"{name}"' in one.read_text() for one in files)


async def _together(life: Life) -> None:
    """Service, pump and harness end in one moment, in the middle of a turn."""
    await life.open()
    await life.goes_on("m-0")
    native = life.row["native"]
    await life.says("m-1", "~hold one")
    await life.comes(lambda: life.asked("m-1"))
    # Words that it has, and that no row shows yet.
    await life.says("m-2", "~say two")
    await life.comes(lambda: life.attempts("m-2") == ["seat taken"], "m-2")
    await life.set(reply=1.0, silent_turn=1.0)
    for one in (life.house.service.pid, life.driver, native["pid"]):
        os.kill(one, signal.SIGKILL)
    life.model.release("one [m-1]")
    await life.house.kill()
    await life.house.start()
    await life.ends("m-2", ("uncertain", 0))
    # Where its row was not yet sent, this was no more than taken.
    first = await life.ends("m-1", ("settled", 1), ("uncertain", 1))
    assert first["code"] in {"no_reply", "harness_gone"}
    await life.set(reply=600.0, silent_turn=900.0)
    await life.open("--resume", native["session_id"], "--replace", life.row["seat"])
    await life.goes_on("m-3")
    # The session's own past, and the log that it reads, may name them; nobody gave them again.
    for name in ("m-1", "m-2"):
        assert len(life.attempts(name)) == 1
        words = [one for one in life.events("message") if one["text"].endswith(f"[{name}]")]
        assert [one["role"] for one in words if one["role"] != "agent"] == ["owner"]


LIVES: dict[str, tuple[str, Story]] = {
    "claude, to and fro": ("claude", _to_and_fro),
    "codex, to and fro": ("codex", _to_and_fro),
    "pi, to and fro": ("pi", _to_and_fro),
    "claude, sitting down": ("claude", _sitting_down),
    "codex, sitting down": ("codex", _sitting_down),
    "claude, away": ("claude", _away),
    "claude, let go": ("claude", _let_go),
    "claude, tools": ("claude", _tools),
    "codex, refusing": ("codex", _refusing),
    "claude, together": ("claude", _together),
    "codex, together": ("codex", _together),
    "pi, together": ("pi", _together),
    "pi, away": ("pi", _away),
}


def lived(name: str, harnesses: Harnesses) -> None:
    harness, story = LIVES[name]

    async def life() -> None:
        async with living(harness, harnesses) as one:
            await story(one)

    asyncio.run(life())


@pytest.fixture(scope="module")
def lives(
    request: pytest.FixtureRequest, harnesses: Harnesses
) -> Iterator[dict[str, Future[None]]]:
    """The lives that are looked at, all begun."""
    here = [one for one in request.session.items if one.path == Path(__file__)]
    wanted = [name for name in LIVES if any(f"[{name}]" in one.name for one in here)]
    with ThreadPoolExecutor(BESIDE) as threads:
        yield {name: threads.submit(lived, name, harnesses) for name in wanted}


@pytest.mark.parametrize("name", LIVES)
def test_nothing_is_lost_or_given_twice_wherever_the_service_dies(
    lives: dict[str, Future[None]], name: str
) -> None:
    # proves: FENCE-4, FENCE-7, FENCE-9, SERV-1
    lives[name].result()
