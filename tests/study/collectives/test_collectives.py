"""Collectives in points: one point however it is written, and one line for what can't be."""

from pathlib import Path

import pytest

from tramontane.errors import InputError
from tramontane.study import Point, load_point


def written(folder: Path, workload: str, machine: str = "torus-S") -> Path:
    file = folder / "x.yaml"
    file.write_text(f"ranks: 8\nmachine: {machine}\nworkload: {{kind: collective, {workload}}}\n")
    return file


def read(folder: Path, workload: str) -> Point:
    return load_point(written(folder, workload))


def test_what_says_nothing_is_left_out(tmp_path: Path) -> None:
    tree = read(tmp_path, "operation: reduce, algorithm: binomial, count: 4")
    assert tree.canonical()["workload"] == {
        "kind": "collective",
        "operation": "reduce",
        "algorithm": "binomial",
        "count": 4,
    }
    assert read(tmp_path, "root: 0, count: 4, operation: reduce, algorithm: binomial").id == tree.id
    assert read(tmp_path, "root: 1, count: 4, operation: reduce, algorithm: binomial").id != tree.id
    bruck = read(tmp_path, "operation: allgather, algorithm: bruck, count: 4")
    assert read(tmp_path, "operation: allgather, algorithm: bruck, count: 4, radix: 2").id == bruck.id
    assert read(tmp_path, "operation: allgather, algorithm: bruck, count: 4, radix: 3").id != bruck.id
    assert Point.from_canonical(bruck.canonical()).id == bruck.id


@pytest.mark.parametrize(
    ("workload", "said"),
    [
        ("algorithm: tree", "workload.operation: missing; allowed: What the ranks do together: barrier, broadcast"),
        ("operation: scan, algorithm: tree", "workload.operation: found 'scan'; allowed: barrier, broadcast"),
        ("operation: barrier", "workload.algorithm: missing; allowed: Of barrier: dissemination, tree, linear, "),
        ("operation: barrier, algorithm: 3", "workload.algorithm: found '3'; allowed: dissemination, tree"),
        ("operation: barrier, algorithm: ring", "workload.algorithm: found 'ring'; allowed: dissemination, tree"),
        ("operation: gather, algorithm: linear", "workload.count: missing, but operation gather needs it; allowed: an"),
        ("operation: gather, algorithm: linear, count: 1, root: 8", "workload.root: found 8; allowed: a rank, 0 to 7"),
        ("operation: gather, algorithm: linear, count: 0", "workload.count: found 0; allowed: a whole number, 1 or"),
        (
            "operation: allgather, algorithm: ring, count: 1, root: 0",
            "workload.root: found 0, but operation allgather has none; allowed: only with broadcast, reduce, gather",
        ),
        (
            "operation: neighbourhood, algorithm: direct, count: 1, dims: [3, 2]",
            "workload.dims: found [3, 2]; allowed: one to three sizes whose product is the number of ranks, 8",
        ),
        (
            "operation: neighbourhood, algorithm: direct, count: 1, dims: 8",
            "workload.dims: found 8; allowed: a list of",
        ),
        (
            "operation: allgather, algorithm: library, count: 1",
            "workload.algorithm: found 'library'; allowed: ring, bruck",
        ),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, workload: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, workload)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_pisces_16_has_no_windows(tmp_path: Path) -> None:
    machine = "{topology: torus, geometry: [2, 2, 2], model: pisces-16}"
    leaders = "operation: alltoall, algorithm: leaders, group: 2, count: 1"
    assert load_point(written(tmp_path, leaders, machine)).ranks == 8
    with pytest.raises(InputError, match=r"workload\.algorithm: found 'leaders' with model pisces-16"):
        load_point(written(tmp_path, f"{leaders}, radix: 1", machine))
