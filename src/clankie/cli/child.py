"""A service that `clankie up` starts: as a child, with its own session, and with an orderly end."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, cast

from clankie.cli import places
from clankie.cli.clean import plain
from clankie.cli.failures import CommandError, ServiceDownError
from clankie.cli.wire import Call, exchange, find

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import FrameType

READY_WITHIN: Final = 60.0
"""Seconds; a start that migrates a large log takes a while."""
STOP_WITHIN: Final = 30.0
LOG_LIMIT: Final = 5 * 1024 * 1024
TAIL: Final = 4_000
Started = tuple[subprocess.Popen[bytes], dict[str, object]]


def answering(url: str | None) -> bool:
    """Whether a service answers there. Raises CommandError when something else is wrong."""
    try:
        exchange(find(url), Call(method="GET", path="/v1/health", timeout=10.0))
    except ServiceDownError:
        return False
    return True


def ready_line() -> dict[str, object]:
    """What the running service said when it became ready."""
    try:
        file = Path(places.home()) / "run.json"
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        return cast("dict[str, object]", json.loads(text))
    except (OSError, ValueError):
        return {"ready": True, "url": None}


@contextmanager
def started(*, quiet: bool, meanwhile: Callable[[], None]) -> Generator[Started, None, None]:
    """Start a service and wait until it is ready; it is stopped in the end, whatever happens.

    `quiet`: its log goes to a file, because the terminal belongs to the chat. `meanwhile` is done
    while it starts.

    Raises:
        CommandError: it did not become ready; says what it said.
    """
    # A session of its own: Ctrl-C and a closing terminal are for the chat.
    with _log(quiet=quiet) as log:
        began = log.tell() if log is not None else 0
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "clankie", "serve"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
        try:
            with _ended_by_signals():
                meanwhile()
                line = _first_line(process)
                if line is None:
                    raise CommandError(_why(process, log, began), code="service_not_started")
                yield process, line
        finally:
            _stop(process)


@contextmanager
def _log(*, quiet: bool) -> Generator[IO[bytes] | None, None, None]:
    if not quiet:
        yield None
        return
    home = Path(places.home())
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = home / places.LOG_FILE
    if path.exists() and path.stat().st_size > LOG_LIMIT:
        path.replace(path.with_suffix(".log.1"))
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "a+b") as file:
        yield file


def _first_line(process: subprocess.Popen[bytes]) -> dict[str, object] | None:
    """The ready line; None when the service ended, or said nothing in time."""
    pipe = cast("IO[bytes]", process.stdout)
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        if not selector.select(READY_WITHIN):
            return None
    try:
        line = json.loads(pipe.readline())
    except ValueError:
        return None
    return cast("dict[str, object]", line) if isinstance(line, dict) else None


def _why(process: subprocess.Popen[bytes], log: IO[bytes] | None, began: int) -> str:
    _stop(process)
    if log is None:
        return "The service did not become ready; what it said stands above."
    log.seek(max(began, log.seek(0, os.SEEK_END) - TAIL))
    said = plain(log.read().decode("utf-8", "replace")).strip()
    return f"The service did not start. It said:\n{said}" if said else "The service did not start."


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


@contextmanager
def _ended_by_signals() -> Generator[None, None, None]:
    """SIGTERM and a closing terminal end this program in an orderly way, its child included."""

    def end(number: int, frame: FrameType | None) -> None:
        del frame
        raise SystemExit(0 if number == signal.SIGTERM else 1)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def until_told(process: subprocess.Popen[bytes]) -> None:
    """Wait until the service ends by itself, or Ctrl-C. Raises CommandError when it failed."""
    try:
        status = process.wait()
    except KeyboardInterrupt:
        return
    if status != 0:
        raise CommandError(f"The service ended with status {status}.", code="service_failed")
