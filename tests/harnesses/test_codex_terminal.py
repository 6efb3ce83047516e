"""The real Codex with a person's terminal joined to the seat's server, in a tmux of our own."""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from clankie.core.seat import EntryKind
from clankie.host.panes import OpenPane, Pane, PaneError
from clankie.panes.tmux import TmuxPanes
from clankie.seats.codex import proof
from clankie.seats.codex.adapter import CodexSeat
from clankie.seats.folder import Folder
from clankie.seats.process import alive
from fakes.until import until
from harnesses.codex_seat import CLOCK, Codex, codex
from harnesses.install import Harnesses
from harnesses.model import Model

ESCALATED = '{"cmd":"touch made","sandbox_permissions":"require_escalated","justification":"try"}'


@pytest.fixture
def one(tmp_path: Path, harnesses: Harnesses, model: Model) -> Iterator[Codex]:
    made = codex(tmp_path, harnesses, model)
    made.place = replace(made.place, headless=False)
    yield made
    made.end()


@pytest.fixture
def asking(tmp_path: Path, harnesses: Harnesses, model: Model) -> Iterator[Codex]:
    made = codex(tmp_path, harnesses, model, approval="on-request", sandbox="read-only")
    made.place = replace(made.place, headless=False)
    yield made
    made.end()


@pytest.fixture
def panes(tmp_path: Path) -> Iterator[TmuxPanes]:
    made = TmuxPanes(socket=str(tmp_path / "tmux"), config="/dev/null")
    yield made
    # It has ended by itself where its last pane was closed.
    with contextlib.suppress(PaneError):
        made.run("kill-server")


class Terminal:
    """A person's terminal."""

    def __init__(self, panes: TmuxPanes, pane: Pane) -> None:
        self.panes, self.pane = panes, pane

    async def shows(self, words: str) -> None:
        """Wait until the screen shows these words."""
        for _ in range(600):
            if words in await self.panes.capture(self.pane.id):
                return
            await CLOCK.sleep(0.05)
        raise TimeoutError(await self.panes.capture(self.pane.id))

    async def types(self, words: str) -> None:
        """Type a line and press Enter, once it stands there: right behind it Enter is a newline."""
        for part in [words[n : n + 200] for n in range(0, len(words), 200)]:
            self.panes.run("send-keys", "-t", self.pane.id, "-l", part)
        await self.shows(words[-30:])
        await CLOCK.sleep(0.4)
        await self.panes.enter(self.pane.id)


async def opened(one: Codex, seat: CodexSeat, panes: TmuxPanes) -> Terminal:
    """What a person is given to watch and type, up and running."""
    screen = seat.screen()
    assert screen is not None
    names = {**one.place.environment, **screen.env}
    argv = ("env", "-i", *(f"{name}={value}" for name, value in names.items()), *screen.argv)
    ask = OpenPane(argv=argv, directory=one.place.directory, session="seat", title="codex")
    made = Terminal(panes, await panes.open(ask))
    await made.shows("Ask Codex")
    # It looks at the server with a connection of its own before it joins for good.
    record = proof.kept(Folder(str(one.place.folder)))
    assert record is not None
    await until(lambda: proof.view(record, made.pane.pid))
    return made


@asynccontextmanager
async def terminal(one: Codex, seat: CodexSeat, panes: TmuxPanes) -> AsyncGenerator[Terminal]:
    made = await opened(one, seat, panes)
    try:
        yield made
    finally:
        await panes.kill(made.pane.id)


def test_a_terminal_and_we_work_in_one_thread(one: Codex, panes: TmuxPanes) -> None:
    async def story() -> None:
        async with one.running() as seat, terminal(one, seat, panes) as person:
            await person.types("~say typed by a person")
            await person.shows("• typed by a person")
            await until(lambda: one.said(seat.transcript) == ["typed by a person"])
            assert await one.gives(seat, "d-1", "~say from the owner") == "Taken client_id"
            await person.shows("• from the owner")
            await person.types("~hold a")
            await asyncio.to_thread(one.model.wait, "~hold a")
            assert await one.gives(seat, "d-2", "~say joined") == "Taken socket"
            assert not await seat.interrupt("d-1")
            one.model.release("a")
            await person.shows("• joined")
            await until(lambda: "joined" in one.said(seat.transcript))
            # What the person typed is nobody's delivery.
            users = [r for r in one.rows(seat.transcript) if r.kind is EntryKind.USER]
            assert [r.evidence is not None for r in users] == [False, True, False, True]

    asyncio.run(story())


