"""Files from the future: a clock was wrong, or is now.

The workflow goes by times of modification. A file that is newer than anything made now would count as out of date, or
as just made, until its time has come.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

#: How far the clocks of this host and of a file system may differ [ns].
TOLERANCE = 60 * 10**9


def now_at(folder: Path) -> int:
    """Return the time by the clock of the file system of a folder [ns since the epoch]."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".clock") as file:
        os.utime(file.name)
        return Path(file.name).stat().st_mtime_ns


def bring_back(files: Iterable[Path], now: int) -> int:
    """Give files from the future the time `now` [ns since the epoch]; return how many there were."""
    found = 0
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            if file.stat().st_mtime_ns > now:
                os.utime(file, ns=(now, now))
                found += 1
    return found


def is_past(file: Path) -> bool:
    """Return whether a file's time of modification means anything: it does not where it has yet to come."""
    try:
        return file.stat().st_mtime_ns <= time.time_ns() + TOLERANCE
    except FileNotFoundError:
        return True
