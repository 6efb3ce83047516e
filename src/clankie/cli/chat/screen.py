"""The screen of the chat: what was said scrolls above, the line being typed stays below.

It does not take the terminal over: finished lines go into the terminal's own scrollback, where they
can be searched and copied. Only the answer being written, what waits, the input and one line of
status are redrawn.
"""

from __future__ import annotations

import asyncio
import shutil
from io import StringIO
from typing import TYPE_CHECKING, Any, Final

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.layout import HSplit, Layout, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.processors import AfterInput, ConditionalProcessor
from prompt_toolkit.output.defaults import create_output
from rich.text import Text

from clankie.cli.chat.orders import matching
from clankie.cli.chat.paint import rows
from clankie.cli.chat.status import live, status
from clankie.cli.chat.tty import Keyboard, TerminalGoneError, paper
from clankie.cli.look import console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings

    from clankie.cli.chat.desk import Desk
    from clankie.cli.chat.marks import Line

INPUT_ROWS: Final = 10
PLACEHOLDER: Final = "Write a message"
PROMPT: Final = "▸ "
FRAME: Final = 0.12
"""Seconds between two pictures while something runs."""


class Screen:
    """Implements the desk's View on a terminal."""

    def __init__(self, history: History) -> None:
        self._paper = paper(self._lost)
        self.out = console(self._paper)
        self.buffer = Buffer(history=history, multiline=True)
        self.hint = ""
        self.app: Application[None] | None = None
        self._lines: list[Line] = []
        self._news = asyncio.Event()
        self._beat = asyncio.Event()
        self._frame = 0
        self._since: tuple[str | None, float] | None = None

    # ── the desk's view ──────────────────────────────────────────────────────────────────────────

    def show(self, lines: Sequence[Line]) -> None:
        """Put lines above the input, in order."""
        self._lines += lines
        if self.app is None:
            self._print()
        elif lines:
            self._news.set()

    def changed(self) -> None:
        """Draw the live part anew."""
        self._beat.set()
        if self.app is not None:
            self.app.invalidate()

    def give_back(self, text: str) -> None:
        """A refused message returns to the input, or to the history when something stands there."""
        if self.buffer.text:
            self.buffer.history.append_string(text)
        else:
            self.buffer.text = text
            self.buffer.cursor_position = len(text)

    # ── running ──────────────────────────────────────────────────────────────────────────────────

    async def run(self, desk: Desk, keys: KeyBindings) -> None:
        """Until the application is told to exit. What still has to be printed is printed.

        Raises:
            TerminalGoneError: nobody can sit here any more.
        """
        self.app = Application(
            input=Keyboard(),
            output=create_output(self._paper),
            layout=self._layout(desk),
            key_bindings=keys,
            erase_when_done=True,
            enable_page_navigation_bindings=False,
        )
        async with asyncio.TaskGroup() as group:
            printer = group.create_task(self._keep_printing())
            ticker = group.create_task(self._keep_ticking(desk))
            try:
                await self._shown(self.app)
            finally:
                printer.cancel()
                ticker.cancel()
        self.app = None
        self._print()

    async def _shown(self, app: Application[None]) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._failed)
        try:
            # Not the library's own handler: it waits for Enter, which without a terminal fails and
            # is handled again.
            await app.run_async(handle_sigint=False, set_exception_handler=False)
        except EOFError:
            raise TerminalGoneError from None
        finally:
            loop.set_exception_handler(None)

    def _lost(self) -> None:
        """Nothing can be shown any more."""
        self._leave(EOFError())

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """An error that nobody waits for, such as one while drawing, ends the chat with it."""
        error = context.get("exception")
        if not (isinstance(error, Exception) and self._leave(error)):
            loop.default_exception_handler(context)

    def _leave(self, error: Exception) -> bool:
        """End with this error; whether that was still to do."""
        app = self.app
        if app is None or not app.is_running or app.is_done:
            return False
        app.exit(exception=error)
        return True

    def _layout(self, desk: Desk) -> Layout:
        def above() -> ANSI:
            return self._ansi(live(desk, self._clock(desk), self._frame), rows_left())

        def below() -> ANSI:
            return self._below(desk)

        def rows_left() -> int:
            return max(3, shutil.get_terminal_size().lines - INPUT_ROWS - 4)

        field = Window(
            BufferControl(self.buffer, input_processors=[self._placeholder()]),
            height=Dimension(min=1, max=INPUT_ROWS),
            wrap_lines=True,
            dont_extend_height=True,
            get_line_prefix=lambda number, wrap: [
                ("bold fg:ansicyan", PROMPT) if number == 0 and wrap == 0 else ("", "  ")
            ],
        )
        parts = [
            Window(FormattedTextControl(above), dont_extend_height=True),
            Window(height=1, char="─", style="dim"),
            field,
            Window(height=1, char="─", style="dim"),
            Window(FormattedTextControl(below), dont_extend_height=True),
        ]
        return Layout(HSplit(parts), focused_element=field)

    def _placeholder(self) -> ConditionalProcessor:
        empty = Condition(lambda: not self.buffer.text)
        return ConditionalProcessor(AfterInput([("dim", PLACEHOLDER)]), empty)

    def _below(self, desk: Desk) -> ANSI:
        offers = matching(self.buffer.text)
        if not offers:
            return self._ansi([status(desk, self.hint, self._width)])
        made = [
            Text.assemble(
                ("  ", ""), (f"/{one.name} {one.takes}".ljust(24), "accent"), (one.words, "quiet")
            )
            for one in offers
        ]
        for row in made:
            row.truncate(self._width, overflow="ellipsis")
        return self._ansi(made)

    @property
    def _width(self) -> int:
        return self.out.width

    def _clock(self, desk: Desk) -> int:
        """Whole seconds since what runs now began to."""
        now = asyncio.get_running_loop().time()
        if self._since is None or self._since[0] != desk.running:
            self._since = desk.running, now
        return int(now - self._since[1])

    def _ansi(self, lines: Sequence[Line | Text], most: int = 100) -> ANSI:
        made: list[Text] = []
        for one in lines:
            made += [one] if isinstance(one, Text) else rows([one], self._width - 1)
        paper = StringIO()
        writer = console(paper, width=self._width, terminal=True)
        for number, row in enumerate(made[-most:]):
            writer.print(row, end="" if number == len(made[-most:]) - 1 else "\n", soft_wrap=True)
        return ANSI(paper.getvalue())

    def _print(self) -> None:
        lines, self._lines = self._lines, []
        for row in rows(lines, self._width - 1):
            self.out.print(row, soft_wrap=True)

    async def _keep_printing(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            if self._lines and self.app is not None:
                # Not `in_terminal`: it leaves raw mode for a moment, and a Ctrl-C that falls into
                # that moment would end the chat instead of the answer.
                self.app.renderer.erase()
                self._print()
                self.app.invalidate()

    async def _keep_ticking(self, desk: Desk) -> None:
        while True:
            await self._beat.wait()
            self._beat.clear()
            while desk.busy:
                self._frame += 1
                if self.app is not None:
                    self.app.invalidate()
                await asyncio.sleep(FRAME)