def test_a_question_that_is_answered_in_the_terminal_no_longer_stands(
    asking: Codex, panes: TmuxPanes, tmp_path: Path
) -> None:
    async def story() -> None:
        async with asking.running() as seat, terminal(asking, seat, panes) as person:
            await asking.gives(seat, "d-1", f"~tool exec_command {ESCALATED}")
            question = await asking.asks()
            await person.shows("Yes, proceed")
            # It shows its dialog before it takes keys, so the key is pressed until it does.
            await until(
                lambda: (
                    panes.run("send-keys", "-t", person.pane.id, "y"),
                    any(seen.answered for seen in asking.seen),
                )[1]
            )
            assert [seen.answered for seen in asking.seen if seen.answered] == [(question.id,)]
            assert not await seat.answer(question.id, approve=True)
            await until((tmp_path / "work" / "made").exists)

    asyncio.run(story())


def test_a_terminal_is_proven_by_the_two_ends_of_its_connection(
    one: Codex, panes: TmuxPanes
) -> None:
    # proves: SEAT-13
    async def story() -> None:
        async with one.running() as seat:
            record = proof.kept(Folder(str(one.place.folder)))
            assert record is not None
            async with terminal(one, seat, panes) as person:
                view = proof.view(record, person.pane.pid)
                assert view is not None
                assert alive(view.pid, view.began)
                assert proof.joined(record, os.getpid()) == 1
                # Another terminal of the same machine shows it not.
                ask = OpenPane(argv=("cat",), directory="/", session="other", title="other")
                elsewhere = await panes.open(ask)
                assert proof.view(record, elsewhere.pid) is None
                # Nor does this one show another server, or one of another lifetime.
                assert proof.view(replace(record, began="linux:x:1"), person.pane.pid) is None
                assert proof.view(replace(record, socket="/tmp/x"), person.pane.pid) is None

    asyncio.run(story())


def test_a_new_session_in_the_terminal_becomes_the_seats(one: Codex, panes: TmuxPanes) -> None:
    async def story() -> None:
        async with one.running() as seat, terminal(one, seat, panes) as person:
            first = seat.native.session_id
            await person.types("~say one")
            await person.shows("• one")
            await person.types("/new")
            await until(lambda: one.sessions() == ["clear"])
            second = seat.native.session_id
            assert second != first
            assert await seat.greet("the log so far")
            assert await one.gives(seat, "d-1", "~say two") == "Taken client_id"
            await person.shows("• two")
            assert one.model.seen("the log so far")
            await person.types("/fork")
            await until(lambda: one.sessions() == ["clear", "fork"])
            assert seat.native.session_id not in {first, second}
            record = json.loads((one.place.folder / "codex.json").read_text())
            assert record["thread"] == seat.native.session_id

    asyncio.run(story())


def test_of_two_programs_at_one_server_nobody_is_followed(one: Codex, panes: TmuxPanes) -> None:
    # proves: SEAT-13
    async def story() -> None:
        async with one.running() as seat, terminal(one, seat, panes) as person:
            other = one.another_program()
            first = seat.native.session_id
            await person.types("/new")
            await until(lambda: any(seen.notes for seen in one.seen))
            assert seat.native.session_id == first
            assert one.sessions() == []
            other.kill()
            other.wait()

    asyncio.run(story())


def test_a_terminal_that_was_killed_joins_again_without_a_hook(
    one: Codex, panes: TmuxPanes
) -> None:
    # proves: SEAT-13
    async def story() -> None:
        async with one.running() as seat:
            native = seat.native
            async with terminal(one, seat, panes) as person:
                await one.gives(seat, "d-1", "~say before")
                await person.shows("• before")
            async with terminal(one, seat, panes) as person:
                await person.shows("before")
                record = proof.kept(Folder(str(one.place.folder)))
                assert record is not None
                assert proof.view(record, person.pane.pid) is not None
                assert seat.native == native
                assert await one.gives(seat, "d-2", "~say after") == "Taken client_id"
                await person.shows("• after")

    asyncio.run(story())


def test_a_terminal_keeps_its_server_when_the_driver_goes_and_comes_back(
    one: Codex, panes: TmuxPanes
) -> None:
    # proves: SEAT-13
    async def story() -> None:
        async with one.running() as seat:
            native = seat.native
            person = await opened(one, seat, panes)
        assert alive(native.pid, native.process_started_at)
        await person.types("~say alone")
        await person.shows("• alone")
        async with one.running() as seat:
            assert seat.native == native
            assert await one.gives(seat, "d-1", "~say together") == "Taken client_id"
            await person.shows("• together")
            await panes.kill(person.pane.id)
            record = proof.kept(Folder(str(one.place.folder)))
            assert record is not None
            await until(lambda: not proof.joined(record, os.getpid()))
        # Its launcher buries it in a moment.
        await until(lambda: not alive(native.pid, native.process_started_at))

    asyncio.run(story())
