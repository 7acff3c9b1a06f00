"""What there is of experiments, and what is still to be run of them; `list`, `describe` and `estimate` tell it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tramontane.campaign.packing import Batch, Job, pack_all
from tramontane.campaign.plan import (
    READING,
    PlannedExperiment,
    check_scale,
    find_absent,
    make_jobs,
    make_plan,
    plan_experiment,
    select,
)
from tramontane.campaign.selection import choose
from tramontane.errors import InputError
from tramontane.results.store import Store
from tramontane.study import SCALES, Experiment, expand, load_experiment
from tramontane.study.networks.mapping import in_words
from tramontane.study.patterns import patterns
from tramontane.study.reading.names import ALL, NONE
from tramontane.study.traces.traces import Counts, counts
from tramontane.study.workloads.jobs import Jobs
from tramontane.study.workloads.program_text import Origins, lines, lines_of_jobs
from tramontane.study.workloads.programs import Program
from tramontane.study.workloads.workloads import Trace
from tramontane.support import host
from tramontane.support.formatting import plural
from tramontane.support.processes import on_all_cores


@dataclass(frozen=True)
class Progress:
    """An experiment with how many of its points are there.

    Attributes
    ----------
    experiment : Experiment
        The experiment.
    counts : dict
        Points that are done, and all, by scale; only scales that it has.
    """

    experiment: Experiment
    counts: dict[str, tuple[int, int]]

    @property
    def figure(self) -> str:
        """The figure of its paper, if it has one."""
        return self.experiment.paper.figure or "" if self.experiment.paper else ""


def progress(file: Path, store: Store) -> Progress:
    """Return what is there of the experiment in a file (InputError if that holds a mistake)."""
    experiment = load_experiment(file)
    counts = {}
    for scale in SCALES:
        if scale in experiment.scales:
            identities = expand(experiment, scale).unique()
            counts[scale] = sum(map(store.has, identities)), len(identities)
    return Progress(experiment, counts)


def progress_of_all(files: Sequence[Path], store: Store) -> list[Progress | str]:
    """Return what is there of the experiment in each file, or the mistake in it; shows a progress line."""
    return on_all_cores(partial(_progress_or_mistake, store), files, READING)


def _progress_or_mistake(store: Store, file: Path) -> Progress | str:
    try:
        return progress(file, store)
    except InputError as error:
        return str(error)


@dataclass(frozen=True)
class Description:
    """An experiment at a scale.

    Attributes
    ----------
    experiment : Experiment
        The experiment.
    planned : PlannedExperiment
        What it consists of, and what is missing.
    jobs : list of Job
        All its points with their estimated cost.
    failed, excluded : int
        Points that failed, and combinations that are left out.
    origins : dict
        From what the tables of its points were made, by digest, as far as that is known.
    """

    experiment: Experiment
    planned: PlannedExperiment
    jobs: list[Job]
    failed: int
    excluded: int
    origins: Origins

    def programs(self) -> list[tuple[int, list[str]]]:
        """Return the different programs of its points in words, each with how many points have it."""
        programs = [job.point.workload for job in self.jobs if isinstance(job.point.workload, Program)]
        texts = [tuple(lines(program, self.origins)) for program in programs]
        return [(number, list(text)) for text, number in Counter(texts).items()]

    def side_by_side(self) -> list[tuple[int, list[str]]]:
        """Return the different jobs side by side of its points in words, each with how many points have them.

        Points that differ only in the allocation of jobs that have none of their own are told together, with all rules.
        """
        alike: dict[tuple[str, ...], tuple[Jobs, list[str]]] = {}
        for job in self.jobs:
            if isinstance(workload := job.point.workload, Jobs):
                text = tuple(lines_of_jobs(workload, "", self.origins))
                alike.setdefault(text, (workload, []))[1].append(in_words(job.point.allocation))
        return [
            (len(rules), list(lines_of_jobs(workload, " or ".join(dict.fromkeys(rules)), self.origins)))
            for workload, rules in alike.values()
        ]

    def traces(self) -> list[tuple[int, str]]:
        """Return what there is in the different traces of its points, each with how many points have it."""
        tables = Counter(str(job.point.workload.table) for job in self.jobs if isinstance(job.point.workload, Trace))
        return [(number, _counted(counts(patterns.table(table)))) for table, number in tables.items()]


def _counted(trace: Counts) -> str:
    return (
        f"{plural(trace.ranks, 'rank')}, {plural(trace.messages, 'message')}, {plural(trace.works, 'piece')} of work, "
        f"{trace.dependencies} dependencies" + (f", {trace.cpus} cpus a rank" if trace.cpus > 1 else "")
    )


def describe(root: Path, name: str, scale: str) -> Description:
    """Return what there is to know of the experiment called `name`.

    Raises
    ------
    InputError
        If there is no such experiment, or no such scale.
    """
    check_scale(scale)
    if name in (ALL, NONE):  # those stand for several; here a single one is described
        name = f"{name}?"
    experiment = load_experiment(select(root, [name])[0])
    store = Store(root)
    planned = plan_experiment(experiment, scale, store)
    return Description(
        experiment,
        planned,
        make_jobs(list(planned.points.values())),
        sum(map(store.has_failed, planned.points)),
        sum(bool(point.get("excluded")) for point in planned.manifest["points"]),
        patterns.origins(root, [point.workload.canonical() for point in planned.points.values()]),
    )


@dataclass(frozen=True)
class Forecast:
    """What is still to be run of experiments.

    Attributes
    ----------
    title, scale : str
        What is forecast.
    points : int
        All points, those that are done included.
    jobs : list of Job
        The missing ones.
    batches : list of Batch
        How they would be shared among jobs of the workflow, the most expensive first.
    absent : dict
        How many of the missing ones can't run here, by the reason; a campaign leaves them out.
    """

    title: str
    scale: str
    points: int
    jobs: list[Job]
    batches: list[Batch]
    absent: dict[str, int] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """Points that have a result."""
        return self.points - len(self.jobs)

    @property
    def seconds(self) -> float:
        """Processor time of all missing points [s], without that of points left to a GPU."""
        return sum(job.seconds for job in self.jobs if not job.on_gpu)

    @property
    def gpu_seconds(self) -> float:
        """Time of a GPU for the others [s]."""
        return sum(job.seconds for job in self.jobs if job.on_gpu)

    @property
    def longest(self) -> float:
        """Time of the longest one, on a core or on a GPU [s]."""
        return max((job.seconds for job in self.jobs), default=0.0)

    @property
    def memory(self) -> int:
        """Memory of the largest one [B]."""
        return max((job.memory for job in self.jobs), default=0)

    @property
    def gpu_memory(self) -> int:
        """Memory of a GPU for the largest one of those left to it [B]."""
        return max((job.gpu_memory for job in self.jobs), default=0)

    def as_data(self) -> dict[str, Any]:
        """Return what `tramontane estimate --json` prints."""
        return {
            "experiment": self.title,
            "scale": self.scale,
            "points": self.points,
            "done": self.done,
            "to_run": len(self.jobs),
            "can_not_run_here": self.absent,
            "cpu_s": self.seconds,
            "gpu_s": self.gpu_seconds,
            "peak_gpu_memory_bytes": self.gpu_memory,
            "longest_point_s": self.longest,
            "peak_memory_bytes": self.memory,
            "batches": [
                {"id": batch.identity, "points": len(batch.jobs), "cpu_s": batch.seconds, "memory_bytes": batch.memory}
                for batch in self.batches
            ],
        }


def forecast(root: Path, names: Sequence[str], scale: str, where: str | None = None, device: str = "cpu") -> Forecast:
    """Return what is still to be run of the experiments called `names`, at `scale`; of points chosen by `where`.

    With the devices ``gpu`` and ``auto`` as if there were a GPU.
    """
    planned = make_plan(root, scale, names, run=False)
    experiments, points = planned.experiments, planned.points
    if where is not None:
        points = {identity: points[identity] for identity in choose([each.manifest for each in experiments], where)}
    missing = sorted(points.keys() & {identity for identities in planned.absent.values() for identity in identities})
    jobs = make_jobs([points[identity] for identity in missing], device)
    title = experiments[0].name if len(experiments) == 1 else plural(len(experiments), "experiment")
    absent = find_absent(root, {job.identity: job.point for job in jobs})
    return Forecast(
        title,
        scale,
        len(points),
        jobs,
        pack_all(jobs, host.cores()),
        {reason: len(found) for reason, found in absent.items()},
    )
