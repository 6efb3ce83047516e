"""What the chat makes once is asked for again when the answer is lost."""

import json
from collections.abc import Callable

import httpx2
import pytest

from clankie.cli import client
from clankie.cli.chat.remote import Remote
from clankie.cli.failures import ConnectionLostError, ProblemError, ServiceDownError
from clankie.cli.wire import Address

pytestmark = pytest.mark.anyio
ADDRESS = Address("token", url="http://service")
BODY = {"request_id": "r-1", "name": "new"}
Answer = Callable[[httpx2.Request], httpx2.Response]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "WAITS", (0.0, 0.0))


async def asked(*answers: Exception | int) -> tuple[object, list[dict[str, str]]]:
    """What comes back in the end, and every body that was sent."""
    sent: list[dict[str, str]] = []
    left = list(answers)

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(json.loads(request.content))
        now = left.pop(0)
        if isinstance(now, Exception):
            raise now
        return httpx2.Response(now, json={"id": "c-1", "code": "why"})

    transport = httpx2.MockTransport(answer)
    async with httpx2.AsyncClient(transport=transport, base_url=ADDRESS.base) as http:
        try:
            return await Remote(http, ADDRESS).insist("/v1/conversations", BODY), sent
        except (ProblemError, ConnectionLostError, ServiceDownError) as error:
            return type(error), sent


async def test_a_lost_answer_is_asked_for_again_with_the_same_body() -> None:
    lost, down = httpx2.ReadError("gone"), httpx2.ConnectError("down")
    assert await asked(lost, down, 201) == ({"id": "c-1", "code": "why"}, [BODY] * 3)
    assert await asked(503, 201) == ({"id": "c-1", "code": "why"}, [BODY] * 2)


async def test_a_refusal_is_final_and_nobody_is_asked_for_ever() -> None:
    lost = httpx2.ReadError("gone")
    assert await asked(409) == (ProblemError, [BODY])
    assert await asked(httpx2.ConnectError("down")) == (ServiceDownError, [BODY])
    assert await asked(lost, lost, lost) == (ConnectionLostError, [BODY] * 3)
