"""Which algorithm an MPI library takes for a collective, by its size and the number of ranks."""

import functools
import math
from collections.abc import Iterator
from importlib import resources
from typing import Any

import yaml

from tramontane.study.reading.project import LIBRARIES as ALGORITHMS
from tramontane.study.reading.reading import read_yaml
from tramontane.study.values.units import DOUBLE
from tramontane.support.layout import SHARE

_KIB = 1024

Step = tuple[str, dict[str, Any]]
"""An operation of the catalogue, and the keys of its algorithm."""


def _power_of_two(ranks: int) -> int:
    """Return the largest power of two up to that number."""
    return 1 << (ranks.bit_length() - 1)


def _mpich(operation: str, size: int, ranks: int) -> Iterator[Step]:
    """Follow Thakur et al. 2005, and MPICH itself where there are few ranks, or fewer elements than ranks."""
    of_two = _power_of_two(ranks) == ranks
    # Vectors up to this size [B] are not cut.
    whole = math.inf if size // DOUBLE < _power_of_two(ranks) else 2 * _KIB
    # Of what has several algorithms: up to which size [B] it takes which one.
    steps: list[tuple[float, str]] = {
        "barrier": [(math.inf, "dissemination")],
        "broadcast": [
            (12 * _KIB - 1 if ranks >= 8 else math.inf, "binomial"),
            (512 * _KIB - 1 if of_two else 0, "scatter-doubling"),
            (math.inf, "scatter-allgather"),
        ],
        "reduce": [(whole, "binomial"), (math.inf, "rabenseifner")],
        "allreduce": [(whole, "recursive-doubling"), (math.inf, "rabenseifner")],
        "alltoall": [(256 if ranks >= 8 else 0, "bruck"), (32 * _KIB, "burst"), (math.inf, "pairwise")],
        "allgather": [((512 * _KIB - 1) // ranks, "recursive-doubling"), (math.inf, "ring")]
        if of_two
        else [((80 * _KIB - 1) // ranks, "bruck"), (math.inf, "ring")],
    }.get(operation, [(math.inf, "binomial")])
    algorithm = next(algorithm for most, algorithm in steps if size <= most)
    yield operation, {"algorithm": algorithm} | ({"radix": 2} if algorithm == "bruck" else {})


@functools.cache
def _open_mpi_rules() -> dict[str, Any]:
    text = resources.files("tramontane.study.collectives").joinpath("open_mpi.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def rule_of_open_mpi(operation: str, size: int, ranks: int) -> str:
    """Return what Open MPI calls the algorithm that its rules name; see :func:`chosen`."""
    by_size = next(steps for below, steps in _open_mpi_rules()[operation].items() if ranks < below)
    return str(next(name for below, name in by_size.items() if size < below))


@functools.cache
def _open_mpi_algorithms() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the keys of ours that have the messages of Open MPI's algorithms, by operation and its name there."""
    return {
        (entry["operation"], entry["name"]): {
            key: entry[key] for key in ("algorithm", "radix", "segments") if key in entry
        }
        for entry in read_yaml(SHARE / ALGORITHMS).values()
        if entry["library"] == "Open MPI"
    }


def _open_mpi(operation: str, size: int, ranks: int) -> Iterator[Step]:
    """Apply the rules of `tuned`, and what algorithms themselves fall back on; elements are taken for doubles."""
    name = rule_of_open_mpi(operation, size, ranks)
    elements = size // DOUBLE
    match operation, name:
        case "allreduce", "nonoverlapping":
            yield from _open_mpi("reduce", size, ranks)
            yield from _open_mpi("broadcast", size, ranks)
            return
        case "allreduce", "rabenseifner" if elements < _power_of_two(ranks):
            yield "reduce", {"algorithm": "linear"}
            yield "broadcast", {"algorithm": "linear"}
            return
        case "allreduce", "rabenseifner" if _power_of_two(ranks) != ranks:
            yield "allreduce", {"algorithm": "rabenseifner-pairs"}
            return
        case "allreduce", "ring" | "segmented_ring" if elements < ranks:
            name = "recursive_doubling"
        case "reduce", "rabenseifner" if elements < _power_of_two(ranks):
            name = "linear"
        case "broadcast", "scatter_allgather" if elements < ranks:
            name = "basic_linear"
        case "allgather", "recursive_doubling" if _power_of_two(ranks) != ranks:
            name = "bruck"
        case "alltoall", "linear_sync":
            name = "linear"  # by default there is no limit to its requests
    yield operation, dict(_open_mpi_algorithms()[operation, name])


_CHOICES = {"mpich": _mpich, "open-mpi": _open_mpi}
LIBRARIES = tuple(_CHOICES)
"""Libraries whose choice is known."""


def chosen(library: str, operation: str, size: int, ranks: int) -> tuple[Step, ...]:
    """Return what a library does for a collective call: as a rule one operation, else one after the other.

    Parameters
    ----------
    library : str
        One of `LIBRARIES`. "mpich": R. Thakur, R. Rabenseifner and W. Gropp, Optimization of collective communication
        operations in MPICH, Int. J. High Perform. Comput. Appl. 19(1), 2005. "open-mpi": the rules of versions 4.1 and
        5.0 (``open_mpi.yaml``).
    operation : str
        As the catalogue calls it.
    size : int
        Of a block, or of the vector [B].
    ranks : int
        Of the communicator, at least 2.
    """
    return tuple(_CHOICES[library](operation, size, ranks))
