"""A service of a few scripted answers, for clients: what it was asked, and what it says."""

import json
from collections import deque
from typing import Any

from clankie.cli.failures import CommandError
from clankie.cli.wire import Address, Call

ADDRESS = Address("token", socket_path="/nowhere/service.sock")


class Scripted:
    """A transport. Each call takes the next answer: an object, or an error to raise."""

    def __init__(self, *answers: dict[str, Any] | CommandError) -> None:
        self.answers = deque(answers)
        self.calls: list[Call] = []

    def __call__(self, address: Address, call: Call) -> bytes:
        assert address == ADDRESS
        self.calls.append(call)
        answer = self.answers.popleft()
        if isinstance(answer, CommandError):
            raise answer
        return json.dumps(answer).encode()

    @property
    def ids(self) -> list[str]:
        """The delivery ids that were sent, in order."""
        return [str((call.body or {}).get("delivery_id")) for call in self.calls]
