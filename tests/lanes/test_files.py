"""Tools over files: what they show, and that nothing outside of the workspace is ever touched."""

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clankie.core.errors import InvalidFieldError
from clankie.core.settings import DEFAULTS
from clankie.host.framing import body_of
from clankie.lanes import walk
from clankie.lanes.calls import answered
from clankie.lanes.files import LIST_FILES, READ, READ_FILE, SEARCH_FILES, WRITE_FILE
from clankie.lanes.messages import ToolCall
from clankie.lanes.search import HITS
from clankie.lanes.tools import Bench, Tool
from clankie.lanes.workspace import CheckedWorkspaces
from fakes.clock import FakeClock, FakeIds
from fakes.turn_host import FakeTurnHost

pytestmark = pytest.mark.anyio


class Desk:
    """A workspace, and a file beside it that nobody may see."""

    def __init__(self, home: Path) -> None:
        self.root = home / "work"
        self.root.mkdir()
        self.secret = home / "secret.txt"
        self.secret.write_text("the secret", encoding="utf-8")
        self.host = FakeTurnHost()
        self.host.directory = str(self.root)

    async def use(self, tool: Tool[Any], **arguments: object) -> str:
        """What a model is told."""
        bench = Bench(
            host=self.host,
            clock=FakeClock(),
            ids=FakeIds(),
            settings=DEFAULTS,
            call_id="c-1",
        )
        return await answered(ToolCall("c-1", tool.name, json.dumps(arguments)), tool, bench, 60.0)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def told(answer: str) -> str:
    lines = answer.splitlines()
    end = next(n for n, line in enumerate(lines) if line.startswith("<<end "))
    return body_of("\n".join(lines[: end + 1]))


async def test_a_directory_is_listed_by_name_with_what_each_is(desk: Desk) -> None:
    (desk.root / "b.txt").write_text("four", encoding="utf-8")
    (desk.root / "a").mkdir()
    (desk.root / "out").symlink_to(desk.secret)
    os.mkfifo(desk.root / "pipe")
    assert told(await desk.use(LIST_FILES)).splitlines() == [
        "a/",
        "b.txt (4 bytes)",
        "out (link, not followed)",
        "pipe (no regular file)",
    ]


# proves: SEC-9
async def test_a_list_ends_at_a_thousand_entries_and_goes_on_after_a_name(desk: Desk) -> None:
    for number in range(1_001):
        (desk.root / f"{number:04}").touch()
    first = await desk.use(LIST_FILES)
    assert len(told(first).splitlines()) == 1_000
    assert "Use `after`" in first
    rest = await desk.use(LIST_FILES, after="0999")
    assert told(rest) == "1000 (0 bytes)"
    assert "Use `after`" not in rest


# proves: SEC-7, SEC-9
async def test_a_file_is_read_in_bounded_framed_parts(desk: Desk) -> None:
    (desk.root / "big").write_text("a" * READ + "tail", encoding="utf-8")
    first = await desk.use(READ_FILE, path="big")
    assert told(first) == "a" * READ
    assert f"go on with offset {READ}" in first
    assert told(await desk.use(READ_FILE, path="big", offset=READ)) == "tail"
    assert "do not fit" in await desk.use(READ_FILE, path="big", limit=READ + 1)


async def test_an_absolute_path_inside_is_as_good(desk: Desk) -> None:
    (desk.root / "note").write_text("hi", encoding="utf-8")
    assert told(await desk.use(READ_FILE, path=str(desk.root / "note"))) == "hi"


async def test_a_binary_file_is_not_shown(desk: Desk) -> None:
    (desk.root / "app").write_bytes(b"\x7fELF\0\0")
    assert "binary file of 6 bytes" in await desk.use(READ_FILE, path="app")


# proves: SEC-9
@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "a/../../secret.txt",
        "{home}/secret.txt",
        "/proc/self/environ",
        "/etc/passwd",
        "{root}-beside/x",
        "link",
        "inner/secret.txt",
        "round/round/round",
        "x\0y",
        "/dev/zero",
    ],
)
@pytest.mark.parametrize("tool", [READ_FILE, LIST_FILES, WRITE_FILE], ids=lambda one: one.name)
async def test_no_path_leads_out(desk: Desk, tool: Tool[Any], path: str) -> None:
    (desk.root / "link").symlink_to(desk.secret)
    (desk.root / "inner").symlink_to(desk.secret.parent)
    (desk.root / "round").symlink_to("round")
    given = path.format(home=desk.secret.parent, root=desk.root)
    more = {"text": "mine"} if tool is WRITE_FILE else {}
    answer = await desk.use(tool, path=given, **more)
    if tool is WRITE_FILE and path == "link":
        assert not (desk.root / "link").read_text(encoding="utf-8").startswith("mine")
    assert answer.startswith("error: ")
    assert "the secret" not in answer
    assert desk.secret.read_text(encoding="utf-8") == "the secret"


