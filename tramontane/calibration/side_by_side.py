"""The same points measured and simulated, in one table."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tramontane.measurement.calibration import Operation
from tramontane.study import Machine, Point
from tramontane.study.workloads.workloads import Allreduce

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
    measured: Iterable[tuple[Operation, dict[str, Any]]],
    simulate: Callable[[Point], dict[str, Any]],
    machine: Machine,
) -> Iterator[Row]:
    """Yield a row for each operation, with what the program has printed of it.

    Of a measurement the shortest repetition counts, as in the fit. The least that a rank spent on copies between fields
    and messages is listed beside it, because the simulator has none. The library's allreduce is simulated as recursive
    doubling.
    """
    for own, printed in measured:
        workload = own.point.workload
        if isinstance(workload, Allreduce) and workload.algorithm == "library":
            workload = workload.changed(algorithm=_STAND_IN)
        model = Point.model_validate({"ranks": own.ranks, "workload": workload, "machine": machine})
        yield Row(
            own.name.replace("-", " ", 1),
            own.ranks,
            printed["time_s"]["min"],
            printed["time_s"]["median"],
            printed["copy_s"]["min"],
            simulate(model)["time_s"],
        )
