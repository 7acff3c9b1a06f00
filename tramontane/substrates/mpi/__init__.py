"""The skeleton program on a real machine: real buffers, every element verified (docs/mpi.md)."""

import re
import time
from typing import Any

from tramontane.study.patterns import patterns
from tramontane.study.points.points import Point
from tramontane.study.values.settings import filled
from tramontane.substrates.mpi import program
from tramontane.substrates.mpi.launch import start
from tramontane.substrates.mpi.libraries import INSTALL, Library, found, library_of

#: What the program says of an element that is not the one that was sent.
_WRONG = re.compile(r"^rank \d+ .*: found .*, expected ")


class Mpi:
    """Runs a point with an MPI library of the machine at hand."""

    name = "mpi"

    def available(self) -> str | None:
        """Return None, or what is missing to build and start MPI programs here."""
        from tramontane.substrates.mpi.build import missing_tools  # noqa: PLC0415 (as in run)

        if lacking := program.without_sources():
            return lacking
        if missing := missing_tools():
            return f"{' and '.join(missing)} not found; installed by: apt-get install g++ cmake"
        if not found():
            return f"no MPI library found; installed by: {INSTALL}"
        return None

    def revision(self, point: Point) -> int | None:
        """Return None: there is no model."""

    def compiler(self) -> str | None:
        """Return None: results name the MPI library they were measured with."""

    def builder(self) -> None:
        """Return None: results say what built the program they were measured with."""

    def refusal(self, point: Point) -> None:
        """Return None: what a system can't run shows when the program is built and started."""

    def run(self, point: Point) -> dict[str, Any]:
        """Measure a point on its system; see :class:`tramontane.substrates.Substrate`.

        Raises
        ------
        ValueError
            If the system, or the MPI library, can't run the point.
        RuntimeError
            If the program can't be built, does not end, or data arrive wrong.
        """
        # Not above: `python -m` runs that module, and warns where this package has imported it already.
        from tramontane.substrates.mpi.build import build_program, provenance  # noqa: PLC0415

        library = library_of(filled(point.system))
        begin = time.monotonic()
        executable = build_program(library)
        built = time.monotonic()
        measured = measure(library, executable, point.ranks, program.arguments(point))
        here = {
            "wall_s": time.monotonic() - built,
            "setup_s": built - begin,
            "build": provenance(library, executable),
        }
        return {**result_of(point, measured, {"name": library.system, "environment": library.name}), **here}


def result_of(point: Point, measured: dict[str, Any], where: dict[str, str]) -> dict[str, Any]:
    """Return the result of a point, but for how long it took to get it.

    Parameters
    ----------
    point : Point
        The point.
    measured : dict
        What the program printed.
    where : dict
        Names of the system and of the environment, for those who look at the result later.
    """
    if "workload" in measured:
        measured = measured | {"workload": patterns.by_digest(measured["workload"])}
    return {
        "substrate": Mpi.name,
        **program.outcome(measured),
        "packets": None,
        "hops": None,
        "imbalance": point.imbalance,
        "system": where,
        "measurement": measured,
    }


def measure(library: Library, executable: Any, ranks: int, arguments: list[str]) -> dict[str, Any]:
    """Start the program and return what it prints.

    Raises
    ------
    ValueError
        If the program refuses its arguments.
    RuntimeError
        If it fails, does not end in time, or reports wrong data.
    """
    done = start(library, ranks, [str(executable), *arguments, f"ranks={ranks}"])
    complaint = program.complaint(done.stderr)
    # MPICH's launcher adds 1 to the status where it has had to end another process.
    if done.status in (2, 3) and complaint and not _WRONG.search(complaint):
        raise ValueError(complaint)
    printed = program.last_object(done.stdout)
    if complaint and _WRONG.search(complaint):
        raise RuntimeError(f"data arrived wrong: {complaint}")
    if done.status != 0 or printed is None:
        said = complaint or program.first_line(done.stderr) or "it said nothing"
        raise RuntimeError(f"{library.mpirun[0]} ended with status {done.status}: {said}")
    return printed
