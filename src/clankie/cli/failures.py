"""What a command can fail with. Each has a sentence for people, and a code and facts for programs.

CommandError              exit 1
├── ServiceDownError      nothing was sent: nobody listens
├── ConnectionLostError   something was sent, and the answer never came
├── ProblemError          the service refused or failed, and said why
└── UnconfirmedSendError  a message may or may not be stored; its id says how to find out
"""

from __future__ import annotations

from typing import Any


class CommandError(Exception):
    """The command was refused or failed."""

    code = "failed"

    def __init__(self, detail: str, *, code: str | None = None, **facts: Any) -> None:  # noqa: ANN401 - JSON
        super().__init__(detail)
        self.detail = detail
        self.code = code or self.code
        self.facts: dict[str, Any] = facts

    def to_json(self) -> dict[str, Any]:
        """``{"error": {code, detail, …facts}}``."""
        return {"error": {**self.facts, "code": self.code, "detail": self.detail}}


class ServiceDownError(CommandError):
    """Nobody listens at the service's address, so nothing was sent."""

    code = "service_not_running"


class ConnectionLostError(CommandError):
    """The connection broke after the request was sent: whether it was carried out is unknown."""

    code = "connection_lost"


class ProblemError(CommandError):
    """The service answered with a problem: `status` is HTTP's, the code and facts are its own."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        known = {"status", "code", "detail", "title", "type", "instance"}
        facts = {name: value for name, value in problem.items() if name not in known}
        detail = str(problem.get("detail") or f"The service answered {status}.")
        super().__init__(detail, code=str(problem.get("code") or f"http_{status}"))
        self.facts, self.status = facts, status
        self.retry_after: float | None = None


class UnconfirmedSendError(CommandError):
    """The message may or may not be stored. Sending it again under the same id is safe."""

    code = "unconfirmed_send"

    def __init__(self, delivery_id: str, cause: str) -> None:
        super().__init__(
            f"It is not known whether the message was stored ({cause}). Repeat the command with "
            f"--id {delivery_id}: under the same id it is never stored or answered twice.",
            delivery_id=delivery_id,
        )
