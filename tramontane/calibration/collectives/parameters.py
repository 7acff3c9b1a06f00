"""What is unknown of a machine, and what each collective pays of it.

All parameters are times, of a message or of a byte, because a collective's time is linear in such times as long as what
waits for what stays the same. What a collective pays are `KNOBS`: keys of the machine that the simulator runs it on,
each a sum of parameters. So all algorithms of a machine share its network, and only the work that the simulator does
not know, reducing and packing, differs between operations.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tramontane.study import Machine
from tramontane.study.systems.timed_collectives import Case

Values = npt.NDArray[np.float64]

#: What a point pays, each [ps], or [ps/B] where it ends in _byte.
KNOBS = (
    "send",
    "receive",
    "injection",
    "global",
    "injection_byte",
    "link_byte",
    "copy_byte",
    "unpack_byte",
)
#: Work on messages whose buffers are larger than this is done in memory, not in caches [B].
CACHES = 20 * 2**20
#: Buffers of a rank over the size of its message: two vectors of a reduction; Bruck's blocks three times, of which a
#: message has half.
BUFFERS = {"reducing": 2, "packing": 6}
#: Bytes of a vector's element in the measurements, int32.
ELEMENT = 4


@dataclass(frozen=True)
class Parameter:
    """An unknown of a machine.

    Attributes
    ----------
    name : str
        As it is printed.
    unit : str
        ps, or ps/B.
    guess : float
        Before anything is measured.
    spread : float
        Standard deviation of the logarithm of that guess: 0.1 where the maker states the value.
    """

    name: str
    unit: str
    guess: float
    spread: float


def parameters(machine: Machine) -> tuple[Parameter, ...]:
    """Return the unknowns of a machine; guesses of its network are what its file says."""
    far = machine.link.classes.get("global")
    distant = () if far is None else (Parameter("latency of a global link", "ps", float(far.latency or 4e5), 1.5),)
    return (
        Parameter("send overhead", "ps", 3e5, 1.5),
        Parameter("receive overhead", "ps", 3e5, 1.5),
        Parameter("injection latency", "ps", float(machine.injection.latency), 1.5),
        *distant,
        Parameter("injection", "ps/B", 1e12 / machine.injection.bandwidth, 0.7),
        Parameter("links", "ps/B", 1e12 / machine.link.bandwidth, 0.1),
        Parameter("copies of eager messages", "ps/B", 100.0, 1.5),
        Parameter("reducing", "ps/B", 100.0, 1.5),
        Parameter("reducing beyond caches", "ps/B", 100.0, 1.5),
        Parameter("packing, a message", "ps", 1e6, 1.5),
        Parameter("packing, a block", "ps", 5e4, 1.5),
        Parameter("packing", "ps/B", 100.0, 1.5),
        Parameter("packing beyond caches", "ps/B", 100.0, 1.5),
    )


def shares(case: Case, known: tuple[Parameter, ...]) -> Values:
    """Return how much of each parameter (columns) each of `KNOBS` (rows) of a case has."""
    paid: dict[str, dict[str, float]] = {
        "send": {"send overhead": 1.0},
        "receive": {"receive overhead": 1.0},
        "injection": {"injection latency": 1.0},
        "global": {"latency of a global link": 1.0},
        "injection_byte": {"injection": 1.0},
        "link_byte": {"links": 1.0},
        "copy_byte": {"copies of eager messages": 1.0},
        "unpack_byte": _work(case),
    }
    if packs(case):
        # Of n blocks a message of Bruck's has half.
        paid["send"] |= {"packing, a message": 1.0, "packing, a block": case.nodes / 2}
    return np.array([[paid[knob].get(own.name, 0.0) for own in known] for knob in KNOBS])


def algorithm(case: Case) -> str:
    """Return what runs: Open MPI takes recursive doubling where a ring has fewer elements than ranks."""
    few = case.algorithm == "ring" and case.size < ELEMENT * case.nodes
    return "recursive-doubling" if few else case.algorithm


def is_linear(case: Case) -> bool:
    """Whether Open MPI takes a linear reduce and broadcast, which nothing here simulates.

    So it does where Rabenseifner's algorithm has fewer elements than the largest power of two of ranks.
    """
    return case.algorithm == "rabenseifner" and case.size < ELEMENT << (case.nodes.bit_length() - 1)


def packs(case: Case) -> bool:
    """Whether an algorithm packs several blocks into a message."""
    return case.algorithm == "bruck"


def _work(case: Case) -> dict[str, float]:
    """Return what a byte that arrives costs besides its transport."""
    if case.operation != "allreduce" and not packs(case):
        return {}
    kind = "packing" if packs(case) else "reducing"
    sizes = np.array(messages(case))
    beyond = float(sizes[BUFFERS[kind] * sizes > CACHES].sum() / sizes.sum())
    # Half of the bytes of a ring and of Rabenseifner's algorithm are not reduced: those of the gathering.
    part = 0.5 if algorithm(case) in {"ring", "rabenseifner"} else 1.0
    return {kind: part, f"{kind} beyond caches": part * beyond}


def messages(case: Case) -> list[float]:
    """Return the sizes of the messages that a rank sends one after the other [B]."""
    n, size = case.nodes, case.size
    steps = max(1, math.ceil(math.log2(n)))
    if case.operation == "alltoall":
        return [n * size / 2] * steps if packs(case) else [float(size)] * (n - 1)
    if algorithm(case) == "ring":
        return [size / n] * (2 * (n - 1))
    if algorithm(case) == "rabenseifner":
        return 2 * [size / 2 ** (step + 1) for step in range(steps)]
    return [float(size)] * steps
