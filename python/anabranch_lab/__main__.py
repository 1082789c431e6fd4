"""`anabranch-lab`, and `python -m anabranch_lab`."""

import sys

from . import verbs


def main() -> int:
    """Runs one command. Help and version come at once: the modules that the other commands need take a second to load."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["--help"], ["-h"]):
        verbs.short().parse_args(arguments)
    from . import cli

    return cli.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
