"""The port PaneHost in memory: what was typed is what the screen shows."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from clankie.host.panes import NotTypableError, OpenPane, Pane, PaneGoneError, typable


@dataclass
class Screen:
    """One pane."""

    pane: Pane
    asked: OpenPane
    typed: list[str] = field(default_factory=list)
    shown: str = ""
    in_mode: bool = False


class FakePanes:
    """Panes whose programs print back what is typed."""

    def __init__(self) -> None:
        self.screens: dict[str, Screen] = {}
        self._count = 0

    async def open(self, ask: OpenPane) -> Pane:
        self._count += 1
        pane = Pane(
            id=f"%{self._count}",
            session=ask.session,
            pid=10_000 + self._count,
            tty=f"/dev/pts/{self._count}",
            directory=ask.directory,
            command=ask.argv[0].rpartition("/")[2],
        )
        self.screens[pane.id] = Screen(pane, ask)
        return pane

    async def panes(self) -> Sequence[Pane]:
        return [one.pane for one in self.screens.values()]

    async def pane(self, pane: str) -> Pane:
        return self._screen(pane).pane

    async def type(self, pane: str, text: str) -> None:
        words = typable(text)
        screen = self._screen(pane)
        if screen.in_mode:
            raise NotTypableError("in_mode")
        screen.typed.append(words)
        screen.shown += words

    async def enter(self, pane: str) -> None:
        screen = self._screen(pane)
        screen.typed.append("\r")
        screen.shown += "\n"

    async def capture(self, pane: str) -> str:
        return self._screen(pane).shown

    async def kill(self, pane: str) -> None:
        self.screens.pop(pane, None)

    def touch(self, pane: str, at: datetime) -> None:
        """A person pressed a key in it."""
        screen = self._screen(pane)
        screen.pane = replace(screen.pane, touched_at=at)

    def end(self, pane: str) -> None:
        """Its program has ended, and the pane stays to show that."""
        screen = self._screen(pane)
        screen.pane = replace(screen.pane, dead=True)

    def _screen(self, pane: str) -> Screen:
        if pane not in self.screens:
            raise PaneGoneError(pane)
        return self.screens[pane]
