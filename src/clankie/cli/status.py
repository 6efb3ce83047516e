"""`clankie status`, `version`, and the help of `prompt` (which itself is a hook command)."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

import click

from clankie import __version__
from clankie.cli.frame import Frame, framed

if TYPE_CHECKING:
    from rich.console import RenderableType

    from clankie.cli.wire import Json


@click.command()
@framed
def status(frame: Frame) -> None:
    """What the service is doing now."""
    answer = frame.client.get("/v1/status")
    models = frame.client.get("/v1/settings")["settings"]["models"]
    frame.emit(answer, lambda: _shown(frame, answer, models))


def _shown(frame: Frame, answer: Json, models: Json) -> RenderableType:
    from clankie.cli.look import pairs  # noqa: PLC0415 - only for people

    waiting: Json = answer.get("deliveries") or {}
    kept: Json = answer.get("conversations") or {}
    store: Json = answer.get("store") or {}
    counts = (
        ", ".join(f"{number} {name}" for name, number in waiting.items() if number) or "nothing"
    )
    return pairs(
        [
            ("version", str(answer.get("version", ""))),
            ("up for", duration(float(answer.get("uptime_seconds") or 0))),
            ("process", str(answer.get("pid", ""))),
            ("at", frame.client.address.shown),
            (
                "model",
                " at ".join(str(models[name]) for name in ("model", "base_url") if models[name]),
            ),
            ("messages", counts),
            ("conversations", f"{kept.get('open', 0)} open, {kept.get('closed', 0)} closed"),
            ("store", f"SQLite {store.get('sqlite', '?')}, {size(store.get('bytes'))}"),
        ]
    )


def duration(seconds: float) -> str:
    """``3 d 4 h``, ``2 h 5 min``, ``42 s``: the two largest units."""
    left = int(seconds)
    parts: list[str] = []
    for name, length in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, left = divmod(left, length)
        if count or (name == "s" and not parts):
            parts.append(f"{count} {name}")
    return " ".join(parts[:2])


def size(number: Any) -> str:  # noqa: ANN401 - from JSON
    """Bytes as people say them."""
    if not isinstance(number, int | float):
        return "?"
    left = float(number)
    for unit in ("B", "KiB", "MiB"):
        if left < 1_024:  # noqa: PLR2004 - the size of a unit
            return f"{left:.0f} {unit}" if unit == "B" else f"{left:.1f} {unit}"
        left /= 1_024
    return f"{left:.1f} GiB"


@click.command()
@framed
def version(frame: Frame) -> None:
    """Print the version."""
    data = {"version": __version__, "python": platform.python_version()}
    frame.emit(data, lambda: f"clankie {__version__} (Python {platform.python_version()})")


@click.command()
@click.option("--sections", metavar="A,B", help="Only these parts, in this order.")
@click.option("--conversation", metavar="ID", help="Default: the seat's, else global-default.")
@click.option("--seat", is_flag=True, help="As the hook of a seat, which then has read the log.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def prompt(sections: str | None, conversation: str | None, *, seat: bool, as_json: bool) -> None:
    """Print what a harness reads at the start of a session."""
    from clankie.cli.hooks import prompt as hook  # noqa: PLC0415 - one implementation, the quick one

    given = [*(["--sections", sections] if sections else [])]
    given += ["--conversation", conversation] if conversation else []
    given += ["--seat"] if seat else []
    click.get_current_context().exit(hook([*given, *(["--json"] if as_json else [])]))
