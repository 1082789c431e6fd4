"""`python -m anabranch ...`: the command line that the wheel brings."""

import os
import shutil
import sys
from pathlib import Path


def main() -> None:
    """Becomes the program `anabranch`: the one beside this Python, or one on the path."""
    beside = Path(sys.executable).with_name("anabranch")
    program = str(beside) if beside.is_file() else shutil.which("anabranch")
    if program is None:
        sys.exit("anabranch: the program is not installed; the wheel brings it (`make wheel`)")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
