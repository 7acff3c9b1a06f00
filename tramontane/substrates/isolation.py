"""Runs each point in a process of its own.

A point that crashes, deadlocks or is killed for its memory takes nothing else with it, and the peak of memory that is
reported is the point's own. Two ways lead there: :func:`run_forked` for commands, whose processes are small and single
threaded, so that a fork costs milliseconds and ten thousand points no more than a minute; and :func:`run_fresh` for
Python programs of others, which may have threads, and much in memory that would count as the point's.
"""

import json
import math
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from tramontane.errors import InputError, refused_by_system
from tramontane.substrates import Gatherer, Substrate, Tell, building
from tramontane.support.processes import end_with_parent, processor_time, python

if TYPE_CHECKING:
    from tramontane.study.points.points import Point

T = TypeVar("T")

#: The message of a point that was refused memory.
OUT_OF_MEMORY = "out of memory"


class PointError(Exception):
    """A point did not run to its end; the message is one line."""


class PointMistakeError(PointError):
    """A point did not run to its end because of what it was given.

    Attributes
    ----------
    mistake : InputError
        That.
    """

    def __init__(self, mistake: InputError) -> None:
        super().__init__(str(mistake))
        self.mistake = mistake


class PointKilledError(PointError):
    """Its process was killed, as the system does where memory lacks: tried again, it may well run."""


def run_forked(
    point: "Point", substrate: Substrate, meanwhile: AbstractContextManager[object] | None = None
) -> dict[str, Any]:
    """Run `point` in a fork of this process, which waits `meanwhile`.

    Raises
    ------
    PointError
        If the point can't be executed, fails, or its process dies.
    """

    def wait(stream: BinaryIO) -> bytes:
        with meanwhile or nullcontext():  # entered behind the fork: it may start a thread
            return stream.read()

    answer, status = forked(lambda stream: stream.write(_answer(point, substrate)), wait)
    return _understand(answer, status)


def run_forked_together(points: "Sequence[Point]", substrate: Gatherer, tell: Tell) -> str:
    """Run `points` at once in a fork of this process; those of which nothing was told are to be run by themselves.

    Returns
    -------
    str
        What ended all of them; empty where each came to an end of its own.
    """

    def run(stream: BinaryIO) -> None:
        begun, processor = time.monotonic(), processor_time()

        def write(number: int, result: dict[str, Any] | None) -> None:
            if result is not None:
                share = (result["setup_s"] + result["wall_s"]) / (time.monotonic() - begun)
                cost = {"peak_rss_bytes": peak_memory(), "cpu_s": share * (processor_time() - processor)}
                result = {**cost, **result}
            stream.write(json.dumps([number, result], allow_nan=False).encode() + b"\n")
            stream.flush()

        try:
            substrate.run_together(points, write)
        except Exception as error:
            stream.write(json.dumps(what_went_wrong(error)).encode() + b"\n")

    def read(stream: BinaryIO) -> str:
        why = ""
        for line in stream:
            if not line.endswith(b"\n"):  # its writer was killed
                break
            told = json.loads(line)
            if isinstance(told, str):
                why = told
            else:
                tell(*told)
        return why

    why, status = forked(run, read)
    return ended_by_signal(-status) if status < 0 else why


def forked(run: Callable[[BinaryIO], Any], read: Callable[[BinaryIO], T]) -> tuple[T, int]:
    """Do something in a fork of this process; return what is made of what it writes, and its exit status."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _be_the_child(run, writing)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as stream:
            found = read(stream)
        _, status = os.waitpid(child, 0)
    except BaseException:
        # Interrupted: leave no process behind.
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    return found, os.waitstatus_to_exitcode(status)


def run_fresh(point: "Point", substrate: Substrate) -> dict[str, Any]:
    """Run `point` in a new interpreter; see :func:`run_forked`."""
    # Pickled, not in canonical form: a comparison's points need not be what a user's must.
    request = pickle.dumps((point, substrate))
    done = subprocess.run(python("tramontane.substrates.isolation"), input=request, stdout=subprocess.PIPE, check=False)
    return _understand(done.stdout, done.returncode)


def peak_memory() -> int:
    """Return the most memory this process has held at any time [B].

    ``VmHWM`` starts anew with each process, which ``ru_maxrss`` does not: it remembers the parent's.
    """
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    import resource  # noqa: PLC0415

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _be_the_child(run: Callable[[BinaryIO], Any], writing: int) -> None:
    """Run something that tells the parent, and end without running the parent's exit handlers."""
    status = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        end_with_parent(signal.SIGKILL)
        with os.fdopen(writing, "wb") as stream:
            run(stream)
        status = 0
    finally:
        os._exit(status)


def _answer(point: "Point", substrate: Substrate) -> bytes:
    """Return the outcome of a run as JSON: ``{"result": ...}``, ``{"error": ...}`` or ``{"mistake": ...}``."""
    outcome: dict[str, Any]
    try:
        begun = processor_time() - building.spent()
        result = substrate.run(point)
        _check(result)
        # A substrate whose simulation is a program of its own reports that one's memory.
        cost = {"peak_rss_bytes": peak_memory(), "cpu_s": processor_time() - building.spent() - begun}
        outcome = {"result": {**cost, **result}}
        return json.dumps(outcome, allow_nan=False).encode()
    except InputError as error:
        outcome = {"mistake": {"source": str(error.source), "key": error.key, "found": None, "allowed": error.allowed}}
        outcome["mistake"] |= {"problem": error.problem, "hint": error.hint}
    except Exception as error:
        outcome = {"error": what_went_wrong(error)}
    return json.dumps(outcome).encode()


def _check(result: dict[str, Any]) -> None:
    """Raise RuntimeError for a time that can be no time: programs of others, and clocks of machines, may err."""
    time_s = result.get("time_s", 0.0)
    if not (isinstance(time_s, int | float) and 0 <= time_s < math.inf):
        raise RuntimeError(f"{result.get('substrate', 'the substrate')} gave {time_s!r} as the time [s], which is none")


def what_went_wrong(error: Exception) -> str:
    """Return in one line why a point did not run."""
    if isinstance(error, MemoryError):
        return OUT_OF_MEMORY
    if isinstance(error, OSError):
        return refused_by_system(error)
    text = " ".join(f"{error}".split())
    # Of what is looked up, an error says the name alone.
    return f"{type(error).__name__}: {text}" if isinstance(error, LookupError) else text or type(error).__name__


def ended_by_signal(number: int) -> str:
    """Return what becomes of a process that a signal ends."""
    return f"its process was ended by signal {number} ({signal.Signals(number).name})"


def _understand(answer: bytes, status: int) -> dict[str, Any]:
    """Return the result in a child's answer, or raise what went wrong."""
    if status < 0:
        message = ended_by_signal(-status)
        if -status == signal.SIGKILL:
            raise PointKilledError(f"{message}; {OUT_OF_MEMORY}?")
        raise PointError(message)
    try:
        outcome: dict[str, Any] = json.loads(answer)
    except ValueError:
        raise PointError(f"its process ended with status {status} and without a result") from None
    if "mistake" in outcome:
        raise PointMistakeError(InputError(**outcome["mistake"]))
    if "error" in outcome:
        raise PointError(outcome["error"])
    result: dict[str, Any] = outcome["result"]
    return result


def main() -> None:
    """Read one request from standard input, answer on standard output."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # who asked says that it was stopped
    end_with_parent(signal.SIGKILL)
    sys.stdout.buffer.write(_answer(*pickle.loads(sys.stdin.buffer.read())))


if __name__ == "__main__":
    main()
