"""What can go wrong, and whose it is to mend.

ClankieError
├── RefusedError        the caller asked for something that cannot be; nothing was changed
│   ├── InvalidFieldError, UnsupportedError                          the request is malformed
│   ├── NotAllowedError, ConversationReadOnlyError                   not this principal's to do
│   ├── ConversationNotFoundError, DeliveryNotFoundError,
│   │   WakeNotFoundError, TokenNotFoundError, AttachmentNotFoundError,
│   │   McpServerNotFoundError
│   │                                                               not there, or not yours
│   ├── DeliveryConflictError, UnconfirmedError,
│   │   RevisionConflictError, SettingsConflictError,
│   │   TransitionRefusedError, RunInProgressError, CursorAheadError at odds with what is there
│   └── CursorGoneError, ReceiptExpiredError, ConversationClosedError  it was there once
├── FaultError          we cannot serve it now; nothing was changed, try again
│   └── ShuttingDownError, BackpressureError, StorageUnavailableError, ReceiptsUnreadableError
└── UncertainError      nobody can tell whether it happened
    └── CommitUnknownError

Every class has a stable ``code`` that goes on the wire, a sentence that says what to do, and its
facts as fields (``facts`` goes on the wire beside the code). Errors are told apart by class, never
by text.
"""

from __future__ import annotations

from typing import ClassVar


class ClankieError(Exception):
    """The root: something a caller may want to handle."""

    code: ClassVar[str] = "error"

    def __init__(self, detail: str, **facts: object) -> None:
        super().__init__(detail)
        self.detail = detail
        self.facts = facts


class RefusedError(ClankieError):
    """The request was refused and nothing was changed."""


class FaultError(ClankieError):
    """The service cannot do it now; nothing was changed and the caller may try again."""


class UncertainError(ClankieError):
    """Nobody can tell whether it happened; ask again under the same id."""


class InvalidFieldError(RefusedError):
    """A field is missing, of the wrong type or out of bounds."""

    code = "invalid_field"

    def __init__(self, path: str, rule: str) -> None:
        super().__init__(
            f"The field {path!r} must be: {rule}.", errors=[{"path": path, "rule": rule}]
        )
        self.path, self.rule = path, rule


class UnsupportedError(RefusedError):
    """The request is well formed, but this version cannot do it."""

    code = "unsupported"


class NotAllowedError(RefusedError):
    """This principal may not do this."""

    code = "not_allowed"


class ConversationReadOnlyError(RefusedError):
    """A room can be read here, not run: send from the room itself, or attach a seat to it."""

    code = "conversation_read_only"

    def __init__(self, conversation: str) -> None:
        super().__init__(
            f"The conversation {conversation!r} is a room. It can be read here, but messages and "
            "resets reach it only from the room itself.",
            conversation=conversation,
        )


class ConversationNotFoundError(RefusedError):
    """There is no such conversation for this principal."""

    code = "conversation_not_found"

    def __init__(self, conversation: str) -> None:
        super().__init__(
            f"There is no conversation {conversation!r}. "
            "List them with `clankie conversations list`.",
            conversation=conversation,
        )


class DeliveryNotFoundError(RefusedError):
    """There is no such delivery for this principal."""

    code = "delivery_not_found"

    def __init__(self, delivery: str) -> None:
        super().__init__(
            f"There is no delivery {delivery!r}. List them with `clankie deliveries list`.",
            delivery=delivery,
        )


class WakeNotFoundError(RefusedError):
    """There is no such waiting wake."""

    code = "wake_not_found"

    def __init__(self, wake: str) -> None:
        super().__init__(f"There is no waiting wake {wake!r}.", wake=wake)


class TokenNotFoundError(RefusedError):
    """There is no such token."""

    code = "token_not_found"

    def __init__(self, token: str) -> None:
        super().__init__(
            f"There is no token {token!r}. List them with `clankie token list`.", token=token
        )


class AttachmentNotFoundError(RefusedError):
    """There is no such attachment: upload it first."""

    code = "attachment_not_found"

    def __init__(self, digest: str) -> None:
        super().__init__(
            f"There is no attachment {digest!r}. Upload it first, then name its digest.",
            digest=digest,
        )


class McpServerNotFoundError(RefusedError):
    """The settings name no such server of tools."""

    code = "mcp_server_not_found"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The settings name no MCP server {name!r}. See mcp.servers in the settings.", name=name
        )


class DeliveryConflictError(RefusedError):
    """This delivery id was used before, with other content."""

    code = "delivery_conflict"

    def __init__(self, delivery: str) -> None:
        super().__init__(
            f"The delivery id {delivery!r} was already used with other content. "
            "Send the new content under a new id.",
            delivery=delivery,
        )


