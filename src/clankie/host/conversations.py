"""Making, renaming, resetting and closing conversations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from clankie.core import ids
from clankie.core.conversation import Kind
from clankie.core.errors import InvalidFieldError, ShuttingDownError, UncertainError
from clankie.host.seats.keeping import refresh
from clankie.host.storage import NewConversation
from clankie.host.waiting import to_the_end

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from clankie.core.conversation import Author, Conversation
    from clankie.host.house import House

_MODEL: Final = re.compile(r"practice|(?=.{3,200}\Z)[a-z][a-z0-9-]*:[^\s:][^\s]*")


async def create(
    house: House,
    *,
    request_id: str,
    name: str,
    kind: Kind,
    directory: str | None,
    by: Author,
) -> tuple[Conversation, bool]:
    """Make one; the same request id makes it once (False the second time).

    Raises:
        InvalidFieldError: the name, the kind, or a directory where none belongs.
    """
    _awake(house)
    if kind not in {Kind.GLOBAL, Kind.WORKSPACE}:
        raise InvalidFieldError("kind", "global or workspace")
    if (directory is not None) != (kind is Kind.WORKSPACE):
        raise InvalidFieldError("directory", "an absolute path, for a workspace conversation only")
    if directory is not None and (not directory.startswith("/") or "\0" in directory):
        raise InvalidFieldError("directory", "an absolute path")
    if directory is not None:
        # Resolved once, here: what is kept names no link.
        directory = await house.workspaces.check(directory)
    new = NewConversation(
        id=house.ids.new("c"),
        request_id=ids.delivery_id(request_id),
        name=ids.conversation_name(name),
        kind=kind,
        directory=directory,
    )
    return await house.store.conversations.create(new, by)


async def rename(
    house: House, conversation: str, name: str, expected_revision: int
) -> Conversation:
    """Give it another name. Raises RevisionConflictError."""
    _awake(house)
    checked = ids.conversation_name(name)
    return await house.store.conversations.rename(conversation, checked, expected_revision)


async def reset(
    house: House, conversation: str, expected_revision: int | None, by: Author
) -> Conversation:
    """Begin afresh: projections start after the marker, the log stays, what waits stays.

    Raises:
        RunInProgressError, RevisionConflictError, ConversationReadOnlyError.
    """
    _awake(house)
    work = house.store.conversations.reset(conversation, expected_revision, by)
    return await to_the_end(_evicting(house, conversation, work))


async def close(house: House, conversation: str, by: Author) -> Conversation:
    """Close it: what waits becomes `not_sent`, the log stays readable.

    Raises:
        NotAllowedError: the head cannot be closed.
        RunInProgressError: wait or cancel first.
    """
    _awake(house)
    work = house.store.conversations.close(conversation, by)
    return await to_the_end(_evicting(house, conversation, work))


async def set_model(
    house: House, conversation: str, model: str | None, expected_revision: int
) -> Conversation:
    """Let another model answer here; None: the one of the settings.

    Raises:
        InvalidFieldError: not the form of a model's name.
        RevisionConflictError, ConversationClosedError.
    """
    _awake(house)
    if model is not None and (_MODEL.fullmatch(model) is None or not model.isprintable()):
        raise InvalidFieldError("model", "practice, or provider:name such as openai-chat:llama3")
    return await house.store.conversations.set_model(conversation, model, expected_revision)


async def purge(house: House, conversation: str) -> Conversation:
    """Remove the content of a closed conversation for good; ids and fingerprints stay.

    Raises:
        NotAllowedError: it is the head.
        RunInProgressError: it is not closed.
    """
    _awake(house)
    await house.store.conversations.purge(conversation)
    house.feed.forget(conversation)
    house.lane.evict(conversation)
    house.goals.discard(conversation)
    return await house.store.conversations.get(conversation)


async def _evicting(
    house: House, conversation: str, work: Coroutine[object, object, Conversation]
) -> Conversation:
    """Do it, then forget the sessions, also when nobody can tell whether it was done."""
    try:
        after = await work
    except UncertainError:
        await _forgotten(house, conversation)
        raise
    await _forgotten(house, conversation)
    return after


async def _forgotten(house: House, conversation: str) -> None:
    house.lane.evict(conversation)
    # A reset retires the session of its seat, closing lets the seat go.
    chair = house.desk.at(conversation)
    if chair is not None:
        await refresh(house, chair.seat.id)


def _awake(house: House) -> None:
    if house.stopping:
        raise ShuttingDownError
