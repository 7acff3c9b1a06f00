"""The choice of an MPI library: at the limits of its rules, and always something that is there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tramontane.extension import simulator
from tramontane.study.collectives.collective_calls import DEFAULTS
from tramontane.study.collectives.library_choice import LIBRARIES, chosen
from tramontane.study.workloads import schedules

KIB = 1024


@pytest.mark.parametrize(
    ("operation", "size", "ranks", "algorithm"),
    [
        ("broadcast", 12 * KIB - 1, 8, "binomial"),
        ("broadcast", 12 * KIB, 8, "scatter-doubling"),
        ("broadcast", 512 * KIB - 1, 8, "scatter-doubling"),
        ("broadcast", 512 * KIB, 8, "scatter-allgather"),
        ("broadcast", 12 * KIB, 9, "scatter-allgather"),
        ("broadcast", 12 * KIB, 7, "binomial"),
        ("reduce", 2 * KIB, 8, "binomial"),
        ("reduce", 2 * KIB + 1, 8, "rabenseifner"),
        ("allreduce", 2 * KIB, 9, "recursive-doubling"),
        ("allreduce", 2 * KIB + 1, 9, "rabenseifner"),
        ("reduce", 4 * KIB - 8, 512, "binomial"),  # fewer elements than ranks
        ("reduce", 4 * KIB, 1023, "rabenseifner"),
        ("allreduce", 4 * KIB - 8, 512, "recursive-doubling"),
        ("allreduce", 4 * KIB, 1023, "rabenseifner"),
        ("allgather", 64 * KIB - 1, 8, "recursive-doubling"),
        ("allgather", 64 * KIB, 8, "ring"),
        ("allgather", 8 * KIB - 1, 10, "bruck"),
        ("allgather", 8 * KIB, 10, "ring"),
        ("alltoall", 256, 8, "bruck"),
        ("alltoall", 256, 7, "burst"),
        ("alltoall", 257, 8, "burst"),
        ("alltoall", 32 * KIB + 1, 8, "pairwise"),
        ("barrier", 0, 8, "dissemination"),
        ("gather", 10**6, 8, "binomial"),
        ("scatter", 8, 8, "binomial"),
    ],
)
def test_mpich_chooses_by_its_rules(operation: str, size: int, ranks: int, algorithm: str) -> None:
    [(same, keys)] = chosen("mpich", operation, size, ranks)
    assert (same, keys["algorithm"]) == (operation, algorithm)


@pytest.mark.parametrize(
    ("operation", "size", "ranks", "steps"),
    [  # at limits of the rules
        ("allreduce", 8 * KIB - 1, 15, ["allreduce recursive-doubling"]),
        ("allreduce", 8 * KIB, 15, ["allreduce rabenseifner-pairs"]),
        ("allreduce", 8 * KIB, 8, ["allreduce rabenseifner"]),
        ("allreduce", 8, 128, ["reduce binomial", "broadcast binary"]),
        ("allreduce", 4 * KIB - 1, 511, ["reduce binomial", "broadcast k-nomial 4"]),
        ("allreduce", 4 * KIB, 511, ["allreduce rabenseifner-pairs"]),
        # fewer elements than ranks
        ("allreduce", 128, 63, ["reduce linear", "broadcast linear"]),
        ("allreduce", 256, 63, ["allreduce rabenseifner-pairs"]),
        ("allreduce", 32, 16, ["allreduce recursive-doubling"]),
        ("allgather", 8, 16, ["allgather recursive-doubling"]),
        ("allgather", 8, 17, ["allgather bruck 2"]),
        ("allgather", 4 * KIB, 32, ["allgather neighbour-exchange"]),
        ("alltoall", 511, 16, ["alltoall bruck 2"]),
        ("alltoall", 512, 16, ["alltoall burst"]),
        ("broadcast", KIB**2, 16, ["broadcast scatter-doubling"]),
        ("broadcast", KIB**2 - 1, 16, ["broadcast binomial-ascending"]),
        ("broadcast", KIB**2, 7, ["broadcast chain 1"]),
        ("barrier", 0, 7, ["barrier linear"]),
        ("barrier", 0, 8, ["barrier recursive-doubling"]),
        ("barrier", 0, 10**6, ["barrier dissemination"]),
    ],
)
def test_open_mpi_chooses_by_its_rules(operation: str, size: int, ranks: int, steps: list[str]) -> None:
    found = chosen("open-mpi", operation, size, ranks)
    assert [" ".join(map(str, (name, *keys.values()))) for name, keys in found] == steps


@pytest.mark.parametrize("operation", sorted(DEFAULTS))
def test_open_mpi_always_takes_something_that_is_known(operation: str) -> None:
    """Limits of ranks, beside 2, and of sizes are powers of two in its rules."""
    limits = [2**exponent for exponent in range(1, 22)]
    for ranks in (2, *(limit + more for limit in limits[1:] for more in (-1, 0))):
        for size in (1, *(limit + more for limit in limits for more in (-1, 0))):
            for name, keys in chosen("open-mpi", operation, size, ranks):
                assert keys["algorithm"] in schedules.words("collective", "algorithm", ("operation", name))


@given(
    library=st.sampled_from(LIBRARIES),
    operation=st.sampled_from(sorted(DEFAULTS)),
    ranks=st.integers(2, 5000),
    doubles=st.integers(1, 10**6),
)
def test_what_is_chosen_is_in_the_catalogue(library: str, operation: str, ranks: int, doubles: int) -> None:
    for name, how in chosen(library, operation, 8 * doubles, ranks):
        count = {} if name == "barrier" else {"count": doubles}
        keys = {"kind": "collective", "operation": name, **how, **count}
        assert simulator().schedule.Schedule(keys, ranks).rounds > 0
