"""How a command ends that could not do what it was asked to do: one line, and a status."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

#: Exit status for mistakes in the input, and for points that did not run.
MISTAKE, FAILURE = 2, 1


@contextlib.contextmanager
def of_point(file: Path) -> Iterator[None]:
    """Have mistakes that show when a point runs name its file, too, and end if it does not run, as `tramontane run`."""
    from tramontane.errors import InputError, display_path
    from tramontane.substrates.isolation import what_went_wrong

    try:
        yield
    except InputError as error:
        raise error.at(file) from None
    except Exception as error:
        fail(f"{display_path(file)}: {what_went_wrong(error)}", FAILURE)


def fail(message: str, status: int) -> NoReturn:
    """Print a line on standard error and exit."""
    print(message, file=sys.stderr)
    sys.exit(status)
