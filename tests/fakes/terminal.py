"""A person at a terminal: starts a program on a pseudo terminal, types, and reads the screen.

What a program writes is not what a person sees: it draws over what stands there. So the screen is
kept as a terminal keeps it, for the few sequences that are used.
"""

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from pathlib import Path

PATIENCE = 40
"""Seconds of silence after which words that did not come are a failure."""
ROWS, COLUMNS = 40, 100
_PARTS = re.compile(
    r"\x1b\[([?>]?)([\d;]*)([A-Za-z])|\x1b\][^\x07]*\x07|\x1b[=>()].?|([\r\n\b\a])|(.)", re.DOTALL
)

_LEAVING = """
import fcntl, os, signal, subprocess, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
for number in signal.SIGTTIN, signal.SIGTTOU:
    signal.signal(number, signal.SIG_IGN)
program = subprocess.Popen(sys.argv[2:], process_group=0)
os.tcsetpgrp(0, program.pid)
if os.read(int(sys.argv[1]), 1):
    os.tcsetpgrp(0, os.getpgrp())
sys.exit(program.wait())
"""
"""A shell that takes its terminal back. Nobody is stopped for that: reading fails with EIO, as it
does for a program whose own shell is gone."""


class Grid:
    """Rows of letters; what scrolls out of the top is kept."""

    def __init__(self) -> None:
        self.gone: list[str] = []
        self._rows = [[" "] * COLUMNS for _ in range(ROWS)]
        self._row = self._column = 0

    @property
    def text(self) -> str:
        """All that was and is seen, every gap a single blank."""
        return " ".join("\n".join([*self.gone, *map("".join, self._rows)]).split())

    def write(self, text: str) -> None:
        """Draw what a program wrote."""
        for found in _PARTS.finditer(text):
            private, numbers, letter, control, sign = found.groups()
            if sign:
                self._put(sign)
            elif control:
                self._control(control)
            elif letter and not private:
                first = numbers.split(";")[0]
                self._sequence(letter, int(first) if first else None)

    def _put(self, sign: str) -> None:
        if self._column == COLUMNS:
            self._control("\n")
            self._column = 0
        self._rows[self._row][self._column] = sign
        self._column += 1

    def _control(self, control: str) -> None:
        if control == "\r":
            self._column = 0
        elif control == "\b":
            self._column = max(0, self._column - 1)
        elif control == "\n":
            if self._row == ROWS - 1:
                self.gone.append("".join(self._rows.pop(0)))
                self._rows.append([" "] * COLUMNS)
            else:
                self._row += 1

    def _sequence(self, letter: str, number: int | None) -> None:
        by = number or 1
        match letter:
            case "A":
                self._row = max(0, self._row - by)
            case "B":
                self._row = min(ROWS - 1, self._row + by)
            case "C":
                self._column = min(COLUMNS - 1, self._column + by)
            case "D":
                self._column = max(0, self._column - by)
            case "K" | "J":
                self._erase(screen=letter == "J")
            case "m" | "h" | "l":
                return
            case _:
                raise AssertionError(f"the screen does not know CSI {number} {letter}")

    def _erase(self, *, screen: bool) -> None:
        self._rows[self._row][self._column :] = [" "] * (COLUMNS - self._column)
        for row in self._rows[self._row + 1 :] if screen else []:
            row[:] = [" "] * COLUMNS


class Terminal:
    """A program at a terminal of its own."""

    def __init__(
        self, home: Path, *arguments: str, errors: Path | None = None, left: bool = False
    ) -> None:
        """`errors`: the file of standard error. `left`: `leave` is going to be called."""
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        environment = {**os.environ, "CLANKIE_HOME": str(home), "CLANKIE_PORT": "0"}
        environment |= {"TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1", "LANG": "C.UTF-8"}
        cue, self._cue = os.pipe()
        command = [sys.executable, "-P", "-m", "clankie", *arguments]
        with (errors or Path(os.devnull)).open("wb") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _LEAVING, str(cue), *command] if left else command,
                stdin=slave,
                stdout=slave,
                stderr=file if errors else slave,
                env=environment,
                start_new_session=True,
                pass_fds=[cue],
            )
        os.close(cue)
        os.close(slave)
        self._grid = Grid()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    @property
    def screen(self) -> str:
        """All that was and is seen, every gap a single blank."""
        return self._grid.text

    def type(self, keys: str) -> None:
        """Press keys; ``\\r`` is Enter."""
        os.write(self._master, keys.encode())

    def until(self, pattern: str) -> str:
        """Wait until the screen, with all that scrolled away, matches; returns it."""
        while not re.search(pattern, self.screen, re.DOTALL):
            if not self._more():
                raise AssertionError(f"no {pattern!r} in {self.screen[-2_000:]}")
        return self.screen

    def _more(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], PATIENCE)
        if not ready:
            return False
        try:
            data = os.read(self._master, 65_536)
        except OSError:
            # Linux says so when the other end was closed.
            return False
        text = self._rest + self._decoder.decode(data)
        # A sequence may be cut in two by a read.
        cut = text.rfind("\x1b")
        whole = cut < 0 or re.match(
            r"\x1b(\[[?>]?[\d;]*[A-Za-z]|\][^\x07]*\x07|[^\[\]])", text[cut:]
        )
        text, self._rest = (text, "") if whole else (text[:cut], text[cut:])
        self._grid.write(text)
        return bool(data)

    def end(self) -> int:
        """Wait until it has ended; its exit code."""
        while self._more():
            pass
        return self._process.wait(PATIENCE)

    def leave(self) -> None:
        """Go on with other things at this terminal: the program may not read from it any more."""
        os.write(self._cue, b".")

    def hang_up(self) -> int:
        """Close the terminal and wait until the program has ended; its exit code.

        It gets no signal: the terminal controls no process.
        """
        os.close(self._master)
        self._master = -1
        return self._process.wait(PATIENCE)

    def close(self) -> None:
        """Take the terminal away, whatever runs in it."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(PATIENCE)
        os.close(self._cue)
        if self._master >= 0:
            os.close(self._master)
