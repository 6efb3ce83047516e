"""Values that the tests of core start from."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from clankie.core.admission import Mode, Origin
from clankie.core.conversation import OPERATOR, Conversation, Kind
from clankie.core.delivery import InputState
from clankie.core.receipt import Delivery

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def table(text: str) -> Mapping[str, frozenset[str]]:
    """``state: state state`` a line, as a mapping; what a requirement says, in its own words."""
    rows = (line.split(":") for line in text.split("\n") if line.strip())
    return {state.strip(): frozenset(after.split()) for state, after in rows}


def conversation(**changed: Any) -> Conversation:
    """An idle workspace conversation at revision 3, cursor 17."""
    whole: dict[str, Any] = {
        "id": "garden",
        "name": "Garden",
        "kind": Kind.WORKSPACE,
        "revision": 3,
        "cursor": 17,
        "created_at": NOON,
        **changed,
    }
    return Conversation(**whole)


def delivery(**changed: Any) -> Delivery:
    """An owner's input that waits."""
    whole: dict[str, Any] = {
        "id": "m-1",
        "conversation": "garden",
        "origin": Origin.OWNER,
        "author": OPERATOR,
        "text": "Water the beans.",
        "mode": Mode.AUTO,
        "fingerprint": "f" * 64,
        "state": InputState.QUEUED,
        "admitted_at": NOON,
        "message_cursor": 18,
        **changed,
    }
    return Delivery(**whole)
