"""docs/your-application.md, followed to the letter: from mpirun to a map, a timeline and a critical path."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.mpi.conftest import Program
from tests.waiting import wait_for
from tramontane.errors import InputError
from tramontane.substrates.mpi import tracing

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "your-application.md").read_text(encoding="utf-8")
#: A model: steps of a halo on a ring, work and a sum.
MODEL = """
#include <mpi.h>
int main(int argc, char** argv) {
    static double halo[2][500];
    double sum = 0, own = 1;
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int step = 0; step < 20; ++step) {
        MPI_Sendrecv(halo[0], 500, MPI_DOUBLE, (rank + 1) % ranks, 1, halo[1], 500, MPI_DOUBLE,
                     (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (volatile int i = 0; i < 1000 * (rank + 1); ++i) own += i;
        MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
"""


def script(file: Path, *words: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'#!/bin/sh\nexec {" ".join(words)} "$@"\n')
    file.chmod(0o755)


@pytest.mark.slow
def test_ten_minutes_lead_to_a_map_a_timeline_and_a_path(any_mpi: Program, tmp_path: Path) -> None:
    library = any_mpi.library
    (tmp_path / "model.c").write_text(MODEL)
    compiler = [library.compiler, "-x", "c", "-O1", str(tmp_path / "model.c"), "-o", str(tmp_path / "model")]
    subprocess.run(compiler, check=True, capture_output=True)
    script(tmp_path / ".venv" / "bin" / "tramontane", sys.executable, "-m", "tramontane")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mpirun").symlink_to(str(shutil.which(library.mpirun[0])))
    environment = {**os.environ, **library.variables}
    environment["PATH"] = f"{tmp_path / 'bin'}:{environment['PATH']}"

    told = PAGE[PAGE.index("## Trace a program") : PAGE.index("This was tried with")]
    done = []
    for part in re.finditer(r"^```yaml\n# (\S+)\n(.*?)^```$|^    (\.venv/\S[^\n]*)$", told, re.MULTILINE | re.DOTALL):
        name, text, command = part.groups()
        if name:
            (tmp_path / name).write_text(text)
            continue
        words = ["sh", "-c", command]
        ran = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
        done.append((command.split()[1], ran))
    assert [command for command, _ in done] == ["trace", "run", "utilisation", "timeline", "critical-path"]
    said = dict(done)
    assert "8 ranks, " in said["trace"].stdout + said["trace"].stderr
    # 20 messages of 4000 B a rank, and three of 8 B for each sum by recursive doubling.
    assert json.loads(said["run"].stdout)["bytes"] == 8 * 20 * (4000 + 3 * 8)
    assert (tmp_path / "my-point-utilisation.png").stat().st_size > 10_000
    spans = json.loads((tmp_path / "my-timeline.json").read_text())["traceEvents"]
    assert {each["tid"] for each in spans if each["ph"] == "X"} == set(range(8))
    assert re.search(r"the critical path has \d+ parts, through \d of 8 ranks", said["critical-path"].stdout)


def test_a_launcher_ends_with_the_command_that_traces_it(tmp_path: Path) -> None:
    """However that ends: nobody is left who would read what the program does."""
    launcher = f"echo $$ > {tmp_path}/new && mv {tmp_path}/new {tmp_path}/launcher && exec sleep 600"
    program = (
        f"import os; from tramontane.substrates.mpi import tracing; tracing._run({['sh', '-c', launcher]}, os.environ)"
    )
    command = subprocess.Popen([sys.executable, "-c", program])
    wait_for((tmp_path / "launcher").exists)
    command.kill()
    command.wait()
    number = int((tmp_path / "launcher").read_text())
    wait_for(lambda: not psutil.pid_exists(number))


@pytest.mark.parametrize("folder", ["my study", "a:b"])
def test_a_path_that_no_loader_takes_is_refused(folder: str) -> None:
    with pytest.raises(InputError, match="a path without blanks and colons"):
        tracing._preloaded(Path("/usr", folder, "libtramontane-trace.so"), Path("trace"), strip=False)