class UnconfirmedError(RefusedError):
    """An earlier delivery with this id or content has an unknown outcome and blocks this one."""

    code = "unconfirmed"

    def __init__(self, blocker: str) -> None:
        super().__init__(
            f"The outcome of delivery {blocker!r} is unknown, so this was not sent again. "
            "Look at it, then close it as unknown or send a new message.",
            blocker=blocker,
        )


class RevisionConflictError(RefusedError):
    """The conversation moved on since the caller last looked."""

    code = "revision_conflict"

    def __init__(self, revision: int, cursor: int) -> None:
        super().__init__(
            f"The conversation is at revision {revision} now. Read it again from cursor {cursor} "
            "and send with the new revision.",
            revision=revision,
            cursor=cursor,
        )


class SettingsConflictError(RefusedError):
    """The settings moved on since the caller last looked."""

    code = "revision_conflict"

    def __init__(self, revision: int) -> None:
        super().__init__(
            f"The settings are at revision {revision} now. Read them again and repeat the change.",
            revision=revision,
        )


class TransitionRefusedError(RefusedError):
    """This cannot happen to this record in the state it is in; nothing was changed."""

    code = "transition_refused"

    def __init__(self, record: str, state: str, event: str) -> None:
        super().__init__(
            f"{record} is {state} and cannot become {event}. Its receipt says what happened.",
            record=record,
            state=state,
            event=event,
        )


class RunInProgressError(RefusedError):
    """A run is in progress: wait for it or cancel it first."""

    code = "run_in_progress"

    def __init__(self, conversation: str) -> None:
        super().__init__(
            f"A run is in progress in {conversation!r}. Wait until it ends, or cancel it first.",
            conversation=conversation,
        )


class CursorAheadError(RefusedError):
    """The cursor lies beyond the end of the log."""

    code = "cursor_ahead"

    def __init__(self, head: int) -> None:
        super().__init__(
            f"The cursor lies beyond the end of the log, {head}. Read again from the start.",
            head_cursor=head,
        )


class CursorGoneError(RefusedError):
    """The log no longer goes back to this cursor."""

    code = "cursor_gone"

    def __init__(self, oldest: int) -> None:
        super().__init__(
            f"The log no longer goes back that far. Read on from its oldest cursor, {oldest}.",
            oldest_cursor=oldest,
        )


class ReceiptExpiredError(RefusedError):
    """The receipt is gone, by its age or with its conversation; nothing was dispatched."""

    code = "receipt_expired"

    def __init__(self, delivery: str) -> None:
        super().__init__(
            f"The receipt of {delivery!r} is not kept any more: it is old, or its conversation was "
            "purged. It was not sent again; use a new id for a new message.",
            delivery=delivery,
        )


class ConversationClosedError(RefusedError):
    """The conversation is closed: its log can be read, nothing can be sent."""

    code = "conversation_closed"

    def __init__(self, conversation: str) -> None:
        super().__init__(
            f"The conversation {conversation!r} is closed. Its log can still be read; "
            "send to another conversation.",
            conversation=conversation,
        )


class ShuttingDownError(FaultError):
    """The service is going down."""

    code = "service_shutting_down"

    def __init__(self) -> None:
        super().__init__("The service is shutting down. Try again when it is back.")


class BackpressureError(FaultError):
    """More is waiting to be written than the bound allows."""

    code = "admission_backpressure"

    def __init__(self) -> None:
        super().__init__(
            "Too much is waiting to be stored. Nothing was recorded; try again shortly."
        )


class StorageUnavailableError(FaultError):
    """The store cannot write (disk full, file gone, input or output error)."""

    code = "storage_unavailable"

    def __init__(self, cause: str) -> None:
        super().__init__(
            f"The store cannot write ({cause}). Nothing was recorded, what was accepted is safe. "
            "Free disk space or mend the disk, then try again.",
            cause=cause,
        )


class ReceiptsUnreadableError(FaultError):
    """Receipts cannot be read, so nothing may be dispatched."""

    code = "receipts_unreadable"

    def __init__(self, cause: str) -> None:
        super().__init__(
            f"The receipts cannot be read ({cause}), so nothing is dispatched. "
            "Run `clankie doctor` and restore a backup if it says so.",
            cause=cause,
        )


class CommitUnknownError(UncertainError):
    """The commit failed in a way that leaves open whether it is on disk."""

    code = "commit_unknown"

    def __init__(self, cause: str) -> None:
        super().__init__(
            f"The commit was interrupted ({cause}); it may or may not be stored. "
            "Repeat the request with the same id.",
            cause=cause,
        )
