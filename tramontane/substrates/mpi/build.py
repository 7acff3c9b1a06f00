"""Builds the skeleton program, and the library that traces programs, with an MPI library, on demand and once.

They are in ``build/mpi-<environment>/`` and ``build/trace-<environment>/``, with an environment of another system than
`generic` in ``build/mpi-<system>+<environment>/`` and so on.

Where Spack is to build (`tramontane.substrates.spack`), a link to the program of its environment stands there instead.

By hand: ``python -m tramontane.substrates.mpi.build openmpi``, with the name of an environment of the system `generic`;
for another system, as ReFrame does, with the name, its compiler and the system.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tramontane.errors import display_path
from tramontane.study.points.points import DEFAULT_SYSTEM, SystemChoice
from tramontane.substrates import spack
from tramontane.substrates.building import digest, told
from tramontane.substrates.mpi import program
from tramontane.substrates.mpi.libraries import Library, find_command, library_of
from tramontane.support.layout import BUILDS, SHARE
from tramontane.support.processes import print_outcome

#: Files that are compiled at once.
JOBS = "2"

#: What CMake calls the file of each target.
_FILES = {program.NAME: program.NAME, program.TRACER: f"lib{program.TRACER}.so"}


def missing_tools() -> list[str]:
    """Return what is needed to build and is not there."""
    compilers = ("c++", "g++", "clang++")
    tools = [] if any(map(find_command, compilers)) else ["a C++ compiler"]
    return [*tools, *(["cmake"] if find_command("cmake", own_first=True) is None else [])]


def folder_of(environment: str, system: str = DEFAULT_SYSTEM, what: str = "mpi") -> Path:
    """Return the folder that the program is built in: no two environments share one, as no name holds a ``+``."""
    return Path(BUILDS, f"{what}-{environment if system == DEFAULT_SYSTEM else f'{system}+{environment}'}")


def build_program(library: Library) -> Path:
    """Return the program built with `library`, as `build_with` does."""
    return build_with(library.name, library.compiler, library.system)


def build_with(environment: str, compiler: str, system: str = DEFAULT_SYSTEM) -> Path:
    """Return the program built with a compiler; it is built if it is not there or its sources have changed.

    Everything that builds it comes here, ReFrame too, so that no two build at once in one folder.

    Parameters
    ----------
    environment : str
        The name of the environment, which names the folder.
    compiler : str
        The C++ compiler wrapper of the MPI library, with path.
    system : str
        The environment's system.

    Raises
    ------
    RuntimeError
        If that fails; the message names the log.
    """
    return _built(folder_of(environment, system), program.NAME, environment, compiler)


def build_tracer(library: Library) -> Path:
    """Return the library that traces programs of `library`, built as `build_program` does; RuntimeError likewise."""
    return _built(folder_of(library.name, library.system, "trace"), program.TRACER, library.name, library.compiler)


def _built(folder: Path, name: str, environment: str, compiler: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    made, stamp = folder / _FILES[name], folder / "built-from"
    with Path(folder, ".lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several points may want it at once
        if spack.asked() and name == program.NAME:
            return _from_spack(made, stamp)
        wanted = _digest(compiler, name)
        there = made.is_file() and not made.is_symlink() and stamp.exists()
        if not (there and stamp.read_text(encoding="ascii") == wanted):
            for old in (stamp, made):  # which may be a link to Spack's
                old.unlink(missing_ok=True)
            with told(f"{name} with {environment}"):
                _cmake(compiler, folder, name)
            stamp.write_text(wanted, encoding="ascii")
    return made


def _from_spack(executable: Path, stamp: Path) -> Path:
    """Link to the program of Spack's environment, which is installed if it is not; sources are Spack's business."""
    made = spack.find(program.NAME, SHARE)
    if made is None:
        spack.install(SHARE)
        made = spack.find(program.NAME, SHARE)
    if made is None:
        where = spack.environment(SHARE)
        raise RuntimeError(f"{program.NAME} is not in the view of Spack's environment {where}: add tramontane-skeleton")
    stamp.unlink(missing_ok=True)
    executable.unlink(missing_ok=True)
    executable.symlink_to(made)
    return executable


#: Environment variables that CMake heeds.
_FLAGS = ("CMAKE_BUILD_TYPE", "CXXFLAGS")


def _cmake(compiler: str, folder: Path, name: str) -> None:
    cmake = str(find_command("cmake", own_first=True))
    options = {
        "TRAMONTANE_MPI": "ON",
        "TRAMONTANE_EXTENSION": "OFF",
        "TRAMONTANE_TESTS": "OFF",
        "TRAMONTANE_LTO": "OFF",  # of one file, there is nothing to optimise across
        "CMAKE_UNITY_BUILD": "ON",  # headers, which most files share, take most of the time
        "CMAKE_BUILD_TYPE": os.environ.get("CMAKE_BUILD_TYPE", "Release"),
        "MPI_CXX_COMPILER": compiler,
    }
    definitions = [f"-D{key}={value}" for key, value in options.items()]
    # A compiler that has changed since would otherwise stay in the cache; `--fresh` is not known before CMake 3.24.
    Path(folder, "CMakeCache.txt").unlink(missing_ok=True)
    shutil.rmtree(folder / "CMakeFiles", ignore_errors=True)
    log = folder / "build.log"
    with log.open("w", encoding="utf-8") as stream:
        for command in (
            [cmake, "-S", str(SHARE), "-B", str(folder), *definitions],
            [cmake, "--build", str(folder), "--target", name, "--parallel", JOBS],
        ):
            done = subprocess.run(command, stdout=stream, stderr=subprocess.STDOUT, check=False)
            if done.returncode != 0:
                raise RuntimeError(f"building {name} with {compiler} failed; see {display_path(log)}")


def _digest(compiler: str, name: str = program.NAME) -> str:
    """Return what the program, or the tracing library, depends on, in 16 hex digits."""
    flags = [os.environ[name] for name in _FLAGS if os.environ.get(name)]
    sources = program.tracer_sources() if name == program.TRACER else [*program.sources(), *program.headers()]
    return digest([SHARE / "CMakeLists.txt", *sources], [compiler, *flags])


def provenance(library: Library, executable: Path) -> dict[str, str]:
    """Return how the program was built, for the record of a result."""
    package = spack.origin(executable)
    if package:
        return {"by": package}
    return {"by": spack.CMAKE, "compiler": library.compiler, "sources": _digest(library.compiler)}


def _compiler(environment: str, named: list[str]) -> str:
    """Return the compiler wrapper that is named, with its path, or that of an environment of the system `generic`.

    Raises
    ------
    ValueError
        If it is not here.
    """
    if not named:
        return library_of(SystemChoice(name=DEFAULT_SYSTEM, environment=environment)).compiler
    path = find_command(named[0])
    if path is None:
        raise ValueError(f"environment {environment}: there is no compiler {named[0]}")
    return path


def main(arguments: list[str]) -> int:
    """Build with the environment that is named; return the exit status."""
    if len(arguments) not in {1, 3}:
        print("usage: python -m tramontane.substrates.mpi.build ENVIRONMENT [COMPILER SYSTEM]", file=sys.stderr)
        return 2
    environment, *named = arguments
    return print_outcome(lambda: build_with(environment, _compiler(environment, named), *named[1:]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
