"""An event loop on virtual time: when nothing can run, time jumps to whoever sleeps next.

Tests and simulations wait on the clock as the product does, and take no real time. What never comes
is an error and not a hang.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from fakes.clock import FakeClock

P = ParamSpec("P")
T = TypeVar("T")

FAR = 3_700 * 86_400.0
"""Virtual seconds after which a test that still waits is said to wait for ever."""


class StuckError(RuntimeError):
    """Nothing can run, and nothing will."""


class _Idle(selectors.SelectSelector):
    """Asked by the loop once in each round what came from outside: nothing ever does."""

    def __init__(self, clock: FakeClock, each_round: Callable[[], None]) -> None:
        super().__init__()
        self._clock = clock
        self._each_round = each_round

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._each_round()
        idle = timeout is None or timeout > 0
        if idle and (not self._clock.jump(timeout) or self._clock.monotonic() > FAR):
            raise StuckError(f"stuck at {self._clock.now()}")
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Runs tasks in the usual order, on the time of a FakeClock."""

    def __init__(self, clock: FakeClock, each_round: Callable[[], None] = lambda: None) -> None:
        self.clock = clock
        super().__init__(_Idle(clock, each_round))

    def time(self) -> float:
        return self.clock.monotonic()


def run(main: Coroutine[Any, Any, T], clock: FakeClock) -> T:
    """As `asyncio.run`, on virtual time."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(clock)) as runner:
        return runner.run(main)


def virtual(
    test: Callable[Concatenate[FakeClock, P], Coroutine[Any, Any, None]],
) -> Callable[P, None]:
    """A test of virtual time. Its first parameter is the clock, the others are fixtures."""

    @wraps(test)
    def on_virtual_time(*args: P.args, **kwargs: P.kwargs) -> None:
        clock = FakeClock()
        run(test(clock, *args, **kwargs), clock)

    # pytest reads the parameters of what was wrapped; the clock is none of its fixtures.
    on_virtual_time.__signature__ = _without_first(test)  # type: ignore[attr-defined]  # on purpose
    return on_virtual_time


def _without_first(test: Callable[..., object]) -> object:
    import inspect

    signature = inspect.signature(test)
    return signature.replace(
        parameters=list(signature.parameters.values())[1:], return_annotation=None
    )
