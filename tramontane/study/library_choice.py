"""Which algorithm an MPI library takes for a collective, by its size and the number of ranks."""

import math
from typing import Any

_KIB = 1024


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


def _mpich(operation: str, size: int, ranks: int) -> str:
    """Thakur et al. 2005; a broadcast's allgather is always a ring here."""
    # Of what has several algorithms: up to which size [B] it takes which one.
    steps: list[tuple[float, str]] = {
        "barrier": [(math.inf, "dissemination")],
        "broadcast": [(12 * _KIB - 1 if ranks >= 8 else math.inf, "binomial"), (math.inf, "scatter-allgather")],
        "reduce": [(2 * _KIB, "binomial"), (math.inf, "rabenseifner")],
        "allreduce": [(2 * _KIB, "recursive-doubling"), (math.inf, "rabenseifner")],
        "alltoall": [(256, "bruck"), (32 * _KIB, "burst"), (math.inf, "pairwise")],
        "allgather": [((512 * _KIB - 1) // ranks, "recursive-doubling"), (math.inf, "ring")]
        if _is_power_of_two(ranks)
        else [((80 * _KIB - 1) // ranks, "bruck"), (math.inf, "ring")],
    }.get(operation, [(math.inf, "binomial")])
    return next(algorithm for most, algorithm in steps if size <= most)


_CHOICES = {"mpich": _mpich}
LIBRARIES = tuple(_CHOICES)
"""Libraries whose choice is known."""


def chosen(library: str, operation: str, size: int, ranks: int) -> dict[str, Any]:
    """Return the keys of the algorithm that a library takes.

    Parameters
    ----------
    library : str
        One of `LIBRARIES`. "mpich": R. Thakur, R. Rabenseifner and W. Gropp, Optimization of collective communication
        operations in MPICH, Int. J. High Perform. Comput. Appl. 19(1), 2005.
    operation : str
        As the catalogue calls it.
    size : int
        Of a block, or of the vector [B].
    ranks : int
        Of the communicator.
    """
    algorithm = _CHOICES[library](operation, size, ranks)
    return {"algorithm": algorithm} | ({"radix": 2} if algorithm == "bruck" else {})
