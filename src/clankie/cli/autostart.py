"""`clankie service`: start with the computer, as a systemd user unit or a launchd agent."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import click

from clankie.cli import child, places, units
from clankie.cli.failures import CommandError
from clankie.cli.frame import Frame, framed

if TYPE_CHECKING:
    from collections.abc import Sequence

KEEPS = """\
Everything is kept in {home}. To uninstall the rest: delete that directory (all conversations go
with it), and the checkout or the package that `clankie` came from."""


@click.group()
def service() -> None:
    """Start Clankie with the computer, or stop doing so."""


@service.command()
@click.option("--print", "show", is_flag=True, help="Print what would be written; change nothing.")
@framed
def install(frame: Frame, *, show: bool) -> None:
    """Start Clankie now and whenever you log in; `clankie logs` shows what it writes."""
    plan = units.plan(os.environ, places.home(), mac=sys.platform == "darwin")
    if show:
        frame.emit(
            {"files": {str(path): text for path, text in plan.files.items()}}, lambda: _files(plan)
        )
        return
    _need(plan.program)
    if child.answering(None):
        raise CommandError(
            "Clankie runs already, and two cannot share a state. Stop it, then repeat this.",
            code="service_running",
        )
    try:
        for path, text in plan.files.items():
            units.write_private(path, text)
    except OSError as error:
        raise CommandError(f"It cannot be installed: {error}.", code="not_written") from error
    for command in plan.start:
        _call(command)
    frame.done({"installed": str(plan.unit)}, f"Installed as {plan.unit}. {plan.hint}")


@service.command()
@framed
def remove(frame: Frame) -> None:
    """Stop Clankie and do not start it any more; everything it knows is kept."""
    home = places.home()
    plan = units.plan(os.environ, home, mac=sys.platform == "darwin")
    if not plan.unit.exists():
        raise CommandError(f"It is not installed: there is no {plan.unit}.", code="not_installed")
    _need(plan.program)
    for command in plan.stop:
        _call(command, needed=False)
    for path in plan.files:
        path.unlink(missing_ok=True)
    for command in plan.after:
        _call(command, needed=False)
    frame.done({"removed": str(plan.unit)}, f"Removed. {KEEPS.format(home=home)}")


def _files(plan: units.Plan) -> str:
    from clankie.cli.clean import plain  # noqa: PLC0415 - only for people

    return "\n".join(f"# {path}\n{plain(text)}" for path, text in plan.files.items())


def _need(program: str) -> None:
    if shutil.which(program) is None:
        raise CommandError(
            f"There is no {program} here, so nothing can be installed. Run `clankie up` or "
            "`clankie serve` under what starts programs on this machine.",
            code="no_service_manager",
        )


def _call(command: Sequence[str], *, needed: bool = True) -> None:
    done = subprocess.run(  # noqa: S603 - our own words, found through PATH as for a person
        command, capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode != 0 and needed:
        said = done.stderr.strip() or done.stdout.strip()
        raise CommandError(f"`{' '.join(command)}` failed: {said}", code="service_manager_failed")
