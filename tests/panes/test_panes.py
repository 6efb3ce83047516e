"""What every host of panes does: tmux, and the fake that other tests use."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from clankie.host.panes import NotTypableError, OpenPane, PaneGoneError, PaneHost
from clankie.panes.tmux import TmuxPanes
from fakes.panes import FakePanes

pytestmark = pytest.mark.anyio
TRIES = 2_000

# Says that it knows of brackets, and copies what it is given to a file, byte by byte.
ECHO = """
printf '\\033[?2004h'
stty raw -echo
printf ready
exec dd bs=1 of=OUT 2>/dev/null
"""


@pytest.fixture
async def tmux(tmux_program: str) -> AsyncIterator[TmuxPanes]:
    # A socket's path is at most 107 bytes long, so no directory of pytest's.
    with tempfile.TemporaryDirectory(prefix="clankie-") as folder:
        panes = TmuxPanes(socket=f"{folder}/tmux", config="/dev/null")
        assert tmux_program
        yield panes
        for one in await panes.panes():
            await panes.kill(one.id)


@pytest.fixture(params=["fake", "tmux"])
def host(request: pytest.FixtureRequest) -> PaneHost:
    if request.param == "fake":
        return FakePanes()
    found: PaneHost = request.getfixturevalue("tmux")
    return found


def cat(directory: Path, session: str = "seats") -> OpenPane:
    program = shutil.which("cat")
    assert program is not None
    return OpenPane(argv=(program,), directory=str(directory), session=session, title="a seat: 1.2")


async def shows(host: PaneHost, pane: str, words: str) -> None:
    """Wait until the screen has these words: what happens in another process sends no event."""
    for _ in range(TRIES):
        if words in await host.capture(pane):
            return
        await asyncio.sleep(0)
    raise AssertionError(f"{words!r} never came: {await host.capture(pane)!r}")


async def test_a_pane_runs_its_program_in_its_directory(host: PaneHost, tmp_path: Path) -> None:
    pane = await host.open(cat(tmp_path))
    assert pane.session == "seats"
    assert pane.pid > 0
    assert pane.tty.startswith("/dev/")
    assert [one.id for one in await host.panes()] == [pane.id]
    found = await host.pane(pane.id)
    for _ in range(TRIES):
        # Just forked, it is still where tmux is, and not yet the program.
        if (found.command, found.directory) == ("cat", str(tmp_path)):
            break
        found = await host.pane(pane.id)
    assert (found.command, found.pid) == ("cat", pane.pid)
    assert found.directory == str(tmp_path)


async def test_a_second_pane_of_a_session_joins_it(host: PaneHost, tmp_path: Path) -> None:
    first = await host.open(cat(tmp_path))
    second = await host.open(cat(tmp_path))
    assert first.id != second.id
    assert {one.session for one in await host.panes()} == {"seats"}


async def test_words_and_enter_reach_the_program(host: PaneHost, tmp_path: Path) -> None:
    pane = await host.open(cat(tmp_path))
    await host.type(pane.id, "two words")
    await host.enter(pane.id)
    await shows(host, pane.id, "two words\n")


async def test_without_a_pane_there_is_nothing_to_type_into(host: PaneHost, tmp_path: Path) -> None:
    pane = await host.open(cat(tmp_path))
    await host.kill(pane.id)
    await host.kill(pane.id)
    assert await host.panes() == []
    for verb in (host.pane, host.enter, host.capture):
        with pytest.raises(PaneGoneError):
            await verb(pane.id)
    with pytest.raises(PaneGoneError):
        await host.type(pane.id, "words")


# proves: SEC-6
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("\x1b[201~rm", "control_character"),
        ("a\x03", "control_character"),
        ("a\rb", "control_character"),
        ("tab\there", "control_character"),
        ("c1 \x9b", "control_character"),
        ("!ls", "command_character"),
        ("/exit", "command_character"),
        ("# note", "command_character"),
        ("@file", "command_character"),
        ("  /exit", "command_character"),
        ("\n!ls", "command_character"),
        ("   \n", "blank"),
        ("a" * 65_537, "too_long"),
    ],
)
async def test_what_is_no_plain_text_is_refused_and_nothing_is_typed(
    host: PaneHost, tmp_path: Path, text: str, reason: str
) -> None:
    pane = await host.open(cat(tmp_path))
    with pytest.raises(NotTypableError) as refused:
        await host.type(pane.id, text)
    assert refused.value.reason == reason
    assert (await host.capture(pane.id)).strip() == ""


# proves: SEC-6
async def test_words_come_as_one_bracketed_paste_and_no_line_end_is_an_enter(
    tmux: TmuxPanes, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    script = ECHO.replace("OUT", str(out))
    pane = await tmux.open(
        OpenPane(argv=("sh", "-c", script), directory=str(tmp_path), session="s", title="t")
    )
    await shows(tmux, pane.id, "ready")
    await tmux.type(pane.id, "one\r\ntwo; $HOME 'ü' 🙂")
    await tmux.enter(pane.id)
    wanted = "\x1b[200~one\ntwo; $HOME 'ü' 🙂\x1b[201~\r".encode()
    for _ in range(TRIES):
        if out.exists() and out.stat().st_size >= len(wanted):
            break
        await tmux.pane(pane.id)
    assert out.read_bytes() == wanted


async def test_pasted_words_stay_in_no_file_and_no_buffer(
    tmux: TmuxPanes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pane = await tmux.open(cat(tmp_path))
    await tmux.type(pane.id, "a secret")
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - a list, at once
    assert tmux.run("list-buffers") == []


async def test_without_a_server_there_are_no_panes(tmux: TmuxPanes) -> None:
    assert await tmux.panes() == []


async def test_nothing_is_typed_while_somebody_scrolls_in_the_pane(
    tmux: TmuxPanes, tmp_path: Path
) -> None:
    pane = await tmux.open(cat(tmp_path))
    tmux.run("copy-mode", "-t", pane.id)
    with pytest.raises(NotTypableError, match="in_mode"):
        await tmux.type(pane.id, "words")
    assert pane.touched_at is not None
