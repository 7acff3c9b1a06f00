"""How files are written: whole or not at all, whatever happens meanwhile."""

import contextlib
import errno
import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class UnwritableError(OSError):
    """A file can't be written, for a reason that is the system's; it names the file, not the one it was to replace."""


def is_special(path: Path) -> bool:
    """Return whether a device, a pipe or a socket is there, or a link to one."""
    return path.exists() and not path.is_file() and not path.is_dir()


def write_atomically(path: Path, content: str | bytes | memoryview | Iterator[str]) -> None:
    """Write `content`, or its parts one after the other, to `path` so that nobody, at no time, sees half of it.

    The temporary file lies in the same folder, because a rename is atomic inside one file system only.

    Raises
    ------
    UnwritableError
        If the system refuses, or a device, a pipe or a socket is in the file's place: it would be replaced.
    """
    if is_special(path):
        raise UnwritableError(errno.EINVAL, "no regular file", str(path))
    with _naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                for part in content if isinstance(content, Iterator) else (content,):
                    stream.write(part.encode() if isinstance(part, str) else part)
                stream.flush()
                os.fsync(stream.fileno())  # or a power cut after the rename leaves an empty file under the name
            # mkstemp makes files only the owner can read; results are meant to be shared.
            umask = os.umask(0)
            os.umask(umask)
            Path(name).chmod(0o666 & ~umask)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let the system's refusals name a file or folder."""
    try:
        yield
    except OSError as error:
        raise UnwritableError(error.errno, error.strerror or str(error), str(path)) from error


@contextlib.contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """Give a new folder beside `path`, in which something is made that a rename then puts in that place.

    It is gone afterwards, also if the process is asked to end meanwhile (SIGTERM), as a job at the end of its time is.

    Raises
    ------
    UnwritableError
        If the system refuses the folder.
    """
    where = path.absolute()
    with contextlib.ExitStack() as stack:
        stack.enter_context(unwinding_when_ended())
        with _naming(path):
            made = tempfile.TemporaryDirectory(prefix=f".{where.name}.", dir=where.parent, ignore_cleanup_errors=True)
        yield Path(stack.enter_context(made))


@contextlib.contextmanager
def unwinding_when_ended() -> Iterator[None]:
    """Leave by way of what cleans up when SIGTERM arrives, unless something else is done about that signal."""
    number = signal.SIGTERM
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(number) != signal.SIG_DFL:
        yield
        return
    signal.signal(number, lambda *_: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(number, signal.SIG_DFL)


def check_writable(folder: Path) -> None:
    """Make a folder, and raise UnwritableError if no file can be written there."""
    with _naming(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut, where the file system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_if_changed(path: Path, text: str) -> bool:
    """Write `text` to `path` unless it stands there already; return whether the file was written.

    An unchanged file keeps its time of modification, and so asks nothing of the workflow.
    """
    with contextlib.suppress(FileNotFoundError, IsADirectoryError, UnicodeDecodeError):
        if not is_special(path) and path.read_text(encoding="utf-8") == text:
            return False
    write_atomically(path, text)
    return True


def dump(data: Any) -> str:
    """Return `data` as JSON text for a file: sorted keys, one line, no NaN."""
    return json.dumps(data, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
