"""The port of a language model, and everything that can go wrong with one.

ModelError                    the turn fails; nothing is known to have happened outside
├── ModelUnreachableError        nobody answers at the address
├── ModelTimeoutError            it answered too slowly
├── ModelRateLimitedError        it wants to be asked later
├── ModelCredentialError         it does not accept who we are
├── ModelInsecureError           we do not send the credential over this connection
├── ModelServerError             it says that it failed
├── ModelBadResponseError        it sent something that is no answer, or only part of one
├── ModelAnswerTooLongError      the answer goes beyond the owner's bound
├── ModelRefusedError            its content filter stopped it
├── ModelRequestRefusedError     it does not accept the request, or does not know the model
├── ModelPictureError            it does not take the pictures that came with the message
├── ToolRoundsError              it called tools without end
└── ModelUnknownError            the settings name no model that we can speak to

Every class has a stable ``code``; its sentence says what to do and holds no secret.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from clankie.lanes.messages import Message, ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as a model is told of it. `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One question to a model: who it is, what was said (oldest first), what it may call.

    `pictures` holds bytes by digest; of a picture that is not in it the model is told in words.
    """

    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    pictures: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


class Reason(StrEnum):
    """Why a model stopped."""

    DONE = "done"
    LENGTH = "length"  # its own limit of length cut it


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Pulse:
    """The model works on something that is not shown: reasoning, arguments still being written."""


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """A whole call."""

    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Tokens of this response as the provider counted them so far; the last one counts.

    `input_tokens` is all that was read; `cache_read` and `cache_write` are the parts of it that
    came from the provider's cache and went into it.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True, slots=True)
class Finished:
    """The end, always the last part."""

    reason: Reason = Reason.DONE


Part = TextDelta | Pulse | ToolCallPart | Spent | Finished


class Model(Protocol):
    """Something that answers."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[Part, None]:
        """Answer in parts, `Finished` last. Closing it ends the request promptly.

        Raises:
            ModelError: every known failure.
        """
        ...


class ModelError(Exception):
    """A model could not answer.

    `repeatable`: nothing of an answer can have been made, so the same request may be sent again.
    `retry_after`: how long the server asks to wait, in seconds.
    """

    code: ClassVar[str] = "model_error"

    def __init__(
        self, detail: str, *, repeatable: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(detail)
        self.detail, self.repeatable, self.retry_after = detail, repeatable, retry_after


class ModelUnreachableError(ModelError):
    """Nobody answers at the address of the model server."""

    code = "model_unreachable"


class ModelTimeoutError(ModelError):
    """The model server was silent for too long."""

    code = "model_timeout"


class ModelRateLimitedError(ModelError):
    """The model server wants fewer requests."""

    code = "model_rate_limited"


class ModelCredentialError(ModelError):
    """The model server did not accept the credential, or there is none."""

    code = "model_credential_rejected"


class ModelInsecureError(ModelError):
    """The credential would have travelled in the clear, so nothing was sent."""

    code = "model_insecure_url"


class ModelServerError(ModelError):
    """The model server reports a failure of its own."""

    code = "model_server_error"


class ModelBadResponseError(ModelError):
    """What came is not an answer, or ends in the middle of one."""

    code = "model_bad_response"


class ModelAnswerTooLongError(ModelError):
    """The answer went beyond the bound the owner set."""

    code = "model_answer_too_long"


class ModelRefusedError(ModelError):
    """The provider's content filter stopped the answer."""

    code = "model_refused"


class ModelRequestRefusedError(ModelError):
    """The model server does not accept the request: unknown model, too much context."""

    code = "model_request_refused"


class ModelPictureError(ModelError):
    """The model does not take the pictures that came with the message."""

    code = "model_picture_refused"


class ToolRoundsError(ModelError):
    """The model called tools again and again and came to no end."""

    code = "tool_rounds_exhausted"


class ModelUnknownError(ModelError):
    """The settings name no model that we know how to reach."""

    code = "model_unknown"
