"""One request as a route sees it: who asks, what for, and what of it they may see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import Depends, Path, Request

from clankie.api.auth import Caller
from clankie.api.bodies import CONVERSATION
from clankie.api.door import Door
from clankie.api.errors import TokenUnknownError
from clankie.api.rights import RIGHTS
from clankie.core import ids
from clankie.core.conversation import Principal
from clankie.core.errors import ConversationNotFoundError, NotAllowedError
from clankie.core.seat_errors import SeatNotFoundError

if TYPE_CHECKING:
    from starlette.types import Scope

    from clankie.core.conversation import Author
    from clankie.host.house import House

DOOR: Final = "clankie.door"
CALLER: Final = "clankie.caller"


@dataclass(frozen=True, slots=True)
class Call:
    """`route` is the method and the path's template, as the table of rights names it."""

    door: Door
    caller: Caller
    route: tuple[str, str]

    @property
    def house(self) -> House:
        """The running service."""
        return self.door.house

    @property
    def author(self) -> Author:
        """Who asks, as the log will name them."""
        return self.caller.author

    def allow(self) -> None:
        """Whether the table lets this principal use this route, and its token still opens it.

        Raises:
            TokenUnknownError: it was revoked since the gate let the request in.
            NotAllowedError: this principal may not.
        """
        if not self.house.tokens.alive(self.caller.token):
            raise TokenUnknownError
        if self.author.principal not in RIGHTS[self.route]:
            raise NotAllowedError(
                f"A {self.author.principal} may not do this. Use a token that may; "
                "the operator's may do everything."
            )

    def sees(self, conversation: str) -> str:
        """The conversation's id, if this principal may know of it. Call it after `allow`.

        Raises:
            ConversationNotFoundError: a seat asks for a conversation it is not attached to.
        """
        if self.author.principal is Principal.SEAT:
            seat = self.house.seats.standing(conversation)
            if seat is None or seat.seat != self.author.id:
                raise ConversationNotFoundError(conversation)
        return conversation

    def sits(self, seat: str) -> str:
        """The seat's id, if this principal may act on it. Call it after `allow`.

        Raises:
            SeatNotFoundError: a seat names another seat.
        """
        if self.author.principal is Principal.SEAT and self.author.id != seat:
            raise SeatNotFoundError(seat)
        return seat


def caller_of(scope: Scope) -> Caller:
    """Who the gate found behind this request."""
    caller: Caller = scope[CALLER]
    return caller


def _call(request: Request) -> Call:
    route: Any = request.scope["route"]
    return Call(request.scope[DOOR], caller_of(request.scope), (request.method, route.path))


Asked = Annotated[Call, Depends(_call)]
"""The parameter by which a route of the framework gets its call."""


def _conversation(
    conversation: Annotated[str, Path(json_schema_extra=CONVERSATION)],
) -> str:
    return ids.conversation_id(conversation)


Here = Annotated[str, Depends(_conversation)]
"""A conversation named in the path, checked."""
