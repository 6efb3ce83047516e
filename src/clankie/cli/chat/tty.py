"""The terminal under the chat, and what is said when it goes away.

It does not always go with a signal: a process without a controlling terminal gets none, and one
that its shell has left behind may not read any more. The terminal library takes an error of the
terminal for "nothing was typed" and asks again at once, for ever.
"""

from __future__ import annotations

import codecs
import io
import os
import select
import sys
from typing import TYPE_CHECKING, Final, TextIO

from prompt_toolkit.input.posix_utils import PosixStdinReader
from prompt_toolkit.input.vt100 import Vt100Input

from clankie.cli.failures import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import ReadableBuffer

_CHUNK: Final = 1024


class TerminalGoneError(CommandError):
    """The terminal was closed while somebody sat at it."""

    code = "terminal_gone"

    def __init__(self) -> None:
        super().__init__("The terminal is gone, so the chat has ended.")


class Keyboard(Vt100Input):
    """Standard input. `closed` once it ended, or cannot be read any more."""

    def __init__(self) -> None:
        super().__init__(sys.stdin)
        self.stdin_reader = _Reader(sys.stdin.fileno(), encoding=sys.stdin.encoding)


class _Reader(PosixStdinReader):
    def __init__(self, descriptor: int, encoding: str) -> None:
        super().__init__(descriptor, encoding=encoding)
        self._decoder = codecs.getincrementaldecoder(encoding)(self.errors)

    def read(self, count: int = _CHUNK) -> str:
        """What was typed; empty when nothing was, or `closed` is true now."""
        if self.closed:
            return ""
        try:
            if not select.select([self.stdin_fd], [], [], 0)[0]:
                return ""
            data = os.read(self.stdin_fd, count)
        except BlockingIOError:
            return ""
        except OSError:
            data = b""
        self.closed = not data
        return self._decoder.decode(data)


def paper(gone: Callable[[], None]) -> TextIO:
    """Standard output. Where it cannot be written any more, `gone` is called and nothing raised."""
    sheet = io.BufferedWriter(_Sheet(sys.stdout.fileno(), gone))
    return io.TextIOWrapper(
        sheet, encoding=sys.stdout.encoding, errors="replace", line_buffering=True
    )


class _Sheet(io.RawIOBase):
    def __init__(self, descriptor: int, gone: Callable[[], None]) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._gone = gone

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, data: ReadableBuffer, /) -> int | None:
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:
            return None
        except OSError:
            self._gone()
            return memoryview(data).nbytes
