"""The program's first lines: hook commands go their own short way, everything else to click.

A hook runs at every start of somebody's coding session. It must not pay for libraries it does not
use, so it is dispatched before any of them is imported.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command in `sys.argv`. Returns 0 done, 1 refused or failed, 2 bad usage."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["prompt"]:
        from clankie.cli.hooks import prompt  # noqa: PLC0415 - see the module's docstring

        return prompt(arguments[1:])
    if arguments[:1] == ["seat-sync"]:
        from clankie.cli.seat_hooks import seat_sync  # noqa: PLC0415 - see the module's docstring

        return seat_sync(arguments[1:])
    from clankie.cli.app import run  # noqa: PLC0415 - see the module's docstring

    return run(arguments)
