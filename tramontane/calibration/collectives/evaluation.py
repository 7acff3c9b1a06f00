"""Times of points by the simulator, each kept in a file as soon as it is there: what is killed goes on where it was."""

import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TextIO

import numpy as np

from tramontane.calibration.collectives.parameters import Values
from tramontane.study import Point
from tramontane.substrates.simulator import Simulator
from tramontane.support.formatting import roughly

#: Seconds between two lines of progress; on a terminal the line changes.
PLAIN, LIVE = 30.0, 0.2
CLEAR = "\r\x1b[K"
"""Has a terminal forget its line."""


class Simulations:
    """Runs points, those only that the file does not have from the same build of the simulator.

    Parameters
    ----------
    file : Path
        A line for each point: its identity and its time [s].
    cores : int
        Points at a time. The extension runs without Python's lock, so that threads will do.
    stream : text stream, optional
        Gets the progress; standard error by default.
    """

    def __init__(self, file: Path, cores: int, stream: TextIO | None = None) -> None:
        self._simulator = Simulator()
        self._file = file
        self._cores = cores
        self._stream = stream or sys.stderr
        self._shown = time.monotonic()
        self._known = _read(file, self._simulator.build())
        self.ran = 0

    def times(self, points: Sequence[Point], doing: str) -> Values:
        """Return the times of points [s]; `doing` says in the progress what they are for."""
        wanted = {point.id: point for point in points}
        missing = {identity: point for identity, point in wanted.items() if identity not in self._known}
        if missing:
            self._run(missing, doing)
        return np.array([self._known[point.id] for point in points])

    def _run(self, missing: dict[str, Point], doing: str) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        build, begun = self._simulator.build(), time.monotonic()
        with self._file.open("a", encoding="utf-8") as kept, ThreadPoolExecutor(self._cores) as pool:
            waiting = {pool.submit(self._simulator.run, point): identity for identity, point in missing.items()}
            try:
                for done, future in enumerate(as_completed(waiting), 1):
                    identity, seconds = waiting[future], float(future.result()["time_s"])
                    self._known[identity] = seconds
                    kept.write(json.dumps([build, identity, seconds]) + "\n")
                    self.ran += 1
                    left = (time.monotonic() - begun) / done * (len(missing) - done)
                    self._show(f"{doing}: {done} of {len(missing)} simulations, {roughly(left)} left")
            finally:
                pool.shutdown(cancel_futures=True)
                if self._stream.isatty():
                    self._stream.write(CLEAR)

    def _show(self, line: str) -> None:
        live = self._stream.isatty()
        if time.monotonic() - self._shown >= (LIVE if live else PLAIN):
            self._shown = time.monotonic()
            self._stream.write(f"{CLEAR}{line}" if live else f"{line}\n")
            self._stream.flush()


def _read(file: Path, build: str) -> dict[str, float]:
    """Return the times in a file; a line that a kill has cut is left out."""
    found = {}
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                own, identity, seconds = json.loads(line)
            except ValueError:
                continue
            if own == build:
                found[identity] = seconds
    return found
