"""The typed description of several jobs side by side on one network."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_serializer, model_validator
from pydantic_core import PydanticCustomError

from tramontane.study.networks.mapping import JOB_ALLOCATION, Ruled, spelled
from tramontane.study.reading.messages import problem
from tramontane.study.values.fields import Count, Name
from tramontane.study.values.settings import Settings
from tramontane.study.values.units import Time
from tramontane.study.workloads.programs import Program
from tramontane.study.workloads.workloads import (
    DATATYPES,
    OPTIMAL,
    Allreduce,
    Collective,
    Communication,
    Halo,
    Pattern,
    RandomShifts,
    Transposition,
)


class Job(Settings):
    """A job: ranks of its own with a workload."""

    name: Name = Field(description="Its name; results and phases have it.", examples=["model"])
    ranks: Count = Field(description="Number of its ranks; a multiple of ranks_per_node.")
    start: Time = Field(0, description="When it starts.", examples=["100 us"])
    allocation: Annotated[Ruled, JOB_ALLOCATION] | None = Field(
        None,
        description="Which nodes its ranks get, of those that the jobs before have left. Default: the point's rule.",
    )
    workload: Annotated[
        Transposition | Halo | Allreduce | Collective | Pattern | RandomShifts | Program, Field(discriminator="kind")
    ] = Field(description="What it communicates.")

    @model_validator(mode="after")
    def _own_messages(self) -> Self:
        if self.workload.by_library:
            allowed = ", ".join(self.workload.own_algorithms or ("nothing",))
            found = f"found '{self.workload.chosen}' in a job, which has messages of its own"
            raise problem(found, allowed, key="workload.algorithm")
        if any(self.workload.puts()):
            raise problem("found one-sided steps in a job", "messages", key="workload.steps")
        if any(self.workload.accesses()):
            raise problem("found steps that read or write in a job", "other steps", key="workload.steps")
        if isinstance(self.workload, Halo) and self.workload.buffers == DATATYPES:
            raise problem(
                f"found {DATATYPES} in a job, whose messages are of no field", "explicit", key="workload.buffers"
            )
        if self.workload.is_search:
            raise problem(f"found {OPTIMAL} in a job", "a whole number", key="workload.radix")
        return self

    @field_serializer("allocation", when_used="json")
    def _spell_allocation(self, allocation: Ruled | None) -> str | dict[str, list[int]] | None:
        return allocation if allocation is None else spelled(allocation)


def _for_job(job: Job, number: int) -> Communication:
    """Return the workload of a job with what follows from its ranks; what is wrong with it says which job's it is."""
    try:
        return job.workload.for_ranks(job.ranks)
    except PydanticCustomError as refused:
        said = refused.context or {}
        key = f"workload.jobs.[{number}].{said['key']}"
        raise problem(said["problem"], said["allowed"], key=key, hint=said["hint"]) from None


class Jobs(Communication):
    """Several jobs side by side."""

    kind: Literal["jobs"] = Field(description="Kind of workload.")
    jobs: list[Job] = Field(
        min_length=1, description="The jobs. Their ranks follow one another; in all they are those of the point."
    )

    @model_validator(mode="after")
    def _names(self) -> Self:
        names = [job.name for job in self.jobs]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise problem(f"found '{name}' twice", "each name once", key=f"jobs.[{number}].name")
        return self

    def __hash__(self) -> int:
        return hash(self.model_dump_json())

    @property
    def own_algorithms(self) -> tuple[str, ...]:
        """None: its jobs have them."""
        return ()

    @property
    def windowed(self) -> bool:
        """Whether only so many sends may be under way at a time."""
        return any(job.workload.windowed for job in self.jobs)

    @property
    def limits(self) -> tuple[int, int] | None:
        """None: its jobs have them."""
        return None

    @property
    def ranks(self) -> int:
        """Ranks of all jobs."""
        return sum(job.ranks for job in self.jobs)

    def for_ranks(self, ranks: int) -> Self:
        """Return the jobs with what follows from their numbers of ranks."""
        if self.ranks != ranks:
            raise problem(f"found {ranks}", f"{self.ranks}, the ranks of all jobs", key="ranks")
        jobs = [job.changed(workload=_for_job(job, number)) for number, job in enumerate(self.jobs)]
        return self.model_copy(update={"jobs": jobs})

    def schedule_keys(self) -> dict[str, Any]:
        """Return the keys that the compiled description reads; allocations are the point's."""
        return {"kind": self.kind, "jobs": list(self._of_jobs())}

    def alone(self, number: int) -> dict[str, Any]:
        """Return the same for a job that runs alone, where it is, while the others' nodes stay idle."""
        return self.schedule_keys() | {"only": number}

    def _of_jobs(self) -> Iterator[dict[str, Any]]:
        for job in self.jobs:
            yield {"name": job.name, "ranks": job.ranks, "start": job.start, "workload": job.workload.schedule_keys()}

    def allocation(self, usual: str, ranks_per_node: int) -> dict[str, Any]:
        """Return which nodes each job gets, as the simulator reads it; `usual`: the rule of those that have none."""
        own = [job.model_dump(mode="json", include={"allocation"}, exclude_none=True) for job in self.jobs]
        nodes = [job.ranks // ranks_per_node for job in self.jobs]
        return {"jobs": [{"nodes": n, "allocation": usual, **rule} for n, rule in zip(nodes, own, strict=True)]}
