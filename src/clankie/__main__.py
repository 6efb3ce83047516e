"""``python -m clankie`` is the command line."""

import sys

from clankie.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
