"""`clankie doctor`: what is wrong, a sentence each, and the fix. It needs no running service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clankie.cli import checks
from clankie.cli.frame import Frame, framed

if TYPE_CHECKING:
    from rich.console import RenderableType


@click.command()
@framed
def doctor(frame: Frame) -> None:
    """Say what is wrong here, and how to mend it. Exit code 1 when something is."""
    findings = [*checks.local(), *checks.service()]
    failed = any(one.level == "fail" for one in findings)
    data = {"ok": not failed, "findings": [one.to_json() for one in findings]}
    frame.emit(data, lambda: _shown(findings))
    if failed:
        click.get_current_context().exit(1)


def _shown(findings: list[checks.Finding]) -> RenderableType:
    from rich.console import Group  # noqa: PLC0415 - only for people
    from rich.table import Table  # noqa: PLC0415 - only for people
    from rich.text import Text  # noqa: PLC0415 - only for people

    from clankie.cli.look import MARKS, STATES, safe  # noqa: PLC0415 - only for people

    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True)
    made.add_column(style="quiet", no_wrap=True)
    made.add_column(overflow="fold")
    for one in findings:
        said = safe(one.sentence)
        if one.fix and one.level != "ok":
            said = Text.assemble(said, "\n", ("→ ", "accent"), safe(one.fix))
        mark = Text(MARKS.get(one.level, "?"), style=STATES.get(one.level, ""))
        made.add_row(mark, safe(one.name), said)
    return Group(made, _verdict(findings))


def _verdict(findings: list[checks.Finding]) -> RenderableType:
    from clankie.cli.look import safe  # noqa: PLC0415 - only for people

    failed = sum(one.level == "fail" for one in findings)
    warned = sum(one.level == "warn" for one in findings)
    if failed:
        return safe(f"{failed} to mend.", "bad")
    return safe(f"Nothing is broken; {warned} to know about." if warned else "All is well.", "good")
