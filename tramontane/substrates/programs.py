"""Runs the programs of other simulators, with what they said, how long they took and the memory they needed."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tramontane.support.processes import end_with_parent


@dataclass(frozen=True)
class Finished:
    """A program that has ended.

    Attributes
    ----------
    status : int
        Its exit status; negative: the signal that ended it.
    output, errors : str
        What it printed.
    wall_s, cpu_s : float
        Wall time, and time of the processors [s].
    peak_rss_bytes : int
        Peak of memory of its largest process [B].
    """

    status: int
    output: str
    errors: str
    wall_s: float
    cpu_s: float
    peak_rss_bytes: int


def run_program(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Finished:
    """Run a program in `folder`, where it leaves its output; it ends with this process, however that ends."""
    said, complained = Path(folder, "stdout"), Path(folder, "stderr")
    begin = time.monotonic()
    with said.open("wb") as output, complained.open("wb") as errors:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            preexec_fn=lambda: end_with_parent(signal.SIGTERM),  # noqa: PLW1509 (one thread)
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Finished(
        process.returncode,
        said.read_text(encoding="utf-8", errors="replace"),
        complained.read_text(encoding="utf-8", errors="replace"),
        time.monotonic() - begin,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss * 1024,
    )


def complaint(done: Finished) -> str:
    """Return the line that most likely says why a program failed."""
    lines = [line.strip() for line in (done.errors + done.output).splitlines()]
    lines = [line for line in lines if line and not line.startswith("TRAMONTANE")]
    telling = [line for line in lines if "error" in line.lower() or "exception" in line.lower()]
    return (telling or lines or ["it said nothing"])[0]
