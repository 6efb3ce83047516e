"""`clankie backup` and `clankie restore`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clankie.cli import places
from clankie.cli.failures import CommandError
from clankie.cli.frame import Frame, framed
from clankie.cli.wire import Call

if TYPE_CHECKING:
    from clankie.cli.wire import Json

BACKUP_TIMEOUT = 600.0


@click.command()
@click.argument("path", required=False, type=click.Path(dir_okay=True, path_type=Path))
@framed
def backup(frame: Frame, path: Path | None) -> None:
    """Write everything but credentials into one file, while the service runs.

    PATH is the file to make; without it the file goes into the state directory.
    """
    body: Json = {} if path is None else {"path": str(path.absolute())}
    client = frame.client
    frame.progress("Writing the backup ...")
    call = Call(method="POST", path="/v1/backups", body=body, timeout=BACKUP_TIMEOUT)
    answer = client.call(call)
    frame.done(answer, f"Everything is in {answer.get('path', path)}. Credentials are not in it.")


@click.command()
@click.argument("archive", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask.")
@framed
def restore(frame: Frame, archive: Path, *, yes: bool) -> None:
    """Bring ARCHIVE back. The service must be stopped; what is there now is kept aside.

    What was not finished in the backup becomes uncertain, wakes are held, tokens are revoked.
    """
    if not yes:
        question = (
            f"Put {archive} in place of what is in {places.home()}? What is there is kept aside."
        )
        if frame.as_json or not sys.stdin.isatty():
            raise CommandError(f"{question} Add --yes to do it.", code="not_confirmed")
        if not click.confirm(question, err=True):
            raise CommandError("Nothing was changed.", code="not_confirmed")
    done = _restore(archive)
    frame.done(
        done, "It is restored. Start it with `clankie up`; new tokens are needed everywhere."
    )


def _restore(archive: Path) -> dict[str, Any]:
    from clankie.core.errors import ClankieError  # noqa: PLC0415 - the whole service comes with it
    from clankie.wiring.archive import restore as put_back  # noqa: PLC0415 - as above
    from clankie.wiring.config import from_environment  # noqa: PLC0415 - as above

    try:
        aside = put_back(from_environment(), archive.absolute())
    except ClankieError as error:
        raise CommandError(error.detail, code=error.code, **error.facts) from error
    except OSError as error:
        raise CommandError(
            f"It could not be restored ({error}).", code="storage_unavailable"
        ) from error
    return {"home": places.home(), "kept_aside": None if aside is None else str(aside)}
