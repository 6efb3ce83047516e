"""The first lines of a chat: what this is, and who answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.cli.chat.marks import BLANK, BODY, Line, said
from clankie.cli.clean import line

if TYPE_CHECKING:
    from clankie.cli.wire import Json

PRACTICE: Final = "practice"
CHOOSE: Final = "/model openai-chat:llama3.2 http://127.0.0.1:11434/v1"


def welcome(conversation: Json, model: str) -> list[Line]:
    """A few lines for a newcomer, one for who has been here before."""
    practice = model.startswith(PRACTICE)
    if int(conversation.get("cursor") or 0) > 0:
        who = (
            "the practice model answers; /model chooses a real one"
            if practice
            else f"{line(model, 60)} answers"
        )
        return [Line((("agent", "Clankie"), ("quiet", f"  {who}")))]
    lines = [
        Line((("agent", "Clankie"), ("quiet", "  a conversation that stays"))),
        BLANK,
        said("", "What you send is stored before it is answered, is never run twice,", BODY),
        said("", "and is still here when you come back.", BODY),
        BLANK,
    ]
    if practice:
        lines += [
            Line(
                (
                    ("quiet", "Now answering  "),
                    ("", "the practice model: built in, offline, understands nothing"),
                ),
                BODY,
            ),
            Line((("quiet", "A real model   "), ("accent", CHOOSE)), BODY),
        ]
    else:
        lines.append(Line((("quiet", "Now answering  "), ("", line(model, 60))), BODY))
    return [*lines, Line((("quiet", "Everything     "), ("accent", "/help")), BODY)]
