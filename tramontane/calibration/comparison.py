"""The same points measured and simulated, in one table."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tramontane.calibration.measurement import Run
from tramontane.study import Point
from tramontane.substrates.mpi import program

_GRID = [64, 48, 32]

#: What is compared, at each number of ranks. The library's allreduce is simulated as recursive doubling.
WORKLOADS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("allreduce recursive-doubling", {"kind": "allreduce", "algorithm": "recursive-doubling"}),
    ("allreduce library", {"kind": "allreduce", "algorithm": "library"}),
    ("transposition burst", {"kind": "transposition", "algorithm": "burst", "grid": _GRID}),
    ("transposition bruck", {"kind": "transposition", "algorithm": "bruck", "grid": _GRID}),
    ("transposition ring-1", {"kind": "transposition", "algorithm": "ring-k", "radix": 1, "grid": _GRID}),
    ("halo 3", {"kind": "halo", "width": 3, "grid": _GRID}),
)
_STAND_IN = "recursive-doubling"


@dataclass(frozen=True)
class Row:
    """A point, measured and simulated [s]."""

    name: str
    ranks: int
    measured: float
    median: float
    copying: float
    simulated: float

    @property
    def ratio(self) -> float:
        """Simulated over measured."""
        return self.simulated / self.measured

    @property
    def ratio_without_copies(self) -> float:
        """Simulated over measured less copies, as far as there is something left."""
        return self.simulated / max(self.measured - self.copying, self.measured / 100)


def compare(
    run: Run, simulate: Callable[[dict[str, Any]], dict[str, Any]], machine: dict[str, Any], ranks: Iterable[int]
) -> Iterator[Row]:
    """Yield a row for each workload and number of ranks.

    Of a measurement the shortest repetition counts, as in the fit. The least that a rank spent on copies between fields
    and messages is listed beside it, because the simulator has none.
    """
    for number in ranks:
        for name, workload in WORKLOADS:
            point = Point.model_validate({"ranks": number, "workload": workload, "substrate": "mpi"})
            measured = run(number, program.arguments(point.canonical()))
            own = {**workload, "algorithm": _STAND_IN} if workload.get("algorithm") == "library" else workload
            model = Point.model_validate({"ranks": number, "workload": own, "machine": machine})
            yield Row(
                name,
                number,
                measured["time_s"]["min"],
                measured["time_s"]["median"],
                measured["copy_s"]["min"],
                simulate(model.canonical())["time_s"],
            )
