"""Two ways to start a service: as anybody would, and quickly.

A cold start imports everything first, which is most of its time. The tests that kill a service
hundreds of times fork it from a process that has imported everything already and done nothing else.
"""

import multiprocessing
import os
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol

from process.wire import TIMEOUT

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["clankie.wiring.service", "clankie.lanes.remote"])


class Process(Protocol):
    """What both have. `commands` is its standard input, `output` and `answers` are read here."""

    commands: int
    output: int
    answers: int

    @property
    def pid(self) -> int: ...

    def signal(self, number: int) -> None: ...

    def wait(self) -> int:
        """The exit status; negative for a signal."""
        ...

    def close(self) -> None: ...


class Cold:
    """`python -m process.entry ARGUMENTS`."""

    def __init__(self, arguments: list[str], environ: dict[str, str], errors: Path) -> None:
        self.answers, told = os.pipe()
        self.output, written = os.pipe()
        read, self.commands = os.pipe()
        with errors.open("ab") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "process.entry", *arguments],
                env={**environ, "CLANKIE_TEST_ANSWERS": str(told)},
                stdin=read,
                stdout=written,
                stderr=file,
                pass_fds=[told],
            )
        for ours in (told, written, read):
            os.close(ours)

    @property
    def pid(self) -> int:
        return self._process.pid

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def wait(self) -> int:
        return self._process.wait(TIMEOUT)

    def close(self) -> None:
        for descriptor in (self.commands, self.output, self.answers):
            os.close(descriptor)


class Forked:
    """`process.entry` with everything imported already."""

    def __init__(self, arguments: list[str], environ: dict[str, str], errors: Path) -> None:
        read, self._commands = _CONTEXT.Pipe(duplex=False)
        self._output, written = _CONTEXT.Pipe(duplex=False)
        self._answers, told = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(
            target=begin, args=(arguments, environ, errors, read, written, told), daemon=True
        )
        self._process.start()
        for ours in (read, written, told):
            ours.close()
        self.commands = self._commands.fileno()
        self.output = self._output.fileno()
        self.answers = self._answers.fileno()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def signal(self, number: int) -> None:
        if self._process.exitcode is None:
            os.kill(self.pid, number)

    def wait(self) -> int:
        self._process.join(TIMEOUT)
        assert self._process.exitcode is not None, "it does not end"
        return self._process.exitcode

    def close(self) -> None:
        for connection in (self._commands, self._output, self._answers):
            connection.close()
        self._process.close()


def begin(
    arguments: list[str],
    environ: dict[str, str],
    errors: Path,
    read: Connection,
    written: Connection,
    told: Connection,
) -> None:
    """In the new process: become what a shell would have started."""
    log = os.open(errors, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for ours, standard in ((read.fileno(), 0), (written.fileno(), 1), (log, 2)):
        os.dup2(ours, standard)
    os.environ.clear()
    os.environ.update(environ)
    os.environ["CLANKIE_TEST_ANSWERS"] = str(os.dup(told.fileno()))
    # What is left open would keep the other end from seeing that this process has ended; it ends
    # with it, though, so only the commands matter: their end is the end of this process.
    from process.entry import main

    sys.exit(main(arguments))
