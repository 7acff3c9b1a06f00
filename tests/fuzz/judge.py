"""Gives an input to what reads it, and says what is wrong with the answer: a traceback, several lines, too long."""

import contextlib
import io
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tramontane import cli
from tramontane.campaign.selection import choose
from tramontane.comparison.execution import PointOutcome
from tramontane.comparison.measured import Options, compare
from tramontane.errors import InputError
from tramontane.results.manifest import manifest
from tramontane.study import expand, load_experiment, validate_file

SECONDS = 2.0
"""Processor time that a bad input may take on a machine that does nothing else."""


@dataclass(frozen=True)
class Answer:
    """What became of an input.

    Attributes
    ----------
    line : str or None
        The line that refuses it; None: it was accepted.
    fault : str or None
        What is wrong with the answer.
    """

    line: str | None
    fault: str | None


def ask(read: Callable[[], object]) -> Answer:
    """Call what reads an input, and judge."""
    started, line, fault = time.process_time(), None, None
    try:
        read()
    except InputError as error:
        line = str(error)
        if len(line.splitlines()) != 1 or "allowed: " not in line or not line.isprintable():
            fault = f"no plain line: {line!r}"
        elif len(line) > 4000:
            fault = f"a line of {len(line)} characters"
    except Exception as error:  # whatever it is, it is the finding
        fault = f"{type(error).__name__}: {error}"[:300]
    seconds = time.process_time() - started
    if fault is None and line is not None and seconds > SECONDS:
        fault = f"{seconds:.1f} s of processor time"
    return Answer(line, fault)


def file(path: Path) -> Answer:
    """Judge a file as `tramontane validate` reads it."""
    return ask(lambda: validate_file(path))


def table(path: Path, root: Path) -> Answer:
    """Judge a table of measured points as `tramontane compare` reads it; nothing is run."""
    return ask(lambda: compare(path, root, Options(), lambda points: dict.fromkeys(points, PointOutcome(1.0))))


class Where:
    """Judges expressions as `--where` takes them, against one experiment."""

    def __init__(self, experiment: Path) -> None:
        loaded = load_experiment(experiment)
        self._manifest = manifest(loaded, expand(loaded, "smoke"), 2)

    def __call__(self, text: str) -> Answer:
        """Judge one."""
        return ask(lambda: choose([self._manifest], text))


def command(words: list[str]) -> Answer:
    """Judge a command line, run in this process: exit status 0 or 2, and one line on standard error if 2."""
    out, err, status = io.StringIO(), io.StringIO(), 0

    def run() -> None:
        nonlocal status
        before, sys.argv = sys.argv, ["tramontane", *words]
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                cli.main()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 1
        finally:
            sys.argv = before

    answer = ask(run)
    told = err.getvalue().strip()
    if answer.fault is None and status not in (0, 2):
        return Answer(None, f"exit status {status}: {told[:200]}")
    if answer.fault is None and status == 2 and not told:
        return Answer(None, "exit status 2 without a word")
    return Answer(told if status == 2 else None, answer.fault)
