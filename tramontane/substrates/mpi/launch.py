"""Starts an MPI program and makes sure that it ends."""

import contextlib
import os
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tramontane.substrates.mpi.libraries import Library
from tramontane.support.processes import end_with_parent

#: Environment variable: after so many seconds a run counts as hung.
LIMIT = "TRAMONTANE_MPI_LIMIT"
_LIMIT_S = 600.0
_MOST_S = 1e6
_GRACE_S = 5.0
"""What a launcher gets to end its ranks before it is killed [s]."""
#: Environment variables that say below which folder a launcher keeps its files (Open MPI 4; PRRTE, from Open MPI 5 on).
#: Launchers share one by default, and one that ends removes it while another is about to use it.
SESSIONS = ("OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base")


@dataclass(frozen=True)
class Ended:
    """A run that has ended."""

    status: int
    stdout: str
    stderr: str


def limit() -> float:
    """Return how long a run may take [s]."""
    text = os.environ.get(LIMIT, "")
    try:
        seconds = float(text) if text else _LIMIT_S
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _MOST_S:
        raise ValueError(f"environment variable {LIMIT}: found '{text}', allowed: seconds, more than 0 to {_MOST_S:g}")
    return seconds


def start(library: Library, ranks: int, command: list[str]) -> Ended:
    """Run `command` on `ranks` ranks.

    Raises
    ------
    RuntimeError
        If it does not end within the limit; the launcher and all ranks are stopped then.
    """
    whole = [*library.mpirun, str(ranks), *command]
    seconds = limit()
    # Files, not pipes: a rank that outlives its launcher must not keep us waiting for the end of a pipe. It may still
    # write while the folder is removed. The name is short, because the length of sockets' names below it is bounded.
    with tempfile.TemporaryDirectory(prefix="mpi-", ignore_cleanup_errors=True) as scratch:
        out, err = Path(scratch, "out"), Path(scratch, "err")
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(
                whole,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env={**os.environ, **dict.fromkeys(SESSIONS, scratch), **library.variables},
                start_new_session=True,
                preexec_fn=lambda: end_with_parent(signal.SIGTERM),  # noqa: PLW1509 (there are no threads)
            )
            try:
                status = process.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                _stop(process)
                name = Path(library.mpirun[0]).name
                raise RuntimeError(
                    f"{name} with {ranks} ranks did not end within {seconds:g} s and was stopped; "
                    f"{LIMIT} sets another limit"
                ) from None
            except BaseException:
                _stop(process)
                raise
        return Ended(status, _text(out), _text(err))


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """End a launcher, which ends its ranks if it is asked kindly; then whatever is left of its session."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=_GRACE_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
