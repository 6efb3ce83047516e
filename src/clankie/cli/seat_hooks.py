"""What a seat's hooks do: read the log at the start of a session, and send what was written.

Rule: a harness is never broken by its hook. Whatever fails is one line on standard error, and the
exit code is 0. A hook uses the seat's token and never the operator's.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from clankie.cli.clean import line
from clankie.seats import registration
from clankie.seats.folder import NotASeatError, current
from clankie.seats.registration import Arrival, post
from clankie.seats.sync import Source, notice, sync

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clankie.seats.folder import Folder
    from clankie.seats.registration import Seated

USAGE: Final = """\
Usage: clankie seat-sync

  Send what a harness wrote since the last time. A hook calls it, with the hook's JSON on
  standard input. It never fails: what went wrong is one line on standard error.

Options:
  --help  Show this and exit.
"""
SECTIONS: Final = ("persona", "reach", "conversation")
_INPUT: Final = 4 * 1024 * 1024
Hook = dict[str, Any]


def session_start(sections: str | None) -> int:
    """Print what a session that begins should read, and say that it was printed. Returns 0."""
    return _harmless(lambda: _start(sections))


def seat_sync(arguments: Sequence[str]) -> int:
    """Send what is new in the transcript that the hook names. Returns 0."""
    if "--help" in arguments:
        sys.stdout.write(USAGE)
        return 0
    return _harmless(_sync)


def _harmless(work: Callable[[], None]) -> int:
    try:
        work()
    except NotASeatError:
        # A plugin that is always there says nothing in sessions that are no seats.
        if os.environ.get("CLANKIE_SEAT_GRANT"):
            _say("this seat is gone or was never granted; open it again with `clankie seat open`")
    except Exception as error:  # noqa: BLE001 - the harness goes on, whatever fails here
        _say(str(error) or type(error).__name__)
    return 0


def _say(sentence: str) -> None:
    sys.stderr.write(f"clankie: {line(sentence)}\n")


def _start(sections: str | None) -> None:
    folder, hook = current(os.environ), _hook()
    seated = _seated(folder, hook)
    if seated is None:
        return
    session, began = str(hook["session_id"]), str(hook.get("source") or "startup")
    wanted = sections.split(",") if sections else list(SECTIONS)
    path = f"/v1/seats/{seated.seat}/session-start"
    body = {"session_id": session, "source": began, "sections": wanted}
    answer = post(folder, path, body, token=seated.token)
    if session != seated.session_id:
        registration.sit(folder, replace(seated, session_id=session))
    sys.stdout.buffer.write(str(answer["text"]).encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
    try:
        # Only now: a word that is lost here repeats the context, and never leaves it out.
        post(folder, path, {"projection_id": answer["projection_id"]}, token=seated.token)
    finally:
        source = _source(hook)
        if source is not None:
            notice(folder, seated, source, began)


def _sync() -> None:
    folder, hook = current(os.environ), _hook()
    seated, source = _seated(folder, hook), _source(hook)
    if seated is None or source is None:
        return
    done = sync(folder, seated, source, hook)
    if done.refused:
        _say(f"the service refused {done.refused} rows of the transcript; they were left out")
    if done.skipped:
        _say(f"{done.skipped} lines of the transcript are too long and were left out")


def _hook() -> Hook:
    """What the harness wrote to our standard input."""
    if sys.stdin.isatty():
        raise ValueError("a harness calls this, with a hook's JSON on standard input")
    try:
        found = json.loads(sys.stdin.buffer.read(_INPUT))
    except ValueError:
        found = None
    hook = cast("Hook", found) if isinstance(found, dict) else {}
    if not hook.get("session_id"):
        raise ValueError("the hook's input is not the JSON of a session")
    return hook


def _seated(folder: Folder, hook: Hook) -> Seated | None:
    """The seat; None for a session that only inherited its environment."""
    if registration.inherited(folder):
        return None
    found = registration.seated(folder)
    if found is not None:
        return found
    who = Arrival(session_id=str(hook["session_id"]), pane=os.environ.get("TMUX_PANE"))
    return registration.register(folder, who)


def _source(hook: Hook) -> Source | None:
    path = hook.get("transcript_path")
    if not isinstance(path, str) or not path:
        return None
    return Source(path=path, session_id=str(hook["session_id"]), environment=os.environ)
