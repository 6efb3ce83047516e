"""What a turn costs: a claim where everything is known, and nothing where it is not."""

import asyncio
import subprocess
import sys
from datetime import datetime

import pytest

from clankie.core.settings import Models
from clankie.lanes.endpoint import Endpoint, endpoint
from clankie.lanes.model import Spent
from clankie.lanes.prices import Prices
from fakes.clock import START


def at(model: str, base_url: str = "") -> Endpoint:
    return endpoint(Models(model=model, base_url=base_url))


SPENT = Spent(input_tokens=1_000_000, output_tokens=100_000)
CLAUDE = at("anthropic:claude-sonnet-4-5")


async def cost(where: Endpoint, *spent: Spent | None) -> float | None:
    prices = Prices()
    prices.prepare(where)
    return await prices.cost(where, spent, START)


async def test_a_known_model_at_its_own_address_has_a_price() -> None:
    small = Spent(input_tokens=1_000, output_tokens=100)
    assert await cost(CLAUDE, small, small) == pytest.approx(0.009)


async def test_what_came_from_the_cache_is_cheaper_and_what_went_into_it_dearer() -> None:
    read = await cost(CLAUDE, Spent(input_tokens=1_000, cache_read=1_000))
    plain = await cost(CLAUDE, Spent(input_tokens=1_000))
    written = await cost(CLAUDE, Spent(input_tokens=1_000, cache_write=1_000))
    assert read is not None
    assert plain is not None
    assert written is not None
    assert read < plain < written


@pytest.mark.parametrize(
    "where",
    [
        at("anthropic:no-such-model"),
        at("ollama:llama3.2"),
        at("anthropic:claude-sonnet-4-5", "http://127.0.0.1:8000"),
        at("openai-chat:gpt-4o", "https://proxy.example.com/v1"),
    ],
)
async def test_nothing_is_claimed_of_an_unknown_model_or_address(where: Endpoint) -> None:
    assert await cost(where, SPENT) is None


async def test_one_uncounted_answer_leaves_the_whole_unknown() -> None:
    assert await cost(CLAUDE, SPENT, None) is None


@pytest.mark.parametrize("model", ["openai:gpt-4o", "google:gemini-2.5-flash", "xai:grok-4.7"])
async def test_the_other_providers_have_prices_too(model: str) -> None:
    found = await cost(at(model), SPENT)
    assert found is not None
    assert found > 0


async def test_a_list_that_cannot_be_loaded_costs_nobody_an_answer() -> None:
    def broken() -> object:
        raise ImportError

    prices = Prices(broken)  # type: ignore[arg-type]  # it never gives a price
    prices.prepare(CLAUDE)
    assert await prices.cost(CLAUDE, [SPENT], START) is None


async def test_it_is_loaded_once() -> None:
    loads: list[int] = []

    def load() -> object:
        loads.append(1)

        def price(_at: Endpoint, _spent: Spent, _now: datetime) -> float:
            return 0.5

        return price

    prices = Prices(load)  # type: ignore[arg-type]  # the protocol's own type stands there
    for _ in range(3):
        prices.prepare(CLAUDE)
        await asyncio.sleep(0)
    assert await prices.cost(CLAUDE, [SPENT, SPENT], START) == 1.0
    assert loads == [1]


def test_neither_prices_nor_http_are_loaded_before_a_model_needs_them() -> None:
    code = (
        "import sys, clankie.lanes.service as _; "
        "print([m for m in ('genai_prices', 'httpx2', 'clankie.lanes.remote') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert found.stdout == "[]\n"
