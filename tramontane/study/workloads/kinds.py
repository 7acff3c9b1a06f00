"""The union of all kinds of workloads."""

from typing import Annotated, get_args

from pydantic import Field, TypeAdapter

from tramontane.study.values.settings import Settings
from tramontane.study.workloads.jobs import Jobs
from tramontane.study.workloads.programs import Program
from tramontane.study.workloads.workloads import (
    Allreduce,
    Collective,
    Halo,
    Pattern,
    RandomShifts,
    Trace,
    Transposition,
)

Workload = Annotated[
    Transposition | Halo | Allreduce | Collective | Pattern | Trace | RandomShifts | Program | Jobs,
    Field(discriminator="kind"),
]
WORKLOADS: tuple[type[Settings], ...] = get_args(get_args(Workload)[0])


def canonical_workload(data: object) -> Workload:
    """Return the workload with a canonical form, checked as far as it can be without its point (ValidationError)."""
    return TypeAdapter[Workload](Workload).validate_python(data, context={"canonical": True})
