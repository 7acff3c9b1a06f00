"""What MPI libraries call their algorithms: each is one of ours, whose messages are those of the library's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tramontane import _simulator
from tramontane.study import validate_file
from tramontane.study.libraries import LibraryAlgorithm, library_algorithms

ROOT = Path(__file__).parents[2]
KNOWN = library_algorithms(ROOT)

Stages = list[set[tuple[int, int]]]
"""Who sends to whom, stage by stage."""


def ours(algorithm: LibraryAlgorithm, ranks: int) -> Stages:
    schedule = _simulator.schedule.Schedule({**algorithm.keys, "count": 64}, ranks)
    return [
        {
            (rank, schedule.send(rank, number, index).peer)
            for rank in range(ranks)
            for index in range(schedule.round(rank, number).sends)
        }
        for number in range(schedule.rounds)
    ]


def shifts(ranks: int, *stages: range) -> Stages:
    """In each stage a rank sends to those so far ahead."""
    return [{(rank, (rank + each) % ranks) for rank in range(ranks) for each in stage} for stage in stages]


def ahead(*distances: int) -> tuple[range, ...]:
    return tuple(range(each, each + 1) for each in distances)


def flips(ranks: int, *bits: int) -> Stages:
    return [{(rank, rank ^ each) for rank in range(ranks)} for each in bits]


@pytest.mark.parametrize(
    ("key", "ranks", "theirs"),
    [
        ("open-mpi-alltoall-linear", 6, lambda p: shifts(p, range(1, p))),
        ("open-mpi-alltoall-linear-sync", 12, lambda p: shifts(p, range(1, p))),
        ("open-mpi-alltoall-pairwise", 8, lambda p: shifts(p, *ahead(*range(1, p)))),
        ("mpich-alltoall-pairwise", 8, lambda p: flips(p, *range(1, p))),
        ("mpich-alltoall-pairwise", 6, lambda p: shifts(p, *ahead(*range(1, p)))),
        ("mpich-alltoall-scattered", 70, lambda p: shifts(p, range(1, 33), range(33, 65), range(65, p))),
        ("open-mpi-alltoall-modified-bruck", 11, lambda p: shifts(p, *ahead(1, 2, 4, 8))),
        ("mpich-alltoall-brucks", 8, lambda p: shifts(p, *ahead(1, 2, 4))),
        ("open-mpi-allreduce-recursive-doubling", 8, lambda p: flips(p, 1, 2, 4)),
        ("open-mpi-allreduce-ring", 5, lambda p: shifts(p, *ahead(*[1] * 8))),
        ("mpich-allreduce-reduce-scatter-allgather", 8, lambda p: flips(p, 1, 2, 4, 4, 2, 1)),
        ("mpich-allgather-ring", 5, lambda p: shifts(p, *ahead(*[1] * 4))),
        ("mpich-allgather-recursive-doubling", 8, lambda p: flips(p, 1, 2, 4)),
    ],
)
def test_messages_are_those_of_the_library(key: str, ranks: int, theirs: Callable[[int], Stages]) -> None:
    assert ours(KNOWN[key], ranks) == theirs(ranks)


@pytest.mark.parametrize("ranks", [1, 2, 7, 8])
@pytest.mark.parametrize("count", [1, 3, 1000])
def test_any_number_of_ranks_and_elements(ranks: int, count: int) -> None:
    """But for what the library itself does with powers of two only."""
    for key, each in KNOWN.items():
        if each.operation == "allgather" and each.algorithm == "recursive-doubling" and ranks == 7:
            continue
        schedule = _simulator.schedule.Schedule({**each.keys, "count": count}, ranks)
        assert schedule.ranks == ranks, key


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("library: X, operation: alltoall, name: y, algorithm: rin-k", "x.algorithm: found 'rin-k'"),
        ("library: X, operation: alltoal, name: y, algorithm: burst", "x.operation: found 'alltoal'"),
        ("library: X, operation: alltoall, name: y, algorithm: ring-k", "x.radix: missing"),
    ],
)
def test_mistakes(tmp_path: Path, line: Callable[..., str], text: str, message: str) -> None:
    file = tmp_path / "configs" / "libraries.yaml"
    file.parent.mkdir()
    file.write_text(f"x: {{{text}}}\n")
    assert message in line(validate_file, file)
