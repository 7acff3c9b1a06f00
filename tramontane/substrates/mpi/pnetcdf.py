"""Writes and reads NetCDF files by PnetCDF, each rank by itself or one of a group for all of it (docs/mpi.md).

``python -m tramontane.substrates.mpi.pnetcdf RANKS do=write form=grouped group=6 file=grid.nc`` builds the program, on
demand and once, in ``build/pnetcdf/``, and runs it. Other keys: `cells`, `levels`, `variables`, `run` and `fault`.
"""

import contextlib
import glob
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tramontane.study.points.points import DEFAULT_SYSTEM, SystemChoice
from tramontane.substrates.building import digest, link, once, options
from tramontane.substrates.mpi.launch import Ended, start
from tramontane.substrates.mpi.libraries import Library, library_of
from tramontane.substrates.mpi.program import complaint, first_line, headers, last_object
from tramontane.support.layout import BUILDS, SHARE
from tramontane.support.processes import print_outcome

NAME = "tramontane-pnetcdf"
ENVIRONMENT = "openmpi"
"""The MPI library that Debian's PnetCDF is built with; two in one program do not work."""
UNFINISHED = ".part"
"""Ends the name of a file that is not whole yet (skeleton-src/pnetcdf/main.cpp)."""
INSTALL = "apt-get install libpnetcdf-dev"


def sources() -> list[Path]:
    """Return the files that are compiled into the program."""
    return sorted(Path(SHARE, "skeleton-src", "pnetcdf").glob("*.cpp"))


def missing(library: Library) -> str | None:
    """Return None, or what is missing to build the program."""
    asked = [library.compiler, "-E", "-x", "c++", "-include", "pnetcdf.h", "/dev/null"]
    done = subprocess.run(asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return None if done.returncode == 0 else f"no PnetCDF found; installed by: {INSTALL}"


def build(library: Library) -> Path:
    """Return the program; it is built if it is not there or its sources have changed.

    Raises
    ------
    ValueError
        If PnetCDF is not here.
    RuntimeError
        If building fails.
    """
    lacking = missing(library)
    if lacking:
        raise ValueError(lacking)
    asked = [*options(), "-DOMPI_SKIP_MPICXX", f"-I{SHARE / 'skeleton-src'}"]
    folder = Path(BUILDS, "pnetcdf", digest([*sources(), *headers()], [library.compiler, *asked]))
    made = once(folder, lambda empty: link(library.compiler, asked, sources(), ["-lpnetcdf", "-o", NAME], empty))
    return (made / NAME).absolute()


def run(ranks: int, arguments: list[str]) -> dict[str, Any]:
    """Run the program and return what it prints.

    Raises
    ------
    ValueError
        If something is missing, or the program refuses its arguments, a disk without room among them.
    RuntimeError
        If it can't be built, fails, does not end, or finds values that nobody wrote.
    """
    library = library_of(SystemChoice(name=DEFAULT_SYSTEM, environment=ENVIRONMENT))
    built = build(library)
    try:
        done = start(library, ranks, [str(built), *arguments])
    except BaseException:
        _remove_unfinished(arguments)
        raise
    printed = last_object(done.stdout)
    if done.status == 0 and printed is not None:
        return printed
    said = complaint(done.stderr, NAME)
    if said and done.status == 2:
        raise ValueError(said)
    _remove_unfinished(arguments)
    raise RuntimeError(said or f"{NAME} {_how(done)}")


def _how(done: Ended) -> str:
    """Return how a run ended that said nothing itself; launchers return 128 and the signal that ended a rank."""
    number = done.status - 128 if done.status > 128 else -done.status
    if number in set(signal.Signals):
        return f"was ended by {signal.Signals(number).name}"
    return f"ended with status {done.status}: {first_line(done.stderr) or 'it said nothing'}"


def _remove_unfinished(arguments: list[str]) -> None:
    """Remove what a program that was stopped, or crashed, could not remove itself."""
    given = dict(word.split("=", 1) for word in arguments if "=" in word)
    if given.get("do") == "write" and "file" in given:
        unfinished = Path(given["file"] + UNFINISHED)
        # Beside it is what Open MPI's OMPIO keeps for each rank, where there is no ROMIO.
        names = [f"{glob.escape(unfinished.name)}{end}" for end in ("", ".data.*", ".metadata.*")]
        for left in [path for name in names for path in unfinished.parent.glob(name)]:
            with contextlib.suppress(OSError):  # which is not what the user has to know
                left.unlink()


def main(arguments: list[str]) -> int:
    """Run with the ranks and keys that are given; return the exit status."""
    if not arguments or not arguments[0].isdecimal() or int(arguments[0]) < 1:
        print("usage: python -m tramontane.substrates.mpi.pnetcdf RANKS KEY=VALUE...", file=sys.stderr)
        return 2
    return print_outcome(lambda: json.dumps(run(int(arguments[0]), arguments[1:])))


if __name__ == "__main__":
    # Asked to end, it stops the ranks and removes their file, as when it is interrupted.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    sys.exit(main(sys.argv[1:]))
