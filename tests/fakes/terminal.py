"""A person at a terminal: starts a program on a pseudo terminal, types, and waits for words."""

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

from clankie.cli.clean import plain

PATIENCE = 40
"""Seconds until words that do not come are a failure. No test takes as long when all is well."""
ROWS, COLUMNS = 40, 100


class Terminal:
    """`screen` is all that was written to it, without escapes, every gap a single blank."""

    def __init__(self, home: Path, *arguments: str) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        environment = {**os.environ, "CLANKIE_HOME": str(home), "CLANKIE_PORT": "0"}
        environment |= {"TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1", "LANG": "C.UTF-8"}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "clankie", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
        )
        os.close(slave)
        self._raw = b""
        self._read = 0

    @property
    def screen(self) -> str:
        return " ".join(plain(self._raw.decode("utf-8", "replace")).split())

    def type(self, keys: str) -> None:
        """Press keys; ``\\r`` is Enter."""
        self._read = len(self.screen)
        os.write(self._master, keys.encode())

    def until(self, pattern: str) -> str:
        """Wait until something new matches; returns what was written since the last keys."""
        while not re.search(pattern, self.screen[self._read :], re.DOTALL):
            if not self._more():
                raise AssertionError(f"no {pattern!r} in {self.screen[-2_000:]}")
        return self.screen[self._read :]

    def _more(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], PATIENCE)
        if not ready:
            return False
        try:
            data = os.read(self._master, 65_536)
        except OSError:
            # Linux says so when the other end was closed.
            return False
        self._raw += data
        return bool(data)

    def end(self) -> int:
        """Wait until it has ended; its exit code."""
        while self._more():
            pass
        return self._process.wait(PATIENCE)

    def close(self) -> None:
        """Take the terminal away, whatever runs in it."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(PATIENCE)
        os.close(self._master)
