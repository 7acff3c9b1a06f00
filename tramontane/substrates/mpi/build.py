"""Builds the skeleton program with an MPI library, on demand and once: in ``build/mpi-<environment>/``.

By hand: ``python -m tramontane.substrates.mpi.build openmpi``, with the name of an environment of the system `generic`.
"""

import fcntl
import hashlib
import subprocess
import sys
from pathlib import Path

from tramontane.study.models import DEFAULT_SYSTEM
from tramontane.substrates.mpi import program
from tramontane.substrates.mpi.libraries import Library, find_command, library_of


def missing_tools() -> list[str]:
    """Return what is needed to build and is not there."""
    compilers = ("c++", "g++", "clang++")
    tools = [] if any(map(find_command, compilers)) else ["a C++ compiler"]
    return [*tools, *(["cmake"] if find_command("cmake") is None else [])]


def folder_of(library: Library) -> Path:
    """Return the folder that the program is built in."""
    return Path(program.ROOT, "build", f"mpi-{library.name}")


def build_program(library: Library) -> Path:
    """Return the program built with `library`; it is built if it is not there or its sources have changed.

    Raises
    ------
    RuntimeError
        If that fails; the message names the log.
    """
    folder = folder_of(library)
    folder.mkdir(parents=True, exist_ok=True)
    executable, stamp = folder / program.NAME, folder / "built-from"
    with Path(folder, ".lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several points may want it at once
        wanted = _digest(library)
        if not (executable.exists() and stamp.exists() and stamp.read_text(encoding="ascii") == wanted):
            stamp.unlink(missing_ok=True)
            _cmake(library, folder)
            stamp.write_text(wanted, encoding="ascii")
    return executable


def _cmake(library: Library, folder: Path) -> None:
    cmake = str(find_command("cmake"))
    options = {
        "TRAMONTANE_MPI": "ON",
        "TRAMONTANE_EXTENSION": "OFF",
        "TRAMONTANE_TESTS": "OFF",
        "CMAKE_BUILD_TYPE": "Release",
        "MPI_CXX_COMPILER": library.compiler,
    }
    definitions = [f"-D{key}={value}" for key, value in options.items()]
    log = folder / "build.log"
    with log.open("w", encoding="utf-8") as stream:
        for command in (
            # A compiler that has changed since would otherwise stay in the cache.
            [cmake, "--fresh", "-S", str(program.ROOT), "-B", str(folder), *definitions],
            [cmake, "--build", str(folder), "--target", program.NAME],
        ):
            done = subprocess.run(command, stdout=stream, stderr=subprocess.STDOUT, check=False)
            if done.returncode != 0:
                where = log.relative_to(program.ROOT)
                raise RuntimeError(f"building {program.NAME} with {library.compiler} failed; see {where}")


def _digest(library: Library) -> str:
    """Return what the program depends on, in 16 hex digits."""
    known = hashlib.sha256(f"{library.compiler}\0".encode())
    for file in (program.ROOT / "CMakeLists.txt", *program.sources(), *program.headers()):
        known.update(f"{file.name}\0".encode() + file.read_bytes() + b"\0")
    return known.hexdigest()[:16]


def provenance(library: Library) -> dict[str, str]:
    """Return how the program was built, for the record of a result."""
    return {"by": "cmake", "compiler": library.compiler, "sources": _digest(library)}


def main(arguments: list[str]) -> int:
    """Build with the environment that is named; return the exit status."""
    if len(arguments) != 1:
        print("usage: python -m tramontane.substrates.mpi.build ENVIRONMENT", file=sys.stderr)
        return 2
    try:
        print(build_program(library_of({"name": DEFAULT_SYSTEM, "environment": arguments[0]})))
    except ValueError as mistake:
        print(mistake, file=sys.stderr)
        return 2
    except RuntimeError as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
