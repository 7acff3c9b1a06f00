"""What OSU's and Intel's benchmarks print becomes a table; the files here are ours, in their format."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tramontane.cli.measured import measured
from tramontane.errors import InputError
from tramontane.study import find_root
from tramontane.study.systems.benchmark_output import read_output
from tramontane.study.systems.timed_collectives import read_timed

OSU = """
# OSU MPI All-to-All Personalized Exchange Latency Test v7.3
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
1                      12.50             12.10             13.25        1000
1024                   20.00             19.00             22.50        1000
"""
SHORT = """
# OSU MPI Allreduce Latency Test v5.9
# Size       Avg Latency(us)
4                       6.50
1048576               420.75
"""
INTEL = """
#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part
#----------------------------------------------------------------
# Benchmarking Alltoall
# #processes = 2
# ( 14 additional processes waiting in MPI_Barrier)
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.05         0.06         0.05
            1         1000         1.00         2.00         1.50

#----------------------------------------------------------------
# Benchmarking Alltoall
# #processes = 16
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            1         1000        10.00        12.00        11.00
         1024         1000        15.00        18.00        16.00

# All processes entering MPI_Finalize
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def function(text: str) -> Path:
        (tmp_path / "output.txt").write_text(text, encoding="utf-8")
        return tmp_path / "output.txt"

    return function


def times(file: Path) -> list[tuple[str, int | None, dict[int, float]]]:
    return [
        (block.operation, block.processes, {size: time for size, (time, _) in block.times.items()})
        for block in read_output(file)
    ]


def test_the_slowest_process_counts(write: Callable[[str], Path]) -> None:
    assert times(write(OSU)) == [("alltoall", None, {1: 13.25, 1024: 22.5})]
    assert times(write("\ufeff" + OSU.lstrip().replace("MPI All", "MPI-CUDA All"))) == times(write(OSU))
    assert times(write(SHORT)) == [("allreduce", None, {4: 6.5, 1048576: 420.75})]
    assert times(write(INTEL)) == [("alltoall", 2, {1: 2.0}), ("alltoall", 16, {1: 12.0, 1024: 18.0})]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "found no table of an all-to-all or an allreduce; allowed: the output of osu_alltoall"),
        (OSU.replace("MPI All", "MPI Neighborhood All"), "found no table of an all-to-all or an allreduce"),
        (
            OSU.replace("(us)", ""),
            "line 4: found 'Avg Latency, Min Latency, Max Latency, Iterations'; allowed: a column",
        ),
        (
            INTEL.replace("[usec]", "[s]"),
            "line 8: found 'repetitions, t_min[s], t_max[s], t_avg[s]'; allowed: a column",
        ),
        (OSU.replace("22.50", "0.00"), "line 6, Max Latency(us): found '0.00'; allowed: a positive time"),
        (
            OSU.replace("20.00", "30.00"),
            "line 6: found 19, 30, 22.5; allowed: a minimum, an average and a maximum that",
        ),
        (OSU.replace("19.00", "20.50"), "line 6: found 20.5, 20, 22.5; allowed: a minimum, an average and a maximum"),
        (INTEL.replace("16.00", "18.50"), "found 15, 18.5, 18; allowed: a minimum, an average and a maximum"),
        (OSU.replace("1024 ", f"{10**15} "), "line 6: found '1000000000000000'; allowed: a size of at most"),
        (OSU.replace("1024 ", f"{'9' * 5000} "), "allowed: a size of at most 999999999999999 B"),
        (OSU.replace("1024 ", "1    "), "line 6: found the size of line 5 again; allowed: each size once"),
        (OSU.replace("22.50  ", "pass  "), "line 6: found '1024 20.00 19.00 pass 1000'; allowed: a size and numbers"),
    ],
)
def test_a_mistake_is_one_line(write: Callable[[str], Path], text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_output(write(text))
    assert said in str(caught.value)


def test_columns_are_rounded_one_by_one(write: Callable[[str], Path]) -> None:
    assert times(write(OSU.replace("20.00", "22.51"))) == [("alltoall", None, {1: 13.25, 1024: 22.5})]


def test_the_command_writes_what_calibrate_reads(write: Callable[[str], Path], tmp_path: Path) -> None:
    osu, intel, output = write(OSU), tmp_path / "intel.txt", tmp_path / "measured.csv"
    intel.write_text(INTEL, encoding="utf-8")
    given = [f"linear={osu}", f"pairwise={intel}"]
    measured(given, "fugaku", 16, output, "2x2x4", "2026-11-24, noon")
    rows = read_timed(output, find_root())
    assert [(row.case.algorithm, row.case.size, row.median, row.variant) for row in rows] == [
        ("linear", 1, 13.25, "osu"),
        ("linear", 1024, 22.5, "osu"),
        ("pairwise", 1, 12.0, "imb"),
        ("pairwise", 1024, 18.0, "imb"),
    ]
    assert {(row.case.machine, row.case.shape, row.date) for row in rows} == {("fugaku", "2x2x4", "2026-11-24, noon")}


@pytest.mark.parametrize(
    ("machine", "nodes", "shape", "algorithm", "said"),
    [
        ("fugako", 16, None, "linear", "--machine: found 'fugako'; did you mean 'fugaku'?"),
        (
            "fugaku",
            16,
            "4x5",
            "linear",
            "--shape: found '4x5'; allowed: sides whose product is the number of nodes, 16",
        ),
        ("fugaku", 10**7, None, "linear", "--nodes: found 10000000; allowed: 2 ... 9999999"),
        ("fugaku", 4, None, "linear", "--nodes: found 4; allowed: a number of processes in "),
        ("fugaku", 16, None, "liner", "ALGORITHM=FILE: found 'liner'; did you mean 'linear'? allowed: of alltoall: "),
    ],
)
def test_a_mistake_in_the_command_writes_nothing(
    write: Callable[[str], Path], tmp_path: Path, machine: str, nodes: int, shape: str | None, algorithm: str, said: str
) -> None:
    file = write(INTEL)
    with pytest.raises(InputError) as caught:
        measured([f"{algorithm}={file}"], machine, nodes, tmp_path / "measured.csv", shape)
    assert said in str(caught.value)
    assert not (tmp_path / "measured.csv").exists()
