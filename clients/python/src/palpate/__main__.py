"""`python -m palpate ...` runs the server program with these arguments."""

import os
import subprocess
import sys

from .errors import NotStarted
from .program import find_program


def main() -> int:
    try:
        program = str(find_program())
    except NotStarted as error:
        print(f"palpate: {error}", file=sys.stderr)
        return 1
    if sys.platform == "win32":
        return subprocess.call([program, *sys.argv[1:]])
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
