"""What the regression checks run of PnetCDF: forms of `tramontane.substrates.mpi.pnetcdf`, and what a file is to hold.

``python -m tramontane.measurement.netcdf ENVIRONMENT COMPILER`` builds the program with an environment's compiler, on
demand and once, and prints where it is or, as no mistake, what is missing.
"""

import json
import sys
from pathlib import Path

import numpy as np

from tramontane.measurement.cases import SYSTEMS, tags
from tramontane.substrates.mpi import pnetcdf
from tramontane.substrates.mpi.libraries import Library, find_command
from tramontane.support.processes import print_outcome

#: The ranks of a check, which also have room where there are few cores.
RANKS = 4
#: Who calls PnetCDF: every rank, or the first of a group. The last of groups of three is smaller.
FORMS = {
    "blocking": ("form=blocking",),
    "nonblocking": ("form=nonblocking",),
    "collective": ("form=collective",),
    "groups-of-2": ("form=grouped", "group=2"),
    "groups-of-3": ("form=grouped", "group=3"),
}
#: ReFrame's tags: grouped reading and writing is what GRIST does.
SCALES, SYSTEM = tags("smoke", RANKS), SYSTEMS["W"]
#: What the program prints: where it is, or what is missing.
PROGRAM, LACKING = "program", "lacking"

_VALUE = np.dtype(">f8")
_BLOCK = 1 << 20


def program_of(environment: str, compiler: str) -> dict[str, str]:
    """Return where the program is, built if need be, or what is missing.

    Raises
    ------
    RuntimeError
        If building fails.
    """
    path = find_command(compiler)
    if path is None:
        return {LACKING: f"environment {environment}: there is no compiler {compiler}"}
    library = Library("", environment, path, (), {})
    lacking = pnetcdf.missing(library)
    return {LACKING: lacking} if lacking else {PROGRAM: str(pnetcdf.build(library))}


def wrong_in(file: Path, values: int) -> str:
    """Return what is wrong in a file, which is to end with 1, 2, ... as big-endian doubles; empty if nothing is."""
    size = values * _VALUE.itemsize
    header = file.stat().st_size - size if file.is_file() else -1
    if header < 0:
        return f"{file.name} does not hold {values} values"
    with file.open("rb") as stream:
        stream.seek(header)
        for first in range(1, values + 1, _BLOCK):
            wanted = np.arange(first, min(first + _BLOCK, values + 1), dtype=_VALUE)
            found = np.frombuffer(stream.read(wanted.nbytes), dtype=_VALUE)
            wrong = np.flatnonzero(found != wanted)
            if wrong.size:
                at = int(wrong[0])
                return f"value {first + at} of {file.name} is {found[at]:g}"
    return ""


def main(arguments: list[str]) -> int:
    """Build with the environment and the compiler that are named; return the exit status."""
    if len(arguments) != 2:
        print("usage: python -m tramontane.measurement.netcdf ENVIRONMENT COMPILER", file=sys.stderr)
        return 2
    return print_outcome(lambda: json.dumps(program_of(*arguments)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
