"""What is refused around seats."""

from __future__ import annotations

from clankie.core.errors import RefusedError


class SeatNotFoundError(RefusedError):
    """There is no such seat for this principal."""

    code = "seat_not_found"

    def __init__(self, seat: str) -> None:
        super().__init__(
            f"There is no seat {seat!r}. List them with `clankie seat list`.", seat=seat
        )


class EventNotFoundError(RefusedError):
    """This seat never had that event."""

    code = "event_not_found"

    def __init__(self, event: str) -> None:
        super().__init__(
            f"This seat was never given an event {event!r}; nothing was published.", event=event
        )


class ApprovalNotFoundError(RefusedError):
    """There is no such question."""

    code = "approval_not_found"

    def __init__(self, approval: str) -> None:
        super().__init__(f"There is no question {approval!r} open.", approval=approval)


class GrantUnknownError(RefusedError):
    """The grant was used, is too old, or never was."""

    code = "grant_unknown"

    def __init__(self) -> None:
        super().__init__(
            "This grant was used, is too old, or never was. "
            "Open the seat again with `clankie seat open`."
        )


class AttachmentConflictError(RefusedError):
    """Another seat is attached there."""

    code = "attachment_conflict"

    def __init__(self, conversation: str, current: str | None) -> None:
        now = "no seat is" if current is None else f"the seat {current!r} is"
        super().__init__(
            f"At {conversation!r} {now} attached now. Look with `clankie seat list`, then say "
            "which one to replace.",
            conversation=conversation,
            current=current,
        )


class SeatSupersededError(RefusedError):
    """Another binding of this seat has the event, or the seat was replaced."""

    code = "seat_superseded"

    def __init__(self, seat: str) -> None:
        super().__init__(
            f"Another bridge of the seat {seat!r} took this event. Stop: only that one may answer.",
            seat=seat,
        )


class OccupantChangedError(RefusedError):
    """Another native session sits there now."""

    code = "occupant_changed"

    def __init__(self, seat: str) -> None:
        super().__init__(
            f"Another session sits in the seat {seat!r} now. Open a seat of your own with "
            "`clankie seat open`.",
            seat=seat,
        )


class SessionConflictError(RefusedError):
    """This native session belongs elsewhere, or was retired by a reset."""

    code = "session_conflict"

    def __init__(self, session: str) -> None:
        super().__init__(
            f"The native session {session!r} belongs to another conversation, or was retired by a "
            "reset. Begin a new session in the harness, or open the seat again without --resume.",
            session=session,
        )
