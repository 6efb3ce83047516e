"""Esc at a seat, from the request at the service to the program that runs: what joined, too."""

import asyncio
from pathlib import Path
from typing import Any

from fakes.sitting import scripted
from fakes.until import until
from harnesses.house import House, house

HEAD = "global-default"


async def comes_to(made: House, delivery: str, state: str) -> dict[str, Any]:
    """The receipt, once the delivery or its newest attempt is in this state."""

    def found() -> dict[str, Any]:
        receipt = made.delivery(delivery)
        states = [receipt["state"], *(one["state"] for one in receipt["attempts"][-1:])]
        return receipt if state in states else {}

    return await until(found, why=lambda: (made.delivery(delivery), made.log()))


def test_a_cancel_that_names_nothing_stops_the_turn_that_the_newest_words_joined(
    tmp_path: Path,
) -> None:
    # proves: FENCE-13
    place = scripted(tmp_path, "pi", "PI_CODING_AGENT_DIR")

    async def story() -> None:
        async with house(place.environment, Path(place.directory)) as made:
            await made.open("pi", "--headless")
            first = str(made.send(HEAD, "~hold")["id"])
            await comes_to(made, first, "accepted")
            # It waits in the harness, and no row says yet that it joined.
            second = str(made.send(HEAD, "and this")["id"])
            await comes_to(made, second, "taken")
            asked = made.client.post(f"/v1/conversations/{HEAD}/cancel", {})
            assert (asked["outcome"], asked["delivery"]["id"]) == ("requested", second)
            # One turn has both, and ends as the harness says.
            assert (await comes_to(made, first, "failed"))["code"] == "interrupted"
            assert (await comes_to(made, second, "cancelled"))["code"] == "interrupted"

    asyncio.run(story())
