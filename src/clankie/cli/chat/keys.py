"""What the keys do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prompt_toolkit.key_binding import KeyBindings

from clankie.cli.chat.orders import matching

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.key_binding import KeyPressEvent

    from clankie.cli.chat.desk import Desk
    from clankie.cli.chat.screen import Screen

LEAVE: Final = "Press Ctrl-C again to leave"


class Keys:
    """`entered` takes what was typed; `stop` asks for the running answer to end."""

    def __init__(
        self, screen: Screen, desk: Desk, entered: Callable[[str], None], stop: Callable[[], None]
    ) -> None:
        self._screen = screen
        self._desk = desk
        self._entered = entered
        self._stop = stop

    @property
    def _buffer(self) -> Buffer:
        return self._screen.buffer

    def bindings(self) -> KeyBindings:
        """For the application."""
        keys = KeyBindings()
        keys.add("enter")(self._enter)
        keys.add("escape", "enter")(self._newline)
        keys.add("c-j")(self._newline)
        keys.add("c-c")(self._interrupt)
        keys.add("c-d")(self._end)
        keys.add("tab")(self._complete)
        self._buffer.on_text_changed += self._typed
        return keys

    def _enter(self, event: KeyPressEvent) -> None:
        if self._buffer.document.text_before_cursor.endswith("\\"):
            self._buffer.delete_before_cursor()
            self._newline(event)
            return
        text = self._buffer.text.replace("\0", "")
        if text.strip():
            self._buffer.append_to_history()
            self._buffer.reset()
            self._entered(text)

    def _newline(self, event: KeyPressEvent) -> None:
        del event
        self._buffer.newline(copy_margin=False)

    def _interrupt(self, event: KeyPressEvent) -> None:
        asked, self._screen.hint = self._screen.hint == LEAVE, ""
        taken = self._desk.outbox.withdraw()
        if taken is not None:
            self._screen.give_back(taken.send.text)
        elif self._desk.running:
            self._stop()
        elif self._buffer.text:
            self._buffer.reset()
        elif asked:
            event.app.exit()
        else:
            self._screen.hint = LEAVE

    def _end(self, event: KeyPressEvent) -> None:
        if not self._buffer.text:
            event.app.exit()

    def _complete(self, event: KeyPressEvent) -> None:
        del event
        offers = matching(self._buffer.text)
        if offers:
            self._buffer.text = f"/{offers[0].name}" + (" " if offers[0].takes else "")
            self._buffer.cursor_position = len(self._buffer.text)

    def _typed(self, buffer: Buffer) -> None:
        del buffer
        self._screen.hint = ""
