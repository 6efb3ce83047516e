"""`clankie settings`: read and change, always against the revision that was read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import click

from clankie.cli.failures import CommandError, ProblemError
from clankie.cli.frame import Frame, framed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from clankie.cli.wire import Json


@click.group()
def settings() -> None:
    """Settings: read and change them."""


@settings.command("get")
@click.argument("path", required=False)
@framed
def get(frame: Frame, path: str | None) -> None:
    """Show all settings, or those under PATH (such as models.model)."""
    answer = frame.client.get("/v1/settings")
    value = reach(answer["settings"], path)
    data = {"revision": answer["revision"], "path": path, "value": value}
    frame.emit(answer if path is None else data, lambda: _shown(answer, path, value))


def reach(tree: object, path: str | None) -> object:
    """The value under a dotted path.

    Raises:
        CommandError: there is none; lists what there is at that place.
    """
    here = tree
    for name in path.split(".") if path else ():
        if not isinstance(here, dict) or name not in here:
            known = ", ".join(cast("Json", here)) if isinstance(here, dict) else "nothing below it"
            raise CommandError(
                f"There is no setting {path!r}; known here: {known}.", code="invalid_field"
            )
        here = cast("Json", here)[name]
    return here


def leaves(tree: object, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted paths and values."""
    if not isinstance(tree, dict):
        yield prefix, tree
        return
    for name, value in cast("Json", tree).items():
        yield from leaves(value, f"{prefix}.{name}" if prefix else name)


def _shown(answer: Json, path: str | None, value: object) -> RenderableType:
    from rich.console import Group  # noqa: PLC0415 - only for people

    from clankie.cli.look import body, pairs, safe  # noqa: PLC0415 - only for people

    if not isinstance(value, dict):
        return body(value if isinstance(value, str) else json.dumps(value))
    rows = [
        (name, leaf if isinstance(leaf, str) and leaf else json.dumps(leaf))
        for name, leaf in leaves(cast("Json", value), path or "")
    ]
    return Group(pairs(rows), safe(f"revision {answer['revision']}", "quiet"))


def parse(value: str) -> object:
    """A number, true, false, null or any JSON; everything else is text as it stands."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def patch_for(path: str, value: object) -> Json:
    """The merge patch that sets one path."""
    names = path.split(".")
    if not all(names):
        raise CommandError(f"{path!r} is not a path such as models.model.", code="invalid_field")
    patch: object = value
    for name in reversed(names):
        patch = {name: patch}
    return cast("Json", patch)


@settings.command("set")
@click.argument("path")
@click.argument("value")
@click.option("--text", is_flag=True, help="Take VALUE as text, though it looks like a number.")
@click.option(
    "--expected-revision", type=int, metavar="N", help="Refuse if others changed them since."
)
@framed
def set_(frame: Frame, path: str, value: str, expected_revision: int | None, *, text: bool) -> None:
    """Set PATH (such as models.model) to VALUE; null brings the default back."""
    before = frame.client.get("/v1/settings")
    revision = before["revision"] if expected_revision is None else expected_revision
    wanted = (
        value
        if text or (isinstance(_current(before, path), str) and value != "null")
        else parse(value)
    )
    change = {**patch_for(path, wanted), "expected_revision": revision}
    try:
        answer = frame.client.patch("/v1/settings", change)
    except ProblemError as error:
        if error.code != "revision_conflict":
            raise
        raise CommandError(
            f"Somebody changed the settings meanwhile (revision {error.facts.get('revision')}), so "
            f"nothing was set. Look with `clankie settings get {path}`, then repeat the command.",
            code=error.code,
            **error.facts,
        ) from error
    shown = json.dumps(reach(answer["settings"], path), ensure_ascii=False)
    frame.done(answer, f"{path} is now {shown} (revision {answer['revision']}).")


def _current(answer: Json, path: str) -> object:
    try:
        return reach(answer["settings"], path)
    except CommandError:
        return None
