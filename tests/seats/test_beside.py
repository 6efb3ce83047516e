"""What runs beside a body ends with it, fails loudly, and changes no error of the body."""

import asyncio

import pytest

from clankie.seats.beside import beside

pytestmark = pytest.mark.anyio


class Work:
    """Waits for ever, or fails once it is told to."""

    def __init__(self) -> None:
        self.fails = asyncio.Event()
        self.ended = False

    async def __call__(self) -> None:
        try:
            await self.fails.wait()
            raise RuntimeError("the listener failed")
        finally:
            self.ended = True


async def test_it_ends_with_the_body() -> None:
    work = Work()
    async with beside(work()):
        await asyncio.sleep(0)
    assert work.ended


async def test_an_error_of_the_body_stays_what_it_is() -> None:
    work = Work()

    async def body() -> None:
        async with beside(work()):
            await asyncio.sleep(0)
            raise KeyError

    with pytest.raises(KeyError):
        await body()
    assert work.ended


async def test_its_own_error_ends_the_body() -> None:
    work = Work()

    async def body() -> None:
        async with beside(work()):
            work.fails.set()
            await asyncio.Event().wait()

    with pytest.raises(RuntimeError, match="the listener failed"):
        await body()


async def test_where_both_fail_neither_error_is_lost() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await ended.wait()
        finally:
            raise RuntimeError("it could not even stop") from ValueError("why")

    async def body() -> None:
        async with beside(work()):
            await asyncio.sleep(0)
            raise KeyError

    with pytest.raises(BaseExceptionGroup) as caught:
        await body()
    first, second = caught.value.exceptions
    assert isinstance(first, KeyError)
    assert isinstance(second.__cause__, ValueError)
