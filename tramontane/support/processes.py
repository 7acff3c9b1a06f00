"""How processes begin and end that work for others, and what they have cost."""

import contextlib
import ctypes
import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Literal, TypeVar

from tramontane.errors import InputError
from tramontane.support import host
from tramontane.support.progress_line import with_progress

T = TypeVar("T")
R = TypeVar("R")

FEW = 10
"""Files that one process has read before others have begun."""
MOST = 16
"""Processes that read together, at most: a machine with many cores is often shared."""

_PR_SET_PDEATHSIG = 1

#: What a pool needs beside its processes: two threads, and the process that keeps track of semaphores.
_OF_A_POOL = 3


def end_with_parent(number: int) -> None:
    """Ask Linux to send this process the signal `number` when the one that started it ends, however it ends.

    Otherwise a campaign that is killed outright would leave processes running that nobody waits for.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)


def python(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module in another interpreter.

    What lies in the working directory is not imported: a user's ``platform.py`` is not Python's.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def pool(
    number: int, prepare: Callable[[], object] | None = None, start: Literal["spawn", "fork"] = "spawn"
) -> ProcessPoolExecutor:
    """Return `number` processes for work, each of which calls `prepare` first, if that is given.

    They leave interruptions to this process, and end with it. Forks have all that it has imported, but only a process
    without threads can be forked.

    Raises
    ------
    OSError
        If the system grants no more processes or threads.
    """
    _check_granted(number + _OF_A_POOL)
    return ProcessPoolExecutor(number, mp_context=get_context(start), initializer=_begin, initargs=(prepare,))


def on_all_cores(read: Callable[[T], R], things: Sequence[T], what: str) -> list[R]:
    """Return what is read of each thing, in their order; shows a progress line.

    All cores read, up to sixteen. This process reads alone where there are so few things that these are read before
    others have begun, where the system grants it no others, and where it has threads, as in a notebook, and can't be
    forked.

    Parameters
    ----------
    read : callable
        A function that other processes find by its name; what it needs is imported.
    things : sequence
        For instance paths.
    what : str
        What is done, as the line says it.
    """
    workers = None
    if len(things) > FEW and (cores := min(host.cores(), MOST)) > 1 and threading.active_count() == 1:
        with contextlib.suppress(OSError):
            workers = pool(cores, start="fork")
    if workers is None:
        with with_progress(things, what) as asked:
            return [read(thing) for thing in asked]
    try:
        waiting = [workers.submit(read, thing) for thing in things]
        with with_progress(waiting, what) as asked:
            return [each.result() for each in asked]
    finally:
        workers.shutdown(wait=True, cancel_futures=True)


def _check_granted(number: int) -> None:
    """Raise OSError if the system refuses so many more threads or processes, which count alike.

    A pool that could begin in part only would tell it in tracebacks, or wait for ever.
    """
    end = threading.Event()
    started: list[threading.Thread] = []
    try:
        for _ in range(number):
            thread = threading.Thread(target=end.wait)
            thread.start()
            started.append(thread)
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, str(error)) from None
    finally:
        end.set()
        for thread in started:
            thread.join()


def _begin(prepare: Callable[[], object] | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent(signal.SIGKILL)
    if prepare:
        prepare()


def processor_time() -> float:
    """Return the processor time of this process and of the children it has waited for [s]."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def print_outcome(work: Callable[[], object]) -> int:
    """Print what `work` returns, or in one line what stopped it.

    Returns
    -------
    int
        The exit status of a small command: 0, 1 after a RuntimeError, 2 after a ValueError or InputError.
    """
    try:
        print(work())
    except (ValueError, InputError) as mistake:
        print(mistake, file=sys.stderr)
        return 2
    except RuntimeError as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0
