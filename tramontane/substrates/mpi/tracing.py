"""Starts an MPI program of the user's own so that it is traced; see docs/your-application.md."""

import contextlib
import errno
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from tramontane.errors import InputError
from tramontane.study.traces.mpi_traces import is_named_as_part
from tramontane.substrates.mpi.build import build_tracer, missing_tools
from tramontane.substrates.mpi.launch import SESSIONS
from tramontane.substrates.mpi.libraries import INSTALL, Library, find_command, found
from tramontane.support.processes import end_with_parent

#: Environment variables of the tracing library (``tracer/tracer.hpp``): where to, and whether to leave out names.
FOLDER, STRIP = "TRAMONTANE_TRACE", "TRAMONTANE_TRACE_STRIP"

_STARTER = "a command that starts MPI programs, such as mpirun"


def library_of_launcher(launcher: str, environment: str | None) -> Library:
    """Return the MPI library that a launcher belongs to, or the one that is named.

    Raises
    ------
    InputError
        If there is none.
    """
    there = {library.name: library for library in found()}
    if not there:
        raise InputError("tramontane trace", "", None, INSTALL, problem="found no MPI library")
    if environment is not None:
        if environment not in there:
            raise InputError("--environment", "", environment, ", ".join(there))
        return there[environment]
    path = find_command(launcher)
    if path is None:
        raise InputError("tramontane trace", "", launcher, _STARTER)
    real = Path(path).resolve()
    for library in there.values():
        if Path(library.mpirun[0]).resolve() == real:
            return library
    if len(there) == 1:
        return next(iter(there.values()))
    raise InputError("tramontane trace", "", launcher, f"--environment with one of {', '.join(there)}")


def trace(command: list[str], folder: Path, environment: str | None, *, strip: bool) -> int:
    """Run a command, such as ``mpirun -n 8 ./model``, and let each rank write what it does; return its exit status.

    Parameters
    ----------
    command : list of str
        The launcher and its arguments.
    folder : Path
        Where the trace goes; an older one there is removed. There is none if no rank has called MPI_Init.
    environment : str, optional
        The MPI library, as the system `generic` calls it; by default that of the launcher.
    strip : bool
        Whether to leave out the names of program and host.

    Raises
    ------
    InputError
        If there is no such library or command, something else is in the folder, or it can't be made.
    RuntimeError
        If the tracing library can't be built.
    """
    if missing := missing_tools():
        raise InputError("tramontane trace", "", None, "g++ and cmake", problem=f"{' and '.join(missing)} not found")
    library = library_of_launcher(command[0], environment)
    if find_command(command[0]) is None:
        raise InputError("tramontane trace", "", command[0], _STARTER)
    new = _make(folder)
    try:
        tracer = build_tracer(library)
        with tempfile.TemporaryDirectory(prefix="mpi-", ignore_cleanup_errors=True) as sessions:
            variables = {**dict.fromkeys(SESSIONS, sessions), **library.variables, **os.environ}
            status = _run(command, variables | _preloaded(tracer, folder, strip=strip))
    finally:
        _remove_empty(new)
    return status


def _make(folder: Path) -> list[Path]:
    """Make the folder of a trace, without an older one in it; return what is new of its path, the last part first."""
    new: list[Path] = []
    try:
        if folder.exists():
            if not folder.is_dir() or not all(map(is_named_as_part, folder.iterdir())):
                raise InputError("--output", "", str(folder), "a new folder, or one with nothing but a trace")
            shutil.rmtree(folder)
        new = [part for part in (folder, *folder.parents) if not part.exists()]
        folder.mkdir(parents=True)
    except OSError as error:
        _remove_empty(new)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        problem = f"found '{folder}': {error.strerror}"
        raise InputError("--output", "", None, "a place to write to", problem=problem) from None
    return new


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _preloaded(tracer: Path, folder: Path, *, strip: bool) -> dict[str, str]:
    if re.search(r"[\s:]", str(tracer)):  # each of them separates libraries
        allowed = "a path without blanks and colons (LD_PRELOAD knows no others)"
        raise InputError("tramontane trace", "", str(tracer), allowed, problem=f"the tracing library is {tracer}")
    before = os.environ.get("LD_PRELOAD")
    return {
        FOLDER: str(folder.absolute()),
        "LD_PRELOAD": f"{tracer}:{before}" if before else str(tracer),
        **({STRIP: "1"} if strip else {}),
    }


def _run(command: list[str], variables: dict[str, str]) -> int:
    try:
        # A launcher takes its ranks with it.
        started = subprocess.Popen(
            command,
            env=variables,
            preexec_fn=lambda: end_with_parent(signal.SIGTERM),  # noqa: PLW1509 (one thread)
        )
    except OSError as error:  # such as a script without the line that says what runs it
        problem = f"found '{command[0]}': {error.strerror}"
        raise InputError("tramontane trace", "", None, _STARTER, problem=problem) from None
    with started as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:  # the program has got it, too, and what it has done by then is in the trace
                process.send_signal(signal.SIGINT)
