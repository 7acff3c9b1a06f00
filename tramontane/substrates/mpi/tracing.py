"""Starts an MPI program of the user's own so that it is traced; see docs/your-application.md."""

import contextlib
import errno
import fcntl
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tramontane.errors import InputError, display_path
from tramontane.study.traces.mpi_traces import is_named_as_part, laid_aside
from tramontane.substrates.mpi.build import build_tracer, missing_tools
from tramontane.substrates.mpi.launch import SESSIONS
from tramontane.substrates.mpi.libraries import INSTALL, Library, find_command, found
from tramontane.support.files import folder_beside, unwinding_when_ended
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


def trace(command: list[str], folder: Path, environment: str | None, *, strip: bool) -> tuple[int, bool]:
    """Run a command, such as ``mpirun -n 8 ./model``, and let each rank write what it does.

    Return the command's exit status, and whether a rank has written anything: if none has, the folder is as before.

    Parameters
    ----------
    command : list of str
        The launcher and its arguments.
    folder : Path
        Where the trace goes, in the place of an older one.
    environment : str, optional
        The MPI library, as the system `generic` calls it; by default that of the launcher.
    strip : bool
        Whether to leave out the names of program and host.

    Raises
    ------
    InputError
        If there is no such library or command, something else is in the folder, it can't be made, or another run
        traces into it.
    RuntimeError
        If the tracing library can't be built.
    """
    if missing := missing_tools():
        raise InputError("tramontane trace", "", None, "g++ and cmake", problem=f"{' and '.join(missing)} not found")
    library = library_of_launcher(command[0], environment)
    if find_command(command[0]) is None:
        raise InputError("tramontane trace", "", command[0], _STARTER)
    with (
        unwinding_when_ended(),
        _emptied(folder),
        tempfile.TemporaryDirectory(prefix="mpi-", ignore_cleanup_errors=True) as sessions,
    ):
        tracer = build_tracer(library)
        variables = {**dict.fromkeys(SESSIONS, sessions), **library.variables, **os.environ}
        ours = _preloaded(tracer, folder, strip=strip)
        status = _run(_handing_on(command, library, ours), variables | ours)
        return status, any(folder.iterdir())


@contextlib.contextmanager
def _emptied(folder: Path) -> Iterator[None]:
    """Make the folder of a trace, or lay an older trace in it aside; undo either if no rank has written anything."""
    new: list[Path] = []
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: _remove_empty(new))
        try:
            new += [part for part in (folder, *folder.parents) if not part.exists()]
            if not new and not (folder.is_dir() and all(map(is_named_as_part, folder.iterdir()))):
                raise InputError("--output", "", str(folder), "a new folder, or one with nothing but a trace")
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(_alone(folder))
            if (left := laid_aside(folder)) is not None:
                told = "has an older trace, which a run that was killed has left there"
                print(f"{display_path(left)} {told}", file=sys.stderr)
            if any(folder.iterdir()):
                aside = stack.enter_context(folder_beside(folder.resolve()))
                _move_parts(folder, aside)
                stack.callback(_move_back, aside, folder)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            problem = f"found '{folder}': {error.strerror}"
            raise InputError("--output", "", None, "a place to write to", problem=problem) from None
        yield


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a folder: a run would lay aside, as an older trace, what another one is writing there."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            problem = f"another run traces into '{folder}'"
            raise InputError("--output", "", None, "another folder, or to wait for its end", problem=problem) from None
        except OSError:  # of a network, without such locks
            pass
        yield
    finally:
        os.close(descriptor)


def _move_parts(where: Path, to: Path) -> None:
    """Move all files from one folder to another one, or none."""
    moved: list[Path] = []
    try:
        for part in list(where.iterdir()):
            moved.append(part.rename(to / part.name))
    except BaseException:
        for part in moved:
            part.rename(where / part.name)
        raise


def _move_back(aside: Path, folder: Path) -> None:
    if not any(folder.iterdir()):
        _move_parts(aside, folder)


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


def _handing_on(command: list[str], library: Library, variables: Iterable[str]) -> list[str]:
    """Return the command with which ranks on other hosts have the variables, too, or all would wait for these ranks.

    Open MPI hands on no others than its own, unless it is told so for each of the programs that it starts together.
    """
    launcher = find_command(command[0])
    assert launcher is not None
    in_a_list = any("mca_base_env_list" in word for word in (*command, *os.environ))  # Open MPI takes either form
    if in_a_list or Path(launcher).resolve() != Path(library.mpirun[0]).resolve():
        return command
    version = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False).stdout
    if not any(name in version for name in ("(OpenRTE)", "(Open MPI)")):  # release 4, and from 5 on
        return command
    options = [word for name in variables for word in ("-x", name)]
    return [command[0], *options, *(part for word in command[1:] for part in (word, *(options if word == ":" else ())))]


def _run(command: list[str], variables: dict[str, str]) -> int:
    # To be asked to end waits until we hear of it: Python ignores exceptions of what it does around a fork.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def begin() -> None:
        end_with_parent(signal.SIGTERM)  # a launcher takes its ranks with it
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    try:
        started = subprocess.Popen(command, env=variables, preexec_fn=begin)  # noqa: PLW1509 (one thread)
    except OSError as error:  # such as a script without the line that says what runs it
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        problem = f"found '{command[0]}': {error.strerror}"
        raise InputError("tramontane trace", "", None, _STARTER, problem=problem) from None
    with started as process:
        while True:
            try:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                return process.wait()
            except KeyboardInterrupt:  # the program has got it, too, and what it has done by then is in the trace
                process.send_signal(signal.SIGINT)
            except SystemExit:  # we are asked to end, and the program has not heard of it
                process.terminate()
                raise
