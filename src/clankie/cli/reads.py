"""Reading deliveries and the words that belong to them, and finding a conversation by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from clankie.cli.client import items, segment
from clankie.cli.failures import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clankie.cli.client import Client
    from clankie.cli.wire import Json

RECEIPT_WAIT: Final = 25.0
"""Seconds the service may hold one read of a receipt."""
OPEN: Final = frozenset({"queued", "running"})
AFRESH: Final = (
    "A harness that drives it without a terminal begins a new session by itself. In a terminal "
    "that is for you: /clear in Claude Code, /new in Codex. Until then the service answers."
)
"""What the owner of a seat has to know after a reset."""
LISTED: Final = 10
"""How many names an error lists."""


def receipt(client: Client, delivery: str, *, wait: float = 0) -> Json:
    """A delivery as it stands, or as it stands after at most `wait` seconds."""
    path = f"/v1/deliveries/{segment(delivery)}"
    answer = client.get(path, wait=wait or None, timeout=wait + 30.0)
    return cast("Json", answer.get("delivery", answer))


def settled(client: Client, delivery: str, told: Callable[[Json], None] | None = None) -> Json:
    """Wait until a delivery ends, or is uncertain or held; its receipt. `told` sees each one."""
    while True:
        now = receipt(client, delivery, wait=RECEIPT_WAIT)
        if now["state"] not in OPEN or now.get("held"):
            return now
        if told is not None:
            told(now)


def event(client: Client, conversation: str, cursor: int) -> Json | None:
    """One event of a log; None when it is not there."""
    path = f"/v1/conversations/{segment(conversation)}/events"
    found = items(client.get(path, after=cursor - 1, limit=1), "events")
    return found[0] if found and found[0].get("cursor") == cursor else None


def words(client: Client, delivery: Json) -> str:
    """The text that a delivery brought."""
    found = event(client, str(delivery["conversation"]), int(delivery["message_cursor"]))
    return "" if found is None else str(found.get("text", ""))


def again(client: Client, delivery: Json) -> str:
    """The text to send once more. Raises CommandError where it alone is not the whole message."""
    found = event(client, str(delivery["conversation"]), int(delivery["message_cursor"]))
    return repeatable(found)


def repeatable(message: Json | None) -> str:
    """As `again`, for the event of the message."""
    if message is None or not str(message.get("text") or "").strip():
        raise CommandError("Its words cannot be read any more; write it anew.", code="no_words")
    if items(message, "attachments"):
        raise CommandError(
            "Files were attached to it, and they would be missing. Send it anew with its files.",
            code="has_attachments",
        )
    return str(message["text"])


def reply(client: Client, delivery: Json) -> str | None:
    """The answer to a settled or absorbed delivery; None when there is none."""
    cursor = delivery.get("reply_cursor")
    if cursor is None and delivery.get("reply_delivery_id"):
        cursor = receipt(client, str(delivery["reply_delivery_id"])).get("reply_cursor")
    if cursor is None:
        return None
    found = event(client, str(delivery["conversation"]), int(cursor))
    return None if found is None else str(found.get("text", ""))


def conversations(client: Client, state: str = "all") -> list[Json]:
    """All conversations in that state (open, closed, all)."""
    return items(client.get("/v1/conversations", state=state), "conversations")


def conversation(client: Client, given: str) -> Json:
    """The conversation with this id, or the one open conversation with this name.

    Raises:
        CommandError: there is none, or the name is not unique; lists the ids to choose from.
    """
    return choose(conversations(client), given)


def choose(found: Sequence[Json], given: str) -> Json:
    """As `conversation`, among these."""
    for one in found:
        if one["id"] == given:
            return one
    for candidates in (_named(found, given, closed=False), _named(found, given, closed=True)):
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            raise CommandError(
                f"{len(candidates)} are called {given!r}. Use an id: {_ids(candidates)}.",
                code="ambiguous_name",
                ids=[one["id"] for one in candidates],
            )
    raise CommandError(
        f"There is no conversation {given!r}. List them with `clankie conversations list`.",
        code="conversation_not_found",
        conversation=given,
    )


def _named(found: Sequence[Json], given: str, *, closed: bool) -> list[Json]:
    here = [one for one in found if (one.get("state") == "closed") is closed]
    exact = [one for one in here if one["name"] == given]
    wanted = given.casefold()
    return exact or [one for one in here if str(one["name"]).casefold() == wanted]


def _ids(found: Sequence[Json]) -> str:
    more = f" and {len(found) - LISTED} more" if len(found) > LISTED else ""
    return ", ".join(str(one["id"]) for one in found[:LISTED]) + more
