"""The project speaks of itself alone: no trace of the place where somebody works on it.

Looks through every committed file and every commit message. The patterns are written with one
letter in brackets, so that this file does not contain what it looks for.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PATTERNS = re.compile(
    r"""
      f[a]rm-bench
    | f[a]rm-studio
    | \.l[i]brary
    | /w[o]rk(?!\w)
    | \.\./sh[a]red
    | sh[a]red/spec
    | sh[a]red/guides
    | bef[o]re-stop
    | /r[o]ot/\.pyenv
    | /[o]pt/tools
    | sub[a]gent
    """,
    re.IGNORECASE | re.VERBOSE,
)


def git(*arguments: str) -> str:
    """What git prints; the checkout may belong to another user than the one who runs this."""
    command = ["git", "-c", "safe.directory=*", *arguments]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return done.stdout.decode(errors="replace")


def in_files() -> Iterator[str]:
    """Hits in committed files and in their names."""
    for name in git("ls-files", "-z").split("\0"):
        path = ROOT / name
        if not name or not path.is_file():
            continue
        if PATTERNS.search(name):
            yield f"{name}: the name itself"
        text = path.read_bytes().decode(errors="replace")
        for number, line in enumerate(text.splitlines(), start=1):
            if PATTERNS.search(line):
                yield f"{name}:{number}: {line.strip()[:120]}"


def in_messages() -> Iterator[str]:
    """Hits in commit messages."""
    for commit in git("log", "--format=%h %B%x00").split("\0"):
        for line in commit.splitlines():
            if PATTERNS.search(line):
                yield f"commit {commit.split()[0]}: {line.strip()[:120]}"


def main() -> int:
    """Print the hits; 1 if there are any."""
    hits = [*in_files(), *in_messages()]
    print("\n".join(hits) or "nothing found")
    return 1 if hits else 0


if __name__ == "__main__":
    sys.exit(main())
