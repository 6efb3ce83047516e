#!/usr/bin/env python3
"""Prints the reference pages that follow from the code: machines, commands, HTTP, harnesses.

`scripts/pages.py --write` writes them; without it, exit 1 when one is out of date.
"""

from __future__ import annotations

import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from clankie.api.app import Routes
from clankie.api.openapi import describe
from clankie.api.rights import RIGHTS
from clankie.cli.app import clankie
from clankie.core import binding, delivery, handoff
from clankie.core.seat import EventKind
from clankie.seats.harnesses import NAMES, adapter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from clankie.seats.port import Declaration, Way

State = TypeVar("State", bound=StrEnum)
Signal = TypeVar("Signal", bound=StrEnum)

CONSOLE = {
    "/": "The console's page. It holds no data.",
    "/login": "The same page: it asks for a code.",
    "/console/{file}": "A file of the console.",
}
"""What is no part of the described interface, in words."""

PARAMETER = re.compile(r":[a-z]+}")
REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"

MACHINES = """\
# State machines

Written by `scripts/pages.py --write` from the tables in `delivery.py`, `binding.py` and
`handoff.py` of `src/clankie/core`. A move that has no arrow is refused with `transition_refused`
and changes nothing.
"""

COMMANDS = """\
# Command line

Written by `scripts/pages.py --write` from the commands themselves. Every command takes `--json` and
then prints JSON on standard output; progress goes to standard error. Exit status 0: done, 1:
refused or failed, 2: bad usage. A secret is never an argument.

`clankie prompt --sections persona,reach,conversation` prints plain text for a harness. It loads
next to nothing, because it runs at every start of somebody's coding session.
"""

HTTP = """\
# HTTP

Written by `scripts/pages.py --write` from the routes. The whole description, with schemas and
errors, is served at `/openapi.json`. JSON in and out, `Authorization: Bearer`; errors are
`application/problem+json` with a stable `code` and a `detail` that says what to do.

The service listens at `http://127.0.0.1:4310` and at the socket `~/.clankie/service.sock`. The
token of the operator is in `~/.clankie/operator.token`; `clankie token new` makes others, with
fewer rights.

```sh
curl -H "Authorization: Bearer $(cat ~/.clankie/operator.token)" http://127.0.0.1:4310/v1/status
```
"""


HARNESSES = """\
# Harnesses

Written by `scripts/pages.py --write` from what each adapter declares. How to use them:
`docs/guides/seats.md`.

For every kind of event an adapter says how it reaches the harness, what proves that it arrived, and
what a definite refusal looks like. What is neither proven nor refused is shown as uncertain and
never given again. A kind that is missing is not offered to that harness.

A turn that the harness itself reports as interrupted, or as ended by an error of its API, ends what
it had with that code: cancelled where you asked for the stop, else failed. Of pi that goes for
stops, and for errors once it does not try again. pi has none of our tools: what wants an answer by
`reply` (messages from a linked channel, what a room asks) goes to the service lane; where pi was
asked first a notice in the log says so.

Other versions than those named are started all the same, with a word to you. What is tested runs
against the real programs: `scripts/harnesses`.
"""

KINDS = {
    EventKind.TURN: "your message",
    EventKind.ESCALATION: "a message from a linked channel",
    EventKind.WAKE: "a wake",
    EventKind.WATCH: "news of something watched",
    EventKind.MESSAGE: "what others say: reports, rooms, the handoff",
}


def diagram(table: Mapping[State, frozenset[State]]) -> str:
    """One machine as a Mermaid state diagram."""
    lines = ["```mermaid", "stateDiagram-v2"]
    first = next(iter(table))
    lines.append(f"    [*] --> {first}")
    for before, targets in table.items():
        lines += [f"    {before} --> {after}" for after in sorted(targets)]
        if not targets:
            lines.append(f"    {before} --> [*]")
    return "\n".join([*lines, "```"])


def labelled(table: Mapping[State, Mapping[Signal, State]]) -> str:
    """One machine whose moves have names; a move that leads back to its state is drawn too."""
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {next(iter(table))}"]
    for before, cells in table.items():
        lines += [f"    {before} --> {cells[one]}: {one}" for one in sorted(cells)]
    return "\n".join([*lines, "```"])


