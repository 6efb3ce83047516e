"""What a pump knows of its harness's questions outlives it, and the service's memory of them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from clankie.seats.asked import Asked
from clankie.seats.folder import Folder, made
from clankie.seats.port import Question, Seen
from clankie.seats.questions import Questions
from clankie.seats.service import Page, RefusedError, UnreachableError
from fakes.clock import FakeClock
from fakes.harness import FakeHarness
from fakes.seat_service import FakeSeatService
from seats.test_pump import Bench

pytestmark = pytest.mark.anyio


class Table:
    """A pump's questions between two fakes; `again` is the next pump's."""

    def __init__(self, folder: Folder) -> None:
        self.folder, self.service, self.harness = folder, FakeSeatService(), FakeHarness()
        self.log: list[str] = []
        self.questions = self.again()

    def again(self) -> Questions:
        async def answer(question: str, approve: bool) -> bool:
            return await self.harness.answer(question, approve=approve)

        return Questions(
            service=self.service,
            asked=Asked(self.folder),
            clock=FakeClock(),
            jitter=lambda: 1.0,
            say=self.log.append,
            answer=answer,
        )


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(made(str(tmp_path), "seat"))


def asks(name: str) -> Question:
    return Question(id=name, summary=f"May it {name}?")


async def test_what_was_answered_while_no_pump_ran_is_taken_back_by_the_next(table: Table) -> None:
    for name in ("q-1", "q-2", "q-3"):
        await table.questions.ask(asks(name))
    await table.questions.withdraw("q-1")
    after = table.again()
    await after.ask(asks("q-2"))
    await after.stand(("q-2",))
    assert table.service.withdrawn == ["q-1", "q-3"]
    await table.again().stand(())
    assert table.service.withdrawn == ["q-1", "q-3", "q-2"]
    assert Asked(table.folder).all() == ()


async def test_what_could_not_be_taken_back_is_taken_back_later(table: Table) -> None:
    await table.questions.ask(asks("q-1"))
    table.service.failures = [RefusedError(403, "not_allowed", "No.")]
    await table.again().stand(())
    assert table.service.withdrawn == []
    await table.again().stand(())
    assert table.service.withdrawn == ["q-1"]


async def test_what_the_owner_answered_is_over(table: Table) -> None:
    await table.questions.ask(asks("q-1"))
    await table.questions.answered("q-1", approve=True)
    assert table.harness.answered == [("q-1", True)]
    assert Asked(table.folder).all() == ()
    assert table.service.withdrawn == []


async def test_an_answer_that_the_harness_does_not_take_takes_the_question_back(
    table: Table,
) -> None:
    table.harness.stops = False
    await table.questions.ask(asks("q-1"))
    await table.questions.answered("q-1", approve=True)
    assert any("q-1: the harness did not take the answer" in line for line in table.log)
    assert table.service.withdrawn == ["q-1"]
    assert Asked(table.folder).all() == ()
    # A service that was away is not asked it once more.
    assert await table.questions.again()
    assert [one.id for one in table.service.questions] == ["q-1"]


def strange(folder: Folder) -> None:
    Path(folder.file("asked.json")).symlink_to("elsewhere.json")


def gone(folder: Folder) -> None:
    shutil.rmtree(folder.path)


@pytest.mark.parametrize("broken", [strange, gone])
async def test_what_cannot_be_kept_is_asked_all_the_same(
    table: Table, broken: Callable[[Folder], None]
) -> None:
    broken(table.folder)
    await table.questions.ask(asks("q-1"))
    assert [one.id for one in table.service.questions] == ["q-1"]
    assert any("cannot be kept" in line for line in table.log)
    await table.questions.answered("q-1", approve=False)
    await table.questions.ask(asks("q-2"))
    await table.questions.withdraw("q-2")
    await table.questions.stand(())
    assert table.harness.answered == [("q-1", False)]
    assert table.service.withdrawn == ["q-2"]


async def test_a_service_that_was_away_is_asked_again_what_still_stands(table: Table) -> None:
    for name in ("q-1", "q-2", "q-3"):
        await table.questions.ask(asks(name))
    await table.questions.withdraw("q-1")
    table.service.questions.clear()
    table.service.decided = {"q-3": False}
    table.service.failures = [UnreachableError("away again")]
    assert not await table.questions.again()
    assert [one.id for one in table.service.questions] == ["q-3"]
    assert any("was not asked again" in line for line in table.log)
    assert await table.questions.again()
    # What was answered meanwhile is asked no more.
    assert [one.id for one in table.service.questions] == ["q-3", "q-2"]
    assert table.harness.answered == [("q-3", False)]


async def test_a_file_that_is_none_is_as_if_nothing_was_asked(table: Table) -> None:
    table.folder.write("asked.json", {"asked": 3})
    await table.questions.stand(())
    assert table.service.withdrawn == []


class Meanwhile(FakeSeatService):
    """A service whose answer comes when the question is over."""

    over: Questions | None = None

    async def ask(self, question: Question) -> bool | None:
        if self.over is None:
            return await super().ask(question)
        await self.over.withdraw(question.id)
        await super().ask(question)
        return True


async def test_what_is_over_while_it_is_asked_again_is_taken_back_for_good(table: Table) -> None:
    table.service = service = Meanwhile()
    questions = table.again()
    await questions.ask(asks("q-1"))
    service.over = questions
    await questions.again()
    assert service.withdrawn == ["q-1", "q-1"]
    assert table.harness.answered == []


async def test_a_pump_says_what_stands_and_asks_again_once_the_service_is_back(
    table: Table,
) -> None:
    Asked(table.folder).add("q-0")
    service = FakeSeatService(UnreachableError("nobody answered"), Page(), Page())
    bench = Bench(service, table.harness, table.folder)
    bench.harness.show(Seen(question=asks("q-1")))
    bench.harness.show(Seen(standing=("q-1",)))
    await bench.until_idle()
    assert service.withdrawn == ["q-0"]
    assert [one.id for one in service.questions] == ["q-1", "q-1"]


async def test_what_could_not_be_asked_again_is_asked_at_the_next_page(table: Table) -> None:
    service = FakeSeatService(UnreachableError("nobody answered"), Page(), Page(), Page())
    bench = Bench(service, table.harness, table.folder)
    bench.harness.show(Seen(question=asks("q-1")))
    async with bench.running():
        await bench.clock.settle()
        assert [one.id for one in service.questions] == ["q-1"]
        service.failures = [UnreachableError("away again")]
        await bench.idle()
    assert [one.id for one in service.questions] == ["q-1", "q-1"]


async def test_what_is_refused_when_it_is_asked_again_is_refused_once(table: Table) -> None:
    await table.questions.ask(asks("q-1"))
    table.service.failures = [RefusedError(422, "invalid_field", "No.")]
    assert await table.questions.again()
    assert any("was not asked again" in line for line in table.log)
