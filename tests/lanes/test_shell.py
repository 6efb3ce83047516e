"""The command tool: bounded in time and output, starved of secrets, gone with its whole group."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from clankie.core.settings import DEFAULTS, Settings, Tools
from clankie.host.framing import body_of
from clankie.lanes.calls import answered
from clankie.lanes.messages import ToolCall
from clankie.lanes.shell import RUN_COMMAND
from clankie.lanes.tools import Bench
from fakes.clock import FakeClock, FakeIds
from fakes.patience import until
from fakes.turn_host import FakeTurnHost

pytestmark = pytest.mark.anyio


class Shell:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.host = FakeTurnHost()
        self.host.directory = str(root)
        self.settings = replace(DEFAULTS, tools=Tools(shell=True, shell_timeout=30.0))

    async def run(self, command: str, settings: Settings | None = None) -> tuple[str, str]:
        """How it ended, and what it printed."""
        bench = Bench(
            host=self.host,
            clock=FakeClock(),
            ids=FakeIds(),
            settings=settings or self.settings,
            call_id="c-1",
        )
        call = ToolCall("c-1", "run_command", json.dumps({"command": command}))
        ended, _, block = (await answered(call, RUN_COMMAND, bench, 60.0)).partition("\n")
        return ended, body_of(block) if block else ""

    async def alive(self) -> psutil.Process:
        """The process that wrote its number to `pid`."""
        path = self.root / "pid"
        await until(lambda: path.exists() and path.read_text(encoding="utf-8").endswith("\n"))
        return psutil.Process(int(path.read_text(encoding="utf-8")))


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def over(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def left_over(path: Path) -> bool:
    """Whether the process whose number stands there still runs."""
    try:
        return not over(psutil.Process(int(path.read_text(encoding="utf-8"))))
    except psutil.NoSuchProcess:
        return False


# proves: SEC-7, SERV-7
async def test_a_command_runs_in_the_workspace_and_tells_its_exit_code(shell: Shell) -> None:
    ended, said = await shell.run("pwd; echo problem >&2; exit 3")
    assert (ended, said) == ("Exit code 3.", f"{shell.root}\nproblem\n")
    assert [call.effect for call in shell.host.calls] == [True]


async def test_it_has_no_input(shell: Shell) -> None:
    assert await shell.run("cat; echo over") == ("Exit code 0.", "over\n")


async def test_no_secret_of_ours_is_in_its_environment(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "CLANKIE_HOME", "CLANKIE_TOKEN", "AWS_SECRET", "SSH_AUTH_SOCK"):
        monkeypatch.setenv(name, "leaked")
    _, said = await shell.run("env")
    assert "leaked" not in said
    assert "PATH=" in said


async def test_a_command_that_takes_too_long_ends_with_its_whole_group(shell: Shell) -> None:
    quick = replace(shell.settings, tools=replace(shell.settings.tools, shell_timeout=1.0))
    ended, said = await shell.run("sleep 600 & echo $! >pid; echo begun; wait", quick)
    assert ended == "Stopped after 1 seconds; what it did until then stays done."
    assert said == "begun\n"
    await until(lambda: not left_over(shell.root / "pid"))


async def test_what_it_leaves_behind_ends_with_it(shell: Shell) -> None:
    ended, _ = await shell.run("sleep 600 & echo $! >pid; echo begun")
    assert ended == "Exit code 0."
    await until(lambda: not left_over(shell.root / "pid"))


# proves: SERV-7
async def test_cancelling_a_turn_ends_the_command_and_its_group(shell: Shell) -> None:
    async with asyncio.TaskGroup() as tasks:
        turn = tasks.create_task(shell.run("sleep 600 & echo $! >pid; wait"))
        child = await shell.alive()
        turn.cancel()
    assert turn.cancelled()
    await until(lambda: over(child))


async def test_of_much_output_the_ends_are_kept(shell: Shell) -> None:
    small = replace(shell.settings, tools=replace(shell.settings.tools, shell_output=1_024))
    ended, said = await shell.run("printf first; yes | head -c 100000; printf last", small)
    assert ended == "Exit code 0."
    assert said.startswith("firsty")
    assert said.endswith("last")
    assert "\n[98985 bytes left out]\n" in said


async def test_one_that_prints_without_end_is_stopped(shell: Shell) -> None:
    ended, said = await shell.run("yes")
    assert ended.startswith("Stopped: it printed more than")
    assert len(said) < 70_000


async def test_one_that_closes_its_output_is_waited_for(shell: Shell) -> None:
    ended, _ = await shell.run("exec >&- 2>&-; sleep 0.2; exit 4")
    assert ended == "Exit code 4."


async def test_a_signal_is_said(shell: Shell) -> None:
    assert (await shell.run("kill -TERM $$"))[0] == "Ended by signal 15."


async def test_it_is_not_there_unless_switched_on_and_needs_a_workspace(shell: Shell) -> None:
    off, _ = await shell.run("touch ran", DEFAULTS)
    assert "There is no shell here" in off
    shell.host.directory = None
    assert "There is no shell here" in (await shell.run("touch ran"))[0]
    assert not (shell.root / "ran").exists()