def machines() -> str:
    """The page of state machines."""
    drawn = [
        ("An input", "What was admitted, from the queue to its end.", diagram(delivery.INPUT)),
        ("An attempt on the service lane", "One try at it.", diagram(delivery.SERVICE)),
        ("An attempt at a seat", "The same, in a coding harness.", diagram(delivery.SEAT)),
        (
            "The binding of a seat",
            "Who may take from it. The hold, which only the head has, runs beside it.",
            labelled(binding.TABLE),
        ),
        (
            "A handoff",
            "What the service lane did while a harness was away, told once.",
            labelled(handoff.SPAN),
        ),
    ]
    parts = [f"## {name}\n\n{what}\n\n{figure}\n" for name, what, figure in drawn]
    return "\n".join([MACHINES, *parts])


def commands() -> str:
    """The page of commands, each with its own help."""
    parts = [COMMANDS]
    context = click.Context(clankie, info_name="clankie", terminal_width=90)
    for name, command in leaves(clankie, context):
        own = click.Context(command, info_name=name, terminal_width=90, max_content_width=90)
        text = command.get_help(own).strip()
        parts.append(f"## {name}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def leaves(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, with its full name."""
    if not isinstance(command, click.Group):
        yield context.command_path, command
        return
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        if found is not None and not found.hidden:
            yield from leaves(found, click.Context(found, parent=context, info_name=name))


def http() -> str:
    """The page of routes: method, path, who may, what it does."""
    described: Mapping[str, Any] = describe(Routes().framework)["paths"]
    lines = [HTTP, "| call | who | what |", "| --- | --- | --- |"]
    for (method, path), who in RIGHTS.items():
        plain = PARAMETER.sub("}", path)
        operation = described.get(plain, {}).get(method.lower(), {})
        summary = str(operation.get("description") or operation.get("summary") or "")
        summary = summary or CONSOLE.get(plain, "")
        first = summary.split("\n", 1)[0].replace("|", "\\|")
        allowed = ", ".join(sorted(who)) or "anybody"
        lines.append(f"| `{method} {plain}` | {allowed} | {first} |")
    return "\n".join(lines) + "\n"


def seats() -> str:
    """The page of harnesses: what each adapter declares."""
    parts = [HARNESSES]
    for name in NAMES:
        found = adapter(name)
        manners = {one: found.declaration(headless=one) for one in (False, True)}
        same = manners[False] == manners[True]
        versions = ", ".join(manners[False].tested) or "none yet"
        parts.append(f"## {name}\n\nTested: {versions}. Installed with `{found.install}`.\n")
        for headless, declared in manners.items():
            if same and headless:
                continue
            manner = "without one (`--headless`)" if headless else "with a terminal"
            both = "With a terminal and without one" if declared.screen else "Without a terminal"
            title = both if same else manner.capitalize()
            parts.append(f"**{title}.** {abilities(declared)}\n\n{ways(declared)}\n")
    return "\n".join(parts)


def abilities(declared: Declaration) -> str:
    """What it can do beside taking events, in a sentence."""
    can = declared.capabilities
    facts = [
        ("what it writes goes into the log", "what it writes stays with it", can.transcript),
        ("words join a running turn", "words wait for the end of a turn", can.steer),
        (
            "a running turn can be stopped",
            "a running turn cannot be stopped from here",
            can.interrupt,
        ),
    ]
    text = "; ".join(yes if holds else no for yes, no, holds in facts)
    return f"{text[0].upper()}{text[1:]}."


def ways(declared: Declaration) -> str:
    """A table of how each kind of event is given to it; kinds that go one way share a row."""
    rows: dict[Way, list[str]] = {}
    for kind, words in KINDS.items():
        if kind in declared.ways:
            rows.setdefault(declared.ways[kind], []).append(words)
    lines = ["| event | how it is given | proof | refusal |", "| --- | --- | --- | --- |"]
    for way, kinds in rows.items():
        cells = [", ".join(kinds), way.delivers, way.proof, way.refusal]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


PAGES: Mapping[str, Callable[[], str]] = {
    "machines.md": machines,
    "command-line.md": commands,
    "http.md": http,
    "harnesses.md": seats,
}


def main() -> int:
    """Write the pages, or compare them."""
    write = "--write" in sys.argv[1:]
    old: list[str] = []
    for name, made in PAGES.items():
        page, text = REFERENCE / name, made()
        if write:
            page.write_text(text, encoding="utf-8")
        elif not page.exists() or page.read_text(encoding="utf-8") != text:
            old.append(name)
    if old:
        print(f"out of date: {', '.join(old)}; run scripts/pages.py --write")
    else:
        print(f"{len(PAGES)} pages say what the code says")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
