"""What is compiled for SST/macro, checked by a compiler where SST/macro is not installed: against a stand-in of it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = sorted((ROOT / "sstmacro").glob("*.cpp"))
PROGRAM = [*sorted((ROOT / "skeleton-src").glob("*.cpp")), *sorted((ROOT / "skeleton-src" / "executor").glob("*.cpp"))]
#: MPI functions that release 16 has no code for, of those that other MPI libraries run the program with.
LACKING = (
    "MPI_Comm_split_type MPI_Dist_graph_create_adjacent MPI_Fetch_and_op MPI_Get_library_version MPI_Accumulate "
    "MPI_Neighbor_allgather MPI_Neighbor_alltoallv MPI_Ineighbor_alltoallv MPI_Win_allocate MPI_Win_complete "
    "MPI_Win_fence MPI_Win_flush_all MPI_Win_lock_all MPI_Win_post MPI_Win_start MPI_Win_sync MPI_Win_unlock_all "
    "MPI_Win_wait"
)
#: Its MPI as far as it is another one's; and what else it gives a program.
MPI = f"""
#pragma once
#define MPI_Get_version MPI_Get_version_of_the_library
#define MPI_Get_processor_name MPI_Get_processor_name_of_the_library
#include_next <mpi.h>
const char* sstmac_getenv(const char* variable);
int sstmac_fsleep(double seconds);
#pragma GCC poison {LACKING}
"""


def check(compiler: str, sources: list[Path], *options: str) -> None:
    """Let a compiler read all of them as one."""
    unit = "".join(f'#include "{source}"\n' for source in sources)
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *options, "-xc++", "-"]
    done = subprocess.run(command, input=unit, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_plug_in_compiles_against_a_stand_in(tmp_path: Path) -> None:
    stand_in = Path(__file__).with_name("sstmacro_stand_in.hpp")
    texts = [path.read_text() for path in (ROOT / "sstmacro").glob("*.?pp")]
    names = {name for text in texts for name in re.findall(r"#include <((?:sstmac|sprockit|sumi)\S*)>", text)}
    assert names
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f'#include "{stand_in}"\n')
    folders = [tmp_path, ROOT / "simulator", ROOT / "skeleton-src"]
    check(os.environ.get("CXX", "c++"), PLUGIN, *(f"-I{folder}" for folder in folders))


@pytest.mark.skipif(shutil.which("mpicxx") is None, reason="no MPI library is installed")
def test_the_program_calls_nothing_that_sstmacro_lacks(tmp_path: Path) -> None:
    (tmp_path / "mpi.h").write_text(MPI)
    hooks = ROOT / "sstmacro" / "skeleton_hooks.hpp"
    defined = ['-DTRAMONTANE_VERSION="0"', "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    check("mpicxx", PROGRAM, *defined, f"-I{tmp_path}", f"-I{ROOT / 'skeleton-src'}", "-include", str(hooks))
