"""The real pi in a seat of the real service: a usage limit parks it."""

import asyncio
import json
from pathlib import Path
from typing import Any

from fakes.until import until
from harnesses.homes import HOMES
from harnesses.house import house
from harnesses.install import Harnesses
from harnesses.model import Model

HEAD = "global-default"


def test_a_limit_ends_the_message_and_the_rest_goes_on_without_the_seat(
    tmp_path: Path, harnesses: Harnesses, model: Model
) -> None:
    # proves: LIMIT-1
    environment = {**HOMES["pi"](tmp_path / "person", harnesses, model)}
    settings = Path(environment["PI_CODING_AGENT_DIR"]) / "settings.json"
    chosen = json.loads(settings.read_text())
    settings.write_text(json.dumps({**chosen, "retry": {"maxRetries": 1, "baseDelayMs": 10}}))

    async def story() -> None:
        async with house(environment, tmp_path / "person" / "work") as made:

            async def ends(text: str, state: str) -> dict[str, Any]:
                name = made.send(HEAD, text)["id"]

                def found() -> dict[str, Any]:
                    receipt = made.delivery(name)
                    return receipt if receipt["state"] == state else {}

                return await until(found, why=lambda: (made.delivery(name), made.log()))

            await made.open("pi", "--headless")
            receipt = await ends("~fail limit", "failed")
            assert receipt["code"] == "usage_limited"
            seats = [one["destination"]["kind"] for one in receipt["attempts"]]
            assert seats == ["seat"]
            (row,) = made.client.get("/v1/seats")["seats"]
            assert row["state"] == "parked"
            assert row["parked_until"]
            after = await ends("what next?", "settled")
            assert after["attempts"][-1]["destination"]["kind"] != "seat"
            assert not model.seen("what next?")

    asyncio.run(story())
