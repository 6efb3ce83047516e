"""What the harness asks its owner: put before them once, and taken back when it no longer stands.

Rule 1: what is asked is on disk before: the next pump, which may find the harness with fewer
        questions, takes the others back. A harness that cannot tell has them stay.
Rule 2: the service keeps questions as long as it runs. Where it was away they are asked again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from clankie.seats.folder import SeatFolderError
from clankie.seats.patience import INSIST, Patience
from clankie.seats.service import BusyError, SeatWireError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from clankie.host.ports import Clock
    from clankie.seats.asked import Asked
    from clankie.seats.port import Question
    from clankie.seats.service import Service


_T = TypeVar("_T")


@dataclass(kw_only=True)
class Questions:
    """The questions of one harness. `answer` gives it the owner's answer."""

    service: Service
    asked: Asked
    clock: Clock
    jitter: Callable[[], float]
    say: Callable[[str], None]
    answer: Callable[[str, bool], Awaitable[bool]]
    _open: dict[str, Question] = field(default_factory=dict[str, "Question"], init=False)

    async def ask(self, question: Question) -> None:
        """Put it before the owner; an answer that they gave before is given at once."""
        self._open[question.id] = question
        self._kept(lambda: self.asked.add(question.id))
        try:
            await self._patience().insist(lambda: self._put(question), INSIST)
        except SeatWireError as error:
            self.say(f"The question {question.summary!r} reached nobody ({error}).")

    async def answered(self, question: str, *, approve: bool) -> None:
        """The owner's answer has come."""
        if await self.answer(question, approve):
            self._close(question)
        else:
            self.say(f"{question}: the harness did not take the answer.")
            await self.withdraw(question)

    async def withdraw(self, question: str) -> None:
        """It no longer stands: it was answered at the harness, or is over."""
        self._open.pop(question, None)
        try:
            await self._patience().insist(lambda: self.service.withdraw(question), INSIST)
        except SeatWireError as error:
            self.say(f"{question}: the owner still sees it ({error}).")
            return
        self._kept(lambda: self.asked.remove(question))

    async def stand(self, standing: Sequence[str]) -> None:
        """These stand in the harness: what a pump before us asked besides is over."""
        for name in self._kept(self.asked.all) or ():
            if name not in standing:
                await self.withdraw(name)

    async def again(self) -> bool:
        """The service was away, and may have forgotten them; False when it is away once more."""
        away = False
        for name, question in list(self._open.items()):
            try:
                await self._put(question)
                if name not in self._open:
                    # It was over meanwhile, and the word of that may have come first.
                    await self.service.withdraw(name)
            except SeatWireError as error:
                away = away or isinstance(error, UnreachableError | BusyError)
                self.say(f"The question {question.summary!r} was not asked again ({error}).")
        return not away

    async def _put(self, question: Question) -> None:
        approve = await self.service.ask(question)
        if approve is not None and question.id in self._open:
            # The answer was given to a pump before us, and died with it.
            await self.answered(question.id, approve=approve)

    def _close(self, question: str) -> None:
        self._open.pop(question, None)
        self._kept(lambda: self.asked.remove(question))

    def _kept(self, work: Callable[[], _T]) -> _T | None:
        """Use the file; what fails there ends neither the question nor the seat."""
        try:
            return work()
        except (OSError, SeatFolderError) as error:
            self.say(f"What its owner was asked cannot be kept for the next pump ({error}).")
            return None

    def _patience(self) -> Patience:
        return Patience(clock=self.clock, jitter=self.jitter)
