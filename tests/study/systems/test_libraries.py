"""What MPI libraries call their algorithms: each is one of ours, whose messages are those of the library's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.messages import sent
from tramontane import _simulator
from tramontane.study import validate_file
from tramontane.study.systems.libraries import LibraryAlgorithm, library_algorithms

ROOT = Path(__file__).parents[3]
KNOWN = library_algorithms(ROOT)

Stages = list[set[tuple[int, int]]]
"""Who sends to whom, stage by stage."""


def ours(algorithm: LibraryAlgorithm, ranks: int) -> Stages:
    schedule = _simulator.schedule.Schedule({**algorithm.keys, "count": 64}, ranks)
    return [{(source, target) for source, target, *_ in sent(schedule, each)} for each in range(schedule.rounds)]


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
        (  # ranks 4 and 5 come late, 6 is alone: its block reaches 4, and 5 by that; then those of 4 to 6 reach 3
            "mpich-allgather-recursive-doubling",
            7,
            lambda _: [
                {(0, 1), (1, 0), (2, 3), (3, 2), (4, 5), (5, 4)},
                {(0, 2), (2, 0), (1, 3), (3, 1), (4, 6), (6, 4)},
                {(4, 5)},
                {(0, 4), (4, 0), (1, 5), (5, 1), (2, 6), (6, 2)},
                {(1, 3)},
            ],
        ),
    ],
)
def test_messages_are_those_of_the_library(key: str, ranks: int, theirs: Callable[[int], Stages]) -> None:
    assert ours(KNOWN[key], ranks) == theirs(ranks)


@pytest.mark.parametrize("ranks", [1, 2, 7, 8])
@pytest.mark.parametrize("count", [1, 3, 1000])
def test_any_number_of_ranks_and_elements(ranks: int, count: int) -> None:
    for key, each in KNOWN.items():
        counted = {} if each.operation == "barrier" else {"count": count}
        schedule = _simulator.schedule.Schedule(each.keys | counted, ranks)
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
