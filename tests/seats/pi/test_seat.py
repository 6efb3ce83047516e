"""What a pi seat does with words, over a scripted pi."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from clankie.core.seat import (
    Activity,
    Entry,
    EntryKind,
    EventKind,
    Limited,
    Mishap,
    delivery_uuid,
)
from clankie.host.clock import SystemClock, SystemIds
from clankie.seats.launch import Means, Place
from clankie.seats.pi import ADAPTER
from clankie.seats.pi import link as links
from clankie.seats.pi.adapter import PiSeat
from clankie.seats.pi.link import PiError
from clankie.seats.pi.rows import reader
from clankie.seats.pi.run import USAGE
from clankie.seats.port import DeafError, Handed, Question, Refused, Seen, Taken, Unknown
from clankie.seats.rows import Known
from fakes.hearing import all_of
from fakes.sitting import Notebook, scripted, turn
from fakes.until import until

pytestmark = pytest.mark.anyio


@dataclass
class Pi:
    home: Path
    place: Place
    seen: list[Seen] = field(default_factory=list[Seen])

    @property
    def means(self) -> Means:
        return Means(place=self.place, clock=SystemClock(), ids=SystemIds(), ledger=Notebook())

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[PiSeat]:
        async with ADAPTER.drive(self.means) as seat:
            assert isinstance(seat, PiSeat)
            hearing = asyncio.get_running_loop().create_task(self._hear(seat))
            try:
                yield seat
            finally:
                hearing.cancel()
                await asyncio.gather(hearing, return_exceptions=True)

    async def _hear(self, seat: PiSeat) -> None:
        async for one in seat.seen():
            self.seen.append(one)

    async def gives(self, seat: PiSeat, name: str, words: str, *, reply: bool = False) -> Handed:
        return await seat.hand_over(turn(name, words, reply=reply))

    def texts(self, seat: PiSeat) -> list[str]:
        assert seat.transcript is not None
        known = Known(ids={delivery_uuid(f"d-{n}", 1): (f"d-{n}", 1) for n in range(9)})
        rows, lines = reader(known), seat.transcript.read_bytes().splitlines()
        found = [entry for line in lines for entry in rows.read(line)]
        return [one.evidence.event if one.evidence else one.text for one in found]

    def prompts(self) -> int:
        lines = (self.home / "requests.jsonl").read_text().splitlines()
        return sum(json.loads(line)["type"] == "prompt" for line in lines)

    def activities(self) -> list[Activity]:
        found = [one.observation for one in self.seen if one.observation is not None]
        return [one.activity for one in found if one.activity is not None]

    def ends(self) -> list[Entry]:
        found = [one.observation for one in self.seen if one.observation is not None]
        return [entry for one in found for entry in one.entries]

    def questions(self) -> list[Question]:
        return [one.question for one in self.seen if one.question is not None]


@pytest.fixture
def pi(tmp_path: Path) -> Pi:
    return Pi(tmp_path / "home", scripted(tmp_path, "pi", "PI_CODING_AGENT_DIR"))


async def test_words_are_taken_when_they_stand_in_the_session(pi: Pi) -> None:
    async with pi.running() as seat:
        assert seat.screen() is None
        assert await seat.greet("the log so far")
        assert await pi.gives(seat, "d-1", "~say hello") == Taken("client_id")
        await until(lambda: pi.activities() == [Activity.RESPONDING, Activity.WAITING])
        assert pi.texts(seat) == ["d-1", "hello"]


@pytest.mark.parametrize("event", ["d-1", "d-2"])
async def test_words_join_a_run_and_it_is_stopped_for_any_of_them(pi: Pi, event: str) -> None:
    async with pi.running() as seat:
        await pi.gives(seat, "d-1", "~hold")
        await until(pi.activities)
        assert await pi.gives(seat, "d-2", "joins") == Taken("socket")
        assert not await seat.interrupt("d-other")
        assert await seat.interrupt(event)
        await until(lambda: Activity.WAITING in pi.activities())
        # The last row is the end that it reports.
        assert pi.texts(seat) == ["d-1", "d-2", ""]
        # Another run is none of theirs.
        await pi.gives(seat, "d-3", "~hold")
        assert not await seat.interrupt("d-1")
        assert not await seat.interrupt("d-2")
        assert await seat.interrupt("d-3")


async def test_what_wants_a_reply_never_reaches_it(pi: Pi) -> None:
    async with pi.running() as seat:
        assert await pi.gives(seat, "d-1", "~say no", reply=True) == Refused("pi_cannot_reply")
        assert EventKind.ESCALATION not in seat.declaration.ways
        assert pi.prompts() == 0


async def test_an_extension_that_fails_is_a_definite_refusal(pi: Pi) -> None:
    async with pi.running() as seat:
        assert await pi.gives(seat, "d-1", "~broken") == Refused("the extension failed")


async def test_a_pi_that_dies_before_it_answers_leaves_it_unknown(pi: Pi) -> None:
    async with pi.running() as seat:
        assert isinstance(await pi.gives(seat, "d-1", "~die"), Unknown)
        await until(lambda: any(s.observation and s.observation.ended for s in pi.seen))
        assert isinstance(await pi.gives(seat, "d-2", "~say x"), Refused)
        assert pi.prompts() == 1


async def test_a_pi_that_dies_after_it_wrote_the_words_has_them(pi: Pi) -> None:
    async with pi.running() as seat:
        assert await pi.gives(seat, "d-1", "~die-late") == Taken("client_id")


async def test_a_pi_that_never_answers_leaves_it_unknown(
    pi: Pi, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with pi.running() as seat:
        monkeypatch.setattr(links, "TIMEOUT", 0.05)
        assert isinstance(await pi.gives(seat, "d-1", "~mute"), Unknown)
        assert pi.prompts() == 1


@pytest.mark.parametrize("approve", [True, False])
async def test_a_confirmation_is_answered_once(pi: Pi, approve: bool) -> None:
    async with pi.running() as seat:
        await pi.gives(seat, "d-1", "~confirm")
        await until(pi.questions)
        (question,) = pi.questions()
        assert question.detail == "Sure?\nIt is large."
        assert await seat.answer(question.id, approve=approve)
        assert not await seat.answer(question.id, approve=approve)
        await until(lambda: Activity.WAITING in pi.activities())
        assert f'"confirmed": {json.dumps(approve)}' in pi.texts(seat)[-1]


async def test_leave_is_no_answer_to_a_question_with_words(pi: Pi) -> None:
    async with pi.running() as seat:
        await pi.gives(seat, "d-1", "~input")
        await until(pi.questions)
        (question,) = pi.questions()
        assert not await seat.answer(question.id, approve=True)
        assert await seat.answer(question.id, approve=False)
        await until(lambda: Activity.WAITING in pi.activities())
        assert '"cancelled": true' in pi.texts(seat)[-1]


@pytest.mark.parametrize("again", ["", "~again "])
async def test_a_limit_is_told_once_it_does_not_try_again(pi: Pi, again: str) -> None:
    # proves: LIMIT-1
    async with pi.running() as seat:
        await pi.gives(seat, "d-1", f"{again}~fail You have hit your ChatGPT usage limit.")
        await until(lambda: Activity.WAITING in pi.activities())
        (limit,) = pi.ends()
        assert (limit.kind, limit.limit) == (
            EntryKind.LIMIT,
            Limited(window=USAGE, occurred_at=limit.at),
        )
        # It works while it waits to try again, too.
        assert pi.activities() == [*(Activity.RESPONDING,) * (3 if again else 1), Activity.WAITING]
        # What it wrote says nothing of the end, or it would be told too early.
        assert pi.texts(seat) == ["d-1"]
        assert await pi.gives(seat, "d-2", "~say hello") == Taken("client_id")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("~fail 401 invalid key", Mishap.API_ERROR),
        ("~again ~fail 529 overloaded", Mishap.API_ERROR),
        ("~stopped ~fail 529 overloaded", Mishap.INTERRUPTED),
    ],
)
async def test_an_end_without_an_answer_is_told(pi: Pi, words: str, error: Mishap) -> None:
    async with pi.running() as seat:
        await pi.gives(seat, "d-1", words)
        await until(lambda: Activity.WAITING in pi.activities())
        (end,) = pi.ends()
        assert (end.kind, end.error) == (EntryKind.ERROR, error)
        assert Activity.WAITING not in pi.activities()[:-1]


@pytest.mark.parametrize("words", ["~hold ~unheard", "~confirm", "~say one"])
async def test_it_goes_on_with_a_fresh_session_in_the_same_process(pi: Pi, words: str) -> None:
    # proves: SEAT-14
    async with pi.running() as seat:
        await pi.gives(seat, "d-1", words)
        await until(pi.questions if words == "~confirm" else pi.activities)
        before, old = seat.native, seat.transcript
        session = await seat.renew()
        assert session == seat.native.session_id != before.session_id
        assert (seat.native.pid, seat.transcript != old) == (before.pid, True)
        assert not await seat.interrupt("d-1")
        assert await seat.greet("the log so far")
        assert await pi.gives(seat, "d-2", "~say afresh") == Taken("client_id")
        await until(lambda: pi.texts(seat)[-1:] == ["afresh"])
        assert pi.texts(seat) == ["d-2", "afresh"]
        # What it asked before is asked no more.
        assert [name for one in pi.seen for name in one.answered] == [
            one.id for one in pi.questions()
        ]
    async with pi.running() as seat:
        assert seat.native.session_id == session


async def test_a_pi_that_begins_no_session_stays_with_its_own(pi: Pi) -> None:
    async with pi.running() as seat:
        before = seat.native
        (pi.home / "no-new").touch()
        assert await seat.renew() is None
        assert seat.native == before
        assert await pi.gives(seat, "d-1", "~say still here") == Taken("client_id")


async def test_a_driver_that_comes_back_goes_on_with_the_session(pi: Pi) -> None:
    async with pi.running() as seat:
        native = seat.native
        await pi.gives(seat, "d-1", "~say one")
        await until(lambda: Activity.WAITING in pi.activities())
    async with pi.running() as seat:
        assert seat.native.session_id == native.session_id
        assert seat.native.pid != native.pid
        assert pi.texts(seat) == ["d-1", "one"]


async def test_a_version_that_was_not_tried_is_started_with_a_word(pi: Pi, tmp_path: Path) -> None:
    for version, notes in (("9.8.7", 1), ("0.74.2", 0)):
        (tmp_path / "package.json").write_text(json.dumps({"version": version}))
        pi.seen.clear()
        async with pi.running() as seat:
            assert await pi.gives(seat, "d-1", "~say hello") == Taken("client_id")
            found = [note for one in pi.seen for note in one.notes]
            assert len(found) == notes
            assert all("pi 9.8.7" in note for note in found)


async def test_without_our_extension_there_is_no_seat(pi: Pi) -> None:
    (pi.home / "no-extension").touch()
    with pytest.raises(PiError, match="extension"):
        async with pi.running():
            pass


async def test_a_pi_that_does_not_start_says_why(pi: Pi) -> None:
    (pi.home / "broken").touch()
    with pytest.raises(PiError, match="it is broken"):
        async with pi.running():
            pass


async def test_a_program_that_is_not_there_says_so(pi: Pi) -> None:
    pi.place = replace(pi.place, environment={**pi.place.environment, "PATH": "/nowhere"})
    with pytest.raises(PiError, match="pi"):
        async with pi.running():
            pass


async def test_nothing_is_joined_from_inside(pi: Pi) -> None:
    with pytest.raises(PiError, match="clankie seat open"):
        ADAPTER.join(pi.means)
    assert ADAPTER.driven(headless=False)
    assert ADAPTER.launch(pi.place).argv[:3] == ("pi", "--mode", "rpc")


async def test_a_line_that_nobody_can_read_ends_the_seat_in_words_and_is_no_end_of_pi(
    pi: Pi,
) -> None:
    async with ADAPTER.drive(pi.means) as seat:
        assert isinstance(seat, PiSeat)
        handed = await pi.gives(seat, "d-1", "~deep ~hold")
        assert isinstance(handed, Unknown | Taken)  # the row may stand already
        with pytest.raises(DeafError, match="cannot be read any more"):
            await all_of(seat)