# proves: SEC-9
async def test_only_regular_files_are_opened(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(desk.root / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(desk.root)  # names of sockets are short
        listener.bind("door")
        for name in ("pipe", "door", "."):
            assert "error: " in await desk.use(READ_FILE, path=name)
    found = told(await desk.use(SEARCH_FILES, text="x"))
    assert found == "(nothing found)"


# proves: SEC-9
@pytest.mark.parametrize("name", ["null", "zero", "tty"])
def test_a_device_is_not_opened(name: str) -> None:
    devices = os.open("/dev", os.O_RDONLY | os.O_DIRECTORY)
    try:
        with pytest.raises(OSError, match="not a regular file"):
            walk.open_file(devices, name)
    finally:
        os.close(devices)


# proves: SEC-9
async def test_a_directory_swapped_for_a_link_meanwhile_leads_nowhere(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk.root / "deep").mkdir()
    (desk.root / "deep" / "secret.txt").write_text("harmless", encoding="utf-8")

    def swapping(real: Callable[..., int]) -> Callable[..., int]:
        def opened(path: Any, flags: int, *args: Any, **more: Any) -> int:
            if path == "deep":
                (desk.root / "deep").rename(desk.root / "was")
                (desk.root / "deep").symlink_to(desk.secret.parent)
            return real(path, flags, *args, **more)

        return opened

    monkeypatch.setattr(os, "open", swapping(os.open))
    answer = await desk.use(READ_FILE, path="deep/secret.txt")
    assert "links are not followed" in answer


# proves: SEC-9
async def test_a_file_swapped_for_a_link_after_it_was_looked_at_is_refused(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk.root / "note").write_text("harmless", encoding="utf-8")
    real = os.open

    def opened(path: Any, flags: int, *args: Any, **more: Any) -> int:
        if path == "note":
            (desk.root / "note").unlink()
            (desk.root / "note").symlink_to(desk.secret)
        return real(path, flags, *args, **more)

    monkeypatch.setattr(os, "open", opened)
    assert "links are not followed" in await desk.use(READ_FILE, path="note")


# proves: SEC-9
async def test_a_workspace_that_became_a_link_is_not_entered(desk: Desk) -> None:
    desk.root.rename(desk.root.with_name("was"))
    desk.root.symlink_to(desk.secret.parent)
    assert "links are not followed" in await desk.use(LIST_FILES)


async def test_a_search_finds_words_and_names(desk: Desk) -> None:
    (desk.root / "src").mkdir()
    (desk.root / "src" / "a.py").write_text("one\nTwo (.*)+\n", encoding="utf-8")
    (desk.root / "b.txt").write_text("two (.*)+", encoding="utf-8")
    (desk.root / ".git").mkdir()
    (desk.root / ".git" / "c.py").write_text("Two (.*)+", encoding="utf-8")
    assert told(await desk.use(SEARCH_FILES, text="Two (.*)+")) == "src/a.py:2: Two (.*)+"
    both = told(await desk.use(SEARCH_FILES, text="TWO", ignore_case=True)).splitlines()
    assert both == ["b.txt:1: two (.*)+", "src/a.py:2: Two (.*)+"]
    assert told(await desk.use(SEARCH_FILES, names="*.py")) == "src/a.py"
    assert "Nothing was looked for" in await desk.use(SEARCH_FILES)


# proves: SEC-9
async def test_a_search_is_bounded_and_follows_no_link(desk: Desk) -> None:
    (desk.root / "out").symlink_to(desk.secret.parent)
    (desk.root / "link.txt").symlink_to(desk.secret)
    assert told(await desk.use(SEARCH_FILES, text="secret")) == "(nothing found)"
    (desk.root / "many").write_text("hit\n" * (HITS + 1), encoding="utf-8")
    answer = await desk.use(SEARCH_FILES, text="hit")
    assert len(told(answer).splitlines()) == HITS
    assert "ended early" in answer


async def test_a_file_is_written_whole_and_keeps_its_rights(desk: Desk) -> None:
    assert await desk.use(WRITE_FILE, path="new/deep/file", text="hé") == "Wrote 3 bytes."
    path = desk.root / "new" / "deep" / "file"
    assert path.read_text(encoding="utf-8") == "hé"
    path.chmod(0o700)
    await desk.use(WRITE_FILE, path="new/deep/file", text="again")
    assert path.read_text(encoding="utf-8") == "again"
    assert path.stat().st_mode & 0o777 == 0o700
    assert [one.name for one in path.parent.iterdir()] == ["file"]
    assert "no file" in await desk.use(WRITE_FILE, path="new", text="x")
    assert "Name a file" in await desk.use(WRITE_FILE, path=".", text="x")
    assert [call.effect for call in desk.host.calls] == [True] * 4


async def test_where_there_is_no_workspace_there_are_no_files(desk: Desk) -> None:
    desk.host.directory = None
    for tool, more in ((LIST_FILES, {}), (READ_FILE, {"path": "a"})):
        assert "has no workspace" in await desk.use(tool, **more)


# proves: SEC-9
async def test_what_may_become_a_workspace(tmp_path: Path) -> None:
    home, state, good = tmp_path / "home", tmp_path / "home" / "state", tmp_path / "home" / "code"
    for made in (home, state, state / "inner", good):
        made.mkdir()
    (home / "link").symlink_to(good)
    (home / "file").touch()
    (home / "via").symlink_to(home)
    check = CheckedWorkspaces([state, state / "clankie.db"], home).check
    assert await check(str(good)) == str(good)
    assert await check(f"{good}/../code/") == str(good)
    assert await check(str(home / "via" / "code")) == str(good)
    refused = ["/", str(home), str(tmp_path), str(state), str(state / "inner"), str(home / "link")]
    refused += [str(home / "file"), str(home / "none"), "code", "/a\0b", "/proc/self", "/dev"]
    refused += [str(home / "via" / "state" / "inner"), f"{good}/../state", f"{home}/link/"]
    for path in refused:
        with pytest.raises(InvalidFieldError):
            await check(path)
