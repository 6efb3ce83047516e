"""What Clankie may know about itself, and the text a harness starts with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.core.conversation import timestamp
from clankie.core.errors import InvalidFieldError

if TYPE_CHECKING:
    from clankie.host.house import House

SECTIONS: Final = ("persona", "reach", "conversation")


async def describe(house: House, conversation: str) -> dict[str, object]:
    """The conversation, the model and what waits: nothing of any other conversation."""
    here = await house.store.conversations.get(conversation)
    wakes = await house.store.wakes.list(conversation)
    return {
        "name": house.settings.persona.name,
        "now": timestamp(house.clock.now()),
        "model": house.settings.models.model,
        "conversation": {
            "id": here.id,
            "name": here.name,
            "kind": here.kind,
            "revision": here.revision,
            "events": here.cursor,
            "waiting": here.waiting,
            "uncertain": here.uncertain,
        },
        "wakes": [
            {"id": one.id, "due_at": timestamp(one.due_at), "text": one.text, "held": one.held}
            for one in wakes
        ],
    }


def persona(house: House) -> str:
    """Who answers: the owner's settings, nothing from any caller."""
    own = house.settings.persona
    lines = [f"You are {own.name}, a persistent agent. Your conversation is a durable log."]
    if own.instructions.strip():
        lines.append(own.instructions.strip())
    return "\n\n".join(lines)


async def prompt(house: House, conversation: str, sections: tuple[str, ...]) -> str:
    """The asked-for sections as plain text; reading them moves nothing.

    Raises:
        InvalidFieldError: a section that does not exist.
    """
    for name in sections:
        if name not in SECTIONS:
            raise InvalidFieldError("sections", f"a list of {', '.join(SECTIONS)}")
    here = await house.store.conversations.get(conversation)
    parts: list[str] = []
    for name in sections:
        if name == "persona":
            parts.append(f"# Who you are\n\n{persona(house)}")
        elif name == "reach":
            parts.append(
                f"# Where you are\n\nConversation {here.name!r} ({here.id}, {here.kind}), "
                f"revision {here.revision}, last event {here.cursor}."
            )
        else:
            projection = await house.store.conversations.project(
                conversation, house.settings.projection
            )
            parts.append(f"# The conversation so far\n\n{projection.text or '(nothing yet)'}")
    return "\n\n".join(parts) + "\n"
