"""How a command ends that could not do what it was asked to do: one line, and a status."""

import sys
from typing import NoReturn

#: Exit status for mistakes in the input, and for points that did not run.
MISTAKE, FAILURE = 2, 1


def fail(message: str, status: int) -> NoReturn:
    """Print a line on standard error and exit."""
    print(message, file=sys.stderr)
    sys.exit(status)
