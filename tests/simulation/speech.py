"""How the simulation speaks."""

import sys


def say(line: str) -> None:
    """One line on standard output, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
