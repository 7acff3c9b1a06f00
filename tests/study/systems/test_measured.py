"""Points that are measured: a real machine takes the network's place."""

from pathlib import Path

import pytest

from tramontane.errors import InputError
from tramontane.study import Point, estimate, load_point

HEAD = "ranks: 16\n"
WORKLOAD = "workload: {kind: transposition, algorithm: burst, grid: [48, 32, 16]}\n"


def read(folder: Path, *lines: str, substrate: str | None = None) -> Point:
    file = folder / "point.yaml"
    file.write_text(HEAD + "".join(f"{line.rstrip()}\n" for line in lines))
    return load_point(file, substrate)


def test_the_system_is_the_identity_and_the_network_is_not(tmp_path: Path) -> None:
    plain = read(tmp_path, WORKLOAD, "substrate: mpi")
    assert plain.canonical()["system"] == {"name": "generic"}
    assert "machine" not in plain.canonical()
    same = [
        read(tmp_path, WORKLOAD, "substrate: mpi", "system: generic", "machine: torus-M"),
        read(tmp_path, WORKLOAD, "system: {name: generic}", "machine: dragonfly-S", substrate="mpi"),
        Point.from_canonical(plain.canonical()),
    ]
    assert {point.id for point in same} == {plain.id}
    others = [
        read(tmp_path, WORKLOAD, "substrate: mpi", "system: slurm-local"),
        read(tmp_path, WORKLOAD, "substrate: mpi", "system: {name: generic, environment: mpich}"),
        read(tmp_path, WORKLOAD, "substrate: mpi", "system: {name: generic, partition: cores}"),
    ]
    assert len({plain.id, *(point.id for point in others)}) == 4


def test_a_simulated_point_has_no_system(tmp_path: Path) -> None:
    plain = read(tmp_path, WORKLOAD, "machine: torus-S")
    assert "system" not in plain.canonical()
    assert read(tmp_path, WORKLOAD, "machine: torus-S", "system: generic").id == plain.id


def test_a_measured_point_may_have_more_ranks_than_the_network_has_nodes(tmp_path: Path) -> None:
    network = "machine: {topology: torus, geometry: [2, 2, 2], nodes_per_switch: 1}"
    assert read(tmp_path, WORKLOAD, network, substrate="mpi").ranks == 16
    with pytest.raises(InputError, match="found 16 ranks on 8 nodes"):
        read(tmp_path, WORKLOAD, network)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("substrate: mpi", "system: genric"), "system: found 'genric'; did you mean 'generic'?"),
        (("substrate: mpi", "system: {nam: generic}"), "system.nam: unknown key 'nam'; did you mean 'name'?"),
        ((), "machine: missing; allowed: The network"),
    ],
)
def test_mistakes(tmp_path: Path, lines: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, WORKLOAD, *lines)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("workload", "allowed"),
    [
        ("{kind: transposition, algorithm: library, grid: [48, 32, 16]}", "ring-k, burst, bruck, pairwise,"),
        ("{kind: halo, width: 2, algorithm: library, grid: [48, 32, 16]}", "nothing, or substrate mpi"),
        (
            "{kind: allreduce, algorithm: library-persistent}",
            "recursive-k, recursive-doubling, ring, rabenseifner, rabenseifner-pairs, or",
        ),
    ],
)
def test_a_library_needs_a_library(tmp_path: Path, workload: str, allowed: str) -> None:
    line = f"workload: {workload}"
    assert read(tmp_path, line, substrate="mpi").workload.by_library
    with pytest.raises(InputError) as caught:
        read(tmp_path, line, "machine: torus-S")
    assert "workload.algorithm: found 'library" in str(caught.value)
    assert f"allowed: {allowed}" in str(caught.value)


def test_a_measured_point_has_a_cost(tmp_path: Path) -> None:
    cost = estimate(read(tmp_path, WORKLOAD, substrate="mpi"))
    assert cost.seconds > 0
    assert cost.memory_bytes > 16 * 10**6
