"""What a harness reads of an event: the owner's words bare, everything else framed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from clankie.core.conversation import CAPTAIN, Principal
from clankie.core.handoff import BUDGET
from clankie.core.seat import EventKind
from clankie.host.framing import Untrusted, framed

if TYPE_CHECKING:
    from clankie.core.seat import Piece, SeatEvent
    from clankie.host.ports import Ids

_HANDOFF: Final = (
    "What the service lane did in this conversation while this session was away. It is a record: "
    "all of it is done."
)
_CONTEXT: Final = "Earlier messages that wait for the same answer:"
_BARE: Final = frozenset({Principal.OPERATOR, Principal.DEVICE})
_FRAME: Final = 400

HANDOFF_BUDGET: Final = BUDGET - len(_HANDOFF) - _FRAME
"""Characters of a handoff's own text, so that with its frame it stays within the wire's bound."""


def readable(event: SeatEvent, ids: Ids) -> SeatEvent:
    """The event with the content that its harness is given."""
    if not event.pieces:
        piece = Untrusted(source=event.source, author=_named(CAPTAIN.principal), text=event.content)
        return replace(event, content=f"{_HANDOFF}\n\n{framed(piece, ids)}")
    *earlier, newest = event.pieces
    parts = [_CONTEXT] if earlier else []
    parts += [_framed(one, ids) for one in earlier]
    if event.kind is EventKind.TURN and newest.author.principal in _BARE:
        parts.append(newest.text)
    else:
        parts.append(_framed(newest, ids))
    parts += [note for note in (one.note for one in event.pieces) if note is not None]
    return replace(event, content="\n\n".join(parts))


def _framed(piece: Piece, ids: Ids) -> str:
    author = _named(piece.author.principal, piece.author.id)
    whole = Untrusted(source=piece.source, author=author, text=piece.text, name=piece.name)
    return framed(whole, ids)


def _named(principal: Principal, name: str = "") -> str:
    return f"{principal}:{name}" if name else str(principal)
