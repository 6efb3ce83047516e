"""A reset retires a harness's session: one without a terminal goes on with another by itself."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fakes.until import until
from harnesses.homes import HOMES
from harnesses.house import House, house
from harnesses.install import Harnesses
from harnesses.model import Model

HEAD = "global-default"


@asynccontextmanager
async def living(
    name: str, root: Path, harnesses: Harnesses, model: Model
) -> AsyncGenerator[House]:
    environment = {**HOMES[name](root / "person", harnesses, model)}
    async with house(environment, root / "person" / "work") as made:
        yield made


async def ends(made: House, text: str) -> dict[str, Any]:
    """Send it, and wait until it has ended; its receipt."""
    delivery = made.send(HEAD, text)["id"]

    def found() -> dict[str, Any]:
        receipt = made.delivery(delivery)
        return receipt if receipt["state"] == "settled" else {}

    return await until(found, why=lambda: (made.delivery(delivery), made.log()))


def said(made: House) -> list[tuple[str, str]]:
    found = [one for one in made.events(HEAD) if one["kind"] == "message"]
    return [(one["author"]["principal"], one["text"]) for one in found]


@pytest.mark.parametrize(
    ("name", "options"),
    [("claude", ()), ("codex", ()), ("codex", ("--trust-hooks",)), ("pi", ())],
)
def test_after_a_reset_it_goes_on_with_a_fresh_session(
    name: str, options: tuple[str, ...], tmp_path: Path, harnesses: Harnesses, model: Model
) -> None:
    # proves: CONV-7, SEAT-14

    async def story() -> None:
        async with living(name, tmp_path, harnesses, model) as made:
            before = await made.open(name, "--headless", *options)
            await ends(made, "~say the old words")
            revision = made.client.get(f"/v1/conversations/{HEAD}")["revision"]
            body = {"expected_revision": revision}
            made.client.post(f"/v1/conversations/{HEAD}/reset", body)

            def fresh() -> dict[str, Any]:
                row = made.seat(HEAD)
                return row if row and row["native"] != before["native"] else {}

            after = await until(fresh, why=made.log)
            assert after["seat"] == before["seat"]
            assert after["native"]["pid"] == before["native"]["pid"]
            receipt = await ends(made, "~say the new words")
            assert [one["destination"]["kind"] for one in receipt["attempts"]] == ["seat"]
            assert said(made)[-2:] == [
                ("operator", "~say the new words"),
                ("seat", "the new words"),
            ]
            # It knows the conversation from the reset on, and nothing of before.
            (request,) = model.fresh("~say the new words")
            assert "the old words" not in request.text
            assert len([one for one in said(made) if one[0] == "seat"]) == 2

    asyncio.run(story())


@pytest.mark.parametrize("options", [(), ("--trust-hooks",)])
def test_in_a_terminal_a_person_begins_the_new_session(
    options: tuple[str, ...], tmp_path: Path, harnesses: Harnesses, model: Model
) -> None:
    # proves: CONV-7, SEAT-14
    async def story() -> None:
        async with living("codex", tmp_path, harnesses, model) as made:
            before = await made.open("codex", *options)
            await ends(made, "~say the old words")
            revision = made.client.get(f"/v1/conversations/{HEAD}")["revision"]
            body = {"expected_revision": revision}
            made.client.post(f"/v1/conversations/{HEAD}/reset", body)
            # What a person looks at is not changed behind their back: the service answers.
            await until(lambda: "Begin a new one in its terminal" in made.log())
            (row,) = made.client.get("/v1/seats")["seats"]
            assert (row["state"], row["native"]) == ("parked", before["native"])
            lane = await ends(made, "who answers?")
            assert [one["destination"]["kind"] for one in lane["attempts"]] == ["service"]
            made.tmux("send-keys", "-t", "clankie:", "-l", "/new")

            def fresh() -> dict[str, Any]:
                # Right behind words Enter is a newline, so it is pressed until it was taken.
                made.tmux("send-keys", "-t", "clankie:", "Enter")
                return made.seat(HEAD)

            after = await until(fresh, why=made.log)
            assert after["native"]["session_id"] != before["native"]["session_id"]
            receipt = await ends(made, "~say the new words")
            assert [one["destination"]["kind"] for one in receipt["attempts"]] == ["seat"]
            assert said(made)[-1] == ("seat", "the new words")

    asyncio.run(story())
