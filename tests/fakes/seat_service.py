"""The port Service of a pump: a service of one seat that a test scripts, and what it was told."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from clankie.core.seat import Activity, Entry, EventKind, Report, SeatEvent
from clankie.seats.port import Question
from clankie.seats.service import Answered, Begun, Page, SeatWireError

AT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
Said = tuple[str, str, int]


def event(
    name: str, *, attempt: int = 1, generation: int = 1, kind: EventKind = EventKind.TURN
) -> SeatEvent:
    """An event whose deadline is a minute after the fake clock's start."""
    return SeatEvent(
        id=name,
        kind=kind,
        source="owner",
        content=f"the words of {name}",
        created_at=AT,
        deadline=AT + timedelta(seconds=60),
        conversation="global-default",
        attempt=attempt,
        generation=generation,
    )


class FakeSeatService:
    """Answers polls from a list: pages, or errors to raise. When it is used up, polls wait."""

    def __init__(self, *answers: Page | SeatWireError) -> None:
        self.answers = list(answers)
        self.polls: list[tuple[str, str]] = []
        self.said: list[Said] = []
        self.bindings: set[str] = set()
        self.reasons: dict[str, str] = {}
        self.sent: list[tuple[str, list[Entry], Activity | None]] = []
        self.reported: list[datetime | None] = []
        self.questions: list[Question] = []
        self.decided: dict[str, bool] = {}
        self.withdrawn: list[str] = []
        self.began: list[tuple[str, str]] = []
        self.confirmed: list[str] = []
        self.failures: list[SeatWireError] = []
        self.waits = asyncio.Event()

    async def poll(self, binding: str, poll_id: str, wait: float) -> Page:
        assert wait > 0
        self.polls.append((binding, poll_id))
        if not self.answers:
            self.waits.set()
            await asyncio.Event().wait()
        answer = self.answers.pop(0)
        if isinstance(answer, SeatWireError):
            raise answer
        return answer

    async def ack(self, which: Answered) -> None:
        self._fail()
        self.bindings.add(which.binding)
        self.said.append(("ack", which.event, which.attempt))

    async def refuse(self, which: Answered, reason: str) -> None:
        self._fail()
        self.bindings.add(which.binding)
        self.reasons[which.event] = reason
        self.said.append(("refuse", which.event, which.attempt))

    async def transcript(
        self, session_id: str, entries: Sequence[Entry], report: Report | None
    ) -> None:
        self._fail()
        activity = None if report is None else report.activity
        if report is not None:
            self.reported.append(report.at)
        self.sent.append((session_id, list(entries), activity))

    async def ask(self, question: Question) -> bool | None:
        self._fail()
        self.questions.append(question)
        return self.decided.get(question.id)

    async def withdraw(self, question: str) -> None:
        self._fail()
        self.withdrawn.append(question)

    async def begin(self, session_id: str, source: str, sections: Sequence[str]) -> Begun:
        self._fail()
        assert list(sections)
        self.began.append((session_id, source))
        return Begun(text=f"the log for {session_id}", projection_id=f"p-{len(self.began)}")

    async def confirm(self, projection_id: str) -> None:
        self._fail()
        self.confirmed.append(projection_id)

    def _fail(self) -> None:
        if self.failures:
            raise self.failures.pop(0)
