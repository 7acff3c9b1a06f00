"""One campaign at a time: who plans or runs at a scale holds a lock."""

import contextlib
import fcntl
import time
from collections.abc import Iterator
from pathlib import Path

from tramontane.support.files import UnwritableError

#: How long another run is waited for, which may just be ending [s].
PATIENCE = 20.0


@contextlib.contextmanager
def only_one(folder: Path, patience: float = PATIENCE) -> Iterator[int | None]:
    """Hold the lock of a campaign; yields its descriptor, or None if another run does not end within `patience` [s].

    The system releases the lock when its last holder ends, however it ends.

    Parameters
    ----------
    folder : Path
        The folder of everything that belongs to the scale; it is made.

    Raises
    ------
    UnwritableError
        If its file system has no locks.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w", encoding="utf-8") as file:
        deadline = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    yield None
                    return
                time.sleep(0.2)
            except OSError as error:  # of a network: mounted without locks, or nobody keeps them
                problem = f"the file system keeps no locks ({error.strerror})"
                raise UnwritableError(error.errno, problem, file.name) from error
        yield file.fileno()
