"""The choice of an MPI library: at the limits that its paper states, and always something that is there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tramontane.extension import simulator
from tramontane.study.collective_calls import DEFAULTS
from tramontane.study.library_choice import LIBRARIES, chosen

KIB = 1024


@pytest.mark.parametrize(
    ("operation", "size", "ranks", "algorithm"),
    [
        ("broadcast", 12 * KIB - 1, 8, "binomial"),
        ("broadcast", 12 * KIB, 8, "scatter-allgather"),
        ("broadcast", 12 * KIB, 7, "binomial"),
        ("reduce", 2 * KIB, 8, "binomial"),
        ("reduce", 2 * KIB + 1, 8, "rabenseifner"),
        ("allreduce", 2 * KIB, 9, "recursive-doubling"),
        ("allreduce", 2 * KIB + 1, 9, "rabenseifner"),
        ("allgather", 64 * KIB - 1, 8, "recursive-doubling"),
        ("allgather", 64 * KIB, 8, "ring"),
        ("allgather", 8 * KIB - 1, 10, "bruck"),
        ("allgather", 8 * KIB, 10, "ring"),
        ("alltoall", 256, 8, "bruck"),
        ("alltoall", 257, 8, "burst"),
        ("alltoall", 32 * KIB + 1, 8, "pairwise"),
        ("barrier", 0, 8, "dissemination"),
        ("gather", 10**6, 8, "binomial"),
        ("scatter", 8, 8, "binomial"),
    ],
)
def test_mpich_chooses_as_thakur_et_al_say(operation: str, size: int, ranks: int, algorithm: str) -> None:
    assert chosen("mpich", operation, size, ranks)["algorithm"] == algorithm


@given(
    library=st.sampled_from(LIBRARIES),
    operation=st.sampled_from(sorted(DEFAULTS)),
    ranks=st.integers(2, 40),
    doubles=st.integers(1, 10**6),
)
def test_what_is_chosen_is_in_the_catalogue(library: str, operation: str, ranks: int, doubles: int) -> None:
    keys = {"kind": "collective", "operation": operation, **chosen(library, operation, 8 * doubles, ranks)}
    if operation != "barrier":
        keys["count"] = doubles
    assert simulator().schedule.Schedule(keys, ranks).rounds > 0
