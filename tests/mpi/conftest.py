"""The skeleton program, built with each MPI library that is installed here."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.preload import preloaded
from tramontane.substrates.mpi import program
from tramontane.substrates.mpi.build import build_program, missing_tools
from tramontane.substrates.mpi.launch import Ended, start
from tramontane.substrates.mpi.libraries import INSTALL, Library, found

#: How to get the libraries that are tested; the first two are the ones that continuous integration has.
PACKAGES = {"openmpi": "apt-get install openmpi-bin libopenmpi-dev", "mpich": "apt-get install mpich libmpich-dev"}


#: MPICH 4 never gives its processor up. With more ranks than processors, a message that another rank has to see first
#: then waits for the end of a time slice. UCX, by which Debian's MPICH sends, is asked for news in each of its loops.
SLEEPS = """\
#include <unistd.h>
unsigned ucp_worker_progress(void* worker) {
    static unsigned (*ask)(void*);
    if (!ask) ask = NEXT(unsigned (*)(void*), "ucp_worker_progress");
    unsigned news = ask(worker);
    if (news == 0) usleep(20);
    return news;
}
"""


@dataclass(frozen=True)
class Program:
    library: Library
    path: Path

    def start(self, ranks: int, *arguments: str) -> Ended:
        return start(self.library, ranks, [str(self.path), *arguments])

    def __call__(self, ranks: int, line: str) -> dict[str, Any]:
        """Run it briefly and return what it prints."""
        done = self.start(ranks, *line.split(), "warmup=0", "repetitions=1", f"ranks={ranks}")
        assert done.status == 0, done.stderr
        printed = program.last_object(done.stdout)
        assert printed is not None
        return printed

    def complaint(self, ranks: int, words: list[str], fault: str) -> str:
        """Run it with wrong data, and return its one complaint of them."""
        done = self.start(ranks, *words, "warmup=0", "repetitions=1", f"fault={fault}")
        assert done.status == 1
        assert '"verified": false' in done.stdout
        (complaint,) = (line for line in done.stderr.splitlines() if line.startswith("tramontane-mpi: "))
        return complaint


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Program]:
    def find(name: str) -> Program:
        if missing_tools():
            pytest.skip(f"{', '.join(missing_tools())} not found")
        there = {library.name: library for library in found()}
        if name not in there:
            pytest.skip(f"no {name} found; installed by: {PACKAGES.get(name, INSTALL)}")
        library = there[name]
        path = build_program(library)
        if name == "mpich":
            variables = library.variables | preloaded(tmp_path_factory.mktemp("sleeps"), SLEEPS)
            library = replace(library, variables=variables)
        return Program(library, path)

    return find


@pytest.fixture(scope="session", params=PACKAGES)
def mpi(request: pytest.FixtureRequest, built: Callable[[str], Program]) -> Program:
    """Each library in turn."""
    return built(request.param)


@pytest.fixture(scope="session")
def any_mpi(built: Callable[[str], Program]) -> Program:
    """Whichever library there is."""
    there = found()
    if not there:
        pytest.skip(f"no MPI library found; installed by: {INSTALL}")
    return built(there[0].name)
