"""Sums of a vertex's owners on real MPI, whose messages come with delays (Jamroz & Klöfkorn 2016, 5.2)."""

import subprocess
from pathlib import Path

import pytest

from tests.mpi.conftest import Program
from tramontane.substrates.mpi.launch import start

SOURCE = Path(__file__).with_name("sums.cpp")
ORDERS = ("order of arrival", "fixed order at each rank", "one order of all ranks")
SEEDS = 1000


def _found(mpi: Program, folder: Path, ranks: int) -> dict[str, list[list[str]]]:
    """Return, for each order and seed, the bits of all ranks' sums."""
    executable = folder / "sums"
    # The old C++ bindings are left out: no code of ours, but warnings in it.
    options = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    subprocess.run([mpi.library.compiler, *options, str(SOURCE), "-o", str(executable)], check=True)
    done = start(mpi.library, ranks, [str(executable), str(SEEDS)])
    assert done.status == 0, done.stderr
    lines = done.stdout.split()
    assert len(lines) == ranks * SEEDS * len(ORDERS)
    return {
        name: [[lines[(rank * SEEDS + seed) * len(ORDERS) + at] for rank in range(ranks)] for seed in range(SEEDS)]
        for at, name in enumerate(ORDERS)
    }


def _differ(found: list[list[str]]) -> tuple[int, int]:
    """Return how often two runs of one vertex differ, and how often its owners do."""
    runs = sum(first != second for first, second in zip(found[::2], found[1::2], strict=True))
    return runs, sum(len(set(owners)) > 1 for owners in found)


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_only_one_order_of_all_ranks_gives_the_same_bits(mpi: Program, tmp_path: Path, ranks: int) -> None:
    found = {name: _differ(each) for name, each in _found(mpi, tmp_path, ranks).items()}
    assert found["one order of all ranks"] == (0, 0)
    assert found["fixed order at each rank"][0] == 0
    if ranks == 2:  # one edge: a + b = b + a
        assert set(found.values()) == {(0, 0)}
    else:
        assert min(found["order of arrival"]) > 0
        assert found["fixed order at each rank"][1] > 0
