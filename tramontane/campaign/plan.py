"""Decides what is to be run: experiments become points, points without a result become batches.

Planning reads and writes small files only and may be repeated at any time. It rewrites a file only if its content
changes, because the workflow goes by times of modification: whoever changes nothing sets nothing in motion.
"""

import dataclasses
import json
import math
import os
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from tramontane.campaign.clock import bring_back, now_at
from tramontane.campaign.packing import Batch, Job, pack_all
from tramontane.campaign.rules import Rules
from tramontane.campaign.selection import choose
from tramontane.errors import InputError, closest
from tramontane.measurement.execution import find_unmeasurable
from tramontane.results.manifest import Manifest, manifest
from tramontane.results.manifest import dump as dump_manifest
from tramontane.results.manifest import read as read_manifest
from tramontane.results.published import find_published, take_over
from tramontane.results.store import Store
from tramontane.study import SCALES, Experiment, Point, estimate, expand, list_experiments, load_experiment
from tramontane.study.experiments.claims import printed_times
from tramontane.study.experiments.consistency import check_experiment
from tramontane.study.points.cost import memory_on_accelerator, on_accelerator
from tramontane.study.reading.names import ALL, NONE
from tramontane.study.reading.project import EXPERIMENTS
from tramontane.substrates import get
from tramontane.substrates.devices import goes_to_accelerator
from tramontane.substrates.simulator import Simulator
from tramontane.support import host
from tramontane.support.files import dump, write_if_changed
from tramontane.support.layout import Layout, reproduce_command
from tramontane.support.processes import on_all_cores
from tramontane.support.progress_line import with_progress

#: What a progress line says meanwhile.
READING = "reading experiments"

#: Why points are left out that nobody wants to be run.
_NOT_ASKED = "no point is to be run"


@dataclass(frozen=True)
class PlannedExperiment:
    """An experiment with what is there of it.

    Parameters
    ----------
    manifest : dict
        Its manifest.
    points : dict
        Its points by identity, each once.
    missing : frozenset of str
        Those that are to be run.
    changed : dict of str to int
        Points of the simulator with the revision of its model that last changed their results.
    """

    manifest: Manifest
    points: dict[str, Point]
    missing: frozenset[str]
    changed: dict[str, int]

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return str(self.manifest["name"])


@dataclass(frozen=True)
class Resources:
    """What a campaign may use.

    Parameters
    ----------
    cores : int or None
        Cores that will share the batches; None for this machine's.
    memory : int or None
        Largest memory that a point may need [B]; None for any.
    threads : int
        Threads, and so cores, for each point.
    cluster : bool
        Whether the batches are jobs of a batch system.
    minutes : int or None
        Longest time that a job may ask for [min]; None for any.
    device : str
        What simulates; with ``gpu`` and ``auto`` there is a GPU (:func:`tramontane.substrates.devices.of_campaign`).
    """

    cores: int | None = None
    memory: int | None = None
    threads: int = 1
    cluster: bool = False
    minutes: int | None = None
    device: str = "cpu"


#: All of this machine, and any memory.
HERE = Resources()


@dataclass(frozen=True)
class Plan:
    """What is to be run, and why.

    Parameters
    ----------
    root : Path
        Root of the checkout.
    scale : str
        The scale.
    experiments : list of PlannedExperiment
        The experiments asked for.
    batches : list of Batch
        The jobs, the most expensive first.
    outdated : dict
        Points whose result is of an older model revision, there or about to be taken over, with that revision.
    revision : int or None
        The simulator's newest model revision; None if it has not been compiled.
    too_large : list of Job
        Points that need more memory than there is, and are left out.
    absent : dict
        Points that are left out, by why: their substrate can't run (and what installs it), or nobody asks for them.
    published : frozenset of str
        Points that need not be run, because their records come with the project.
    resources : Resources
        What it was made for.
    """

    root: Path
    scale: str
    experiments: list[PlannedExperiment]
    batches: list[Batch] = field(default_factory=list)
    outdated: dict[str, int] = field(default_factory=dict)
    revision: int | None = None
    too_large: list[Job] = field(default_factory=list)
    absent: dict[str, list[str]] = field(default_factory=dict)
    published: frozenset[str] = frozenset()
    resources: Resources = HERE

    @property
    def left_out(self) -> int:
        """How many points can't be run here."""
        return len(self.too_large) + sum(map(len, self.absent.values()))

    @property
    def layout(self) -> Layout:
        """Where the campaign's files lie."""
        return Layout(self.root, self.scale)

    @property
    def points(self) -> dict[str, Point]:
        """All points, each once, whatever number of experiments share it."""
        return {identity: point for experiment in self.experiments for identity, point in experiment.points.items()}

    @property
    def jobs(self) -> list[Job]:
        """The points that are to be run."""
        return [job for batch in self.batches for job in batch.jobs]

    @property
    def seconds(self) -> float:
        """Estimated processor time [s], without that of points left to a GPU."""
        return sum(batch.seconds for batch in self.batches if not batch.on_gpu)

    @property
    def gpu_seconds(self) -> float:
        """Estimated time of a GPU [s]."""
        return sum(batch.seconds for batch in self.batches if batch.on_gpu)


def make_plan(
    root: Path,
    scale: str,
    experiments: Sequence[str] = (ALL,),
    resources: Resources = HERE,
    *,
    refresh: bool = False,
    run: bool = True,
    where: str | None = None,
) -> Plan:
    """Return the plan of a campaign; writes nothing.

    Parameters
    ----------
    root : Path
        Root of the checkout.
    scale : str
        One of `tramontane.study.SCALES`.
    experiments : sequence of str, optional
        Names of experiments, or "all", or "none".
    resources : Resources, optional
        What batches are made for.
    refresh : bool, optional
        Whether to run points again whose result is of an older model revision.
    run : bool, optional
        False: no point is run; figures and report show what is there.
    where : str, optional
        Only points for which this expression of their coordinates holds are run.

    Raises
    ------
    InputError
        If an experiment or the scale does not exist, or an experiment or the expression holds a mistake.
    """
    check_scale(scale)
    store = Store(root)
    loaded = [load_experiment(path) for path in select(root, experiments)]
    if ALL in experiments:  # those that have such a scale, at least one
        loaded = _with_scale(root, scale, loaded)
    revision = _revision()
    printed = printed_times(root)
    with with_progress(loaded, READING) as read:
        planned = [
            plan_experiment(experiment, scale, store, revision, printed.get(experiment.name, ())) for experiment in read
        ]
    points = {identity: point for experiment in planned for identity, point in experiment.points.items()}
    missing = {identity for experiment in planned for identity in experiment.missing}
    changed = {identity: known for experiment in planned for identity, known in experiment.changed.items()}
    old = dict(find_outdated(changed, store))
    offered = find_published(root, missing | old.keys(), revision)
    asked = points.keys() if where is None else choose([entry.manifest for entry in planned], where)
    wanted, published, outdated = find_needed(missing, old, offered, changed, again=asked if refresh and run else set())
    absent = {}
    if others := wanted - asked:
        absent[f"not {where}"] = sorted(others)
        wanted -= others
    if run:
        absent |= find_absent(root, {identity: points[identity] for identity in sorted(wanted)})
    elif wanted:
        absent[_NOT_ASKED] = sorted(wanted)
    wanted -= {identity for identities in absent.values() for identity in identities}
    jobs = make_jobs([points[identity] for identity in sorted(wanted)], resources.device)
    largest = math.inf if resources.memory is None else resources.memory
    too_large = [job for job in jobs if job.memory > largest]
    fitting = [job for job in jobs if job.memory <= largest]
    return Plan(
        root=root,
        scale=scale,
        experiments=[dataclasses.replace(entry, missing=frozenset(wanted & entry.points.keys())) for entry in planned],
        batches=pack_all(fitting, max(1, (resources.cores or host.cores()) // resources.threads)),
        outdated=outdated,
        revision=revision,
        too_large=too_large,
        absent=absent,
        published=published,
        resources=resources,
    )


def _with_scale(root: Path, scale: str, loaded: Sequence[Experiment]) -> list[Experiment]:
    """Return the experiments that have a scale; refuse a folder that holds none of them."""
    found = [experiment for experiment in loaded if scale in experiment.scales]
    if loaded and not found:
        known = ", ".join(name for name in SCALES if any(name in experiment.scales for experiment in loaded))
        raise InputError("--scale", "", scale, known, problem=f"no experiment has scale {scale!r}")
    if not found:
        allowed = "an experiment, as `tramontane new-experiment NAME` writes it"
        raise InputError(root / EXPERIMENTS, "", None, allowed, problem="no *.yaml that can be read there")
    return found


class Needed(NamedTuple):
    """What of a campaign's points is to be done.

    Attributes
    ----------
    wanted : set of str
        Points that are to be run.
    published : frozenset of str
        Points whose published record is taken over.
    outdated : dict of str to int
        Points whose result is old then, unless they are run, with its revision.
    """

    wanted: Set[str]
    published: frozenset[str]
    outdated: dict[str, int]


def find_needed(
    missing: Set[str], old: Mapping[str, int], offered: Mapping[str, int], changed: Mapping[str, int], again: Set[str]
) -> Needed:
    """Return which points are to be run, which are taken over from what is published, and which are old then.

    Parameters
    ----------
    missing : set of str
        Points without a record.
    old : mapping
        Points whose record is old, with its revision of the model.
    offered : mapping
        Points that are published, with the revision of that record.
    changed : mapping
        Points with the revision that last changed their results.
    again : set of str
        Points that are to be run again where their result is old.
    """
    current = {identity for identity, known in offered.items() if known >= changed.get(identity, known)}
    outdated = {**old, **{identity: known for identity, known in offered.items() if identity in missing - current}}
    again = outdated.keys() & again
    # What lacks is taken over whatever its revision; what is to be run again, only if that spares the run.
    current &= missing | again
    published = frozenset(current | (offered.keys() & missing - again))
    outdated = {identity: known for identity, known in outdated.items() if identity not in current}
    return Needed((missing | again) - published, published, outdated)


def _revision() -> int | None:
    """Return the newest revision of the simulator's model; None if it has not been compiled."""
    simulator = Simulator()
    return simulator.newest_revision() if simulator.available() is None else None


def find_absent(root: Path, points: Mapping[str, Point]) -> dict[str, list[str]]:
    """Return the points that can't run here, by the reason; whether one can be measured depends on its system.

    Parameters
    ----------
    root : Path
        Root of the checkout.
    points : mapping
        Points by their identities.
    """
    measured = {identity: point.system for identity, point in points.items() if point.system}
    others = {identity: point for identity, point in points.items() if identity not in measured}
    return find_without_substrate(others) | find_unmeasurable(root, measured)


def find_without_substrate(points: Mapping[str, Point]) -> dict[str, list[str]]:
    """Return the points that can't run here, by the reason: their substrate is not installed, or can't express them.

    Parameters
    ----------
    points : mapping
        Points by their identities.
    """
    reasons = {name: get(name).available() for name in {point.substrate for point in points.values()}}
    absent: dict[str, list[str]] = {}
    for identity, point in points.items():
        name = point.substrate
        reason = reasons[name] or get(name).refusal(point)
        if reason is not None:
            absent.setdefault(f"substrate {name}: {reason}", []).append(identity)
    return absent


def check_scale(scale: str) -> None:
    """Refuse a scale that does not exist."""
    if scale not in SCALES:
        raise InputError("--scale", "", scale, ", ".join(SCALES), hint=closest(scale, SCALES))


def select(root: Path, names: Sequence[str]) -> list[Path]:
    """Return the files of the experiments called `names`, each once, in the order of their files.

    The beginning of a name will do where it is the beginning of one only: ``fig05a``. Words that several names begin
    with stand for all of them: ``cross-validation``.

    Raises
    ------
    InputError
        If there is no experiment of that name.
    """
    files = {path.stem: path for path in list_experiments(root)}
    if list(names) == [NONE]:
        return []
    if ALL in names:
        return list(files.values())
    chosen = {full for name in names for full in _full_names(name, list(files))}
    return [path for name, path in files.items() if name in chosen]


def _full_names(name: str, known: Sequence[str]) -> list[str]:
    if name in known:
        return [name]
    begun = [full for full in known if full.startswith(name)]
    if len(begun) == 1 or (begun and all(full.startswith(f"{name}-") for full in begun)):
        return begun
    problem = f"{name!r} begins several names" if begun else f"unknown experiment {name!r}"
    allowed = ", ".join(begun or (*known, ALL, NONE))
    raise InputError("experiment", "", name, allowed, problem=problem, hint=closest(name, known))


def plan_experiment(
    experiment: Experiment,
    scale: str,
    store: Store,
    revision: int | None = None,
    printed: Sequence[Mapping[str, Any]] = (),
) -> PlannedExperiment:
    """Return what `experiment` consists of at `scale`, for a model revision, and what of it is missing.

    Its figure shows `printed` times beside (:func:`tramontane.study.experiments.claims.printed_times`).

    Raises
    ------
    InputError
        If the experiment holds a mistake, or its figure would have nothing to show at this scale.
    """
    expansion = expand(experiment, scale)
    check_experiment(experiment, [expansion])
    points = expansion.unique()
    missing = frozenset(identity for identity in points if not store.has(identity))
    known = {} if revision is None else {identity: _last_change(point) for identity, point in points.items()}
    changed = {identity: at for identity, at in known.items() if at is not None}
    return PlannedExperiment(manifest(experiment, expansion, revision, changed, printed), points, missing, changed)


def _last_change(point: Point) -> int | None:
    """Return the revision of its substrate's model that last changed a point's results; None if there is no such."""
    substrate = get(point.substrate)
    return substrate.revision(point) if substrate.available() is None else None


def make_job(point: Point, device: str = "cpu") -> Job:
    """Return a point with its estimated cost on what it is left to."""
    cost = estimate(point)
    if not goes_to_accelerator(point, device):
        return Job(point.id, point, float(cost.seconds), int(cost.memory_bytes))
    seconds = on_accelerator(cost, point.ranks)
    return Job(point.id, point, float(seconds), int(cost.memory_bytes), memory_on_accelerator(point))


def make_jobs(points: Sequence[Point], device: str = "cpu") -> list[Job]:
    """Return points with their estimated costs, in their order; shows a progress line.

    Points of a workload go to the same process, which counts the messages once.
    """
    places: dict[tuple[Hashable, int], list[int]] = {}
    for place, point in enumerate(points):
        places.setdefault((point.workload, point.ranks), []).append(place)
    alike = [[points[place] for place in group] for group in places.values()]
    made = on_all_cores(partial(_make_all, device), alike, "estimating")
    jobs = dict(zip(chain(*places.values()), chain(*made), strict=True))
    return [jobs[place] for place in range(len(points))]


def _make_all(device: str, points: Sequence[Point]) -> list[Job]:
    return [make_job(point, device) for point in points]


def find_outdated(changed: Mapping[str, int], store: Store) -> Iterable[tuple[str, int]]:
    """Yield the points whose result is of an older revision of the model than the one that last changed such results.

    Each has the revision of its result beside it.
    """
    for identity, revision in changed.items():
        if store.has(identity) and (known := store.revision(identity)) < revision:
            yield identity, known


def write_plan(plan: Plan) -> None:
    """Write the manifests, the batches and the plan; take over what is published; remove what earlier plans have left.

    A batch holds missing points only, so none of the planned ones has ended: all marks of batches that have are from
    earlier plans and go, lest a batch that is planned again seem to have ended.
    """
    layout = plan.layout
    store = Store(plan.root)
    layout.folder.mkdir(parents=True, exist_ok=True)
    records = (path for identity in plan.points for path in (store.path(identity), store.failure_path(identity)))
    bring_back((*layout.folder.rglob("*"), *records), now_at(layout.folder))
    take_over(plan.root, plan.published)
    running = {job.identity for job in plan.jobs}
    for experiment in plan.experiments:
        write_if_changed(layout.manifest(experiment.name), dump_manifest(experiment.manifest))
        _drop_if_outrun(layout.dataset(experiment.name), experiment, store, running)

    for folder in (layout.done, layout.measured):
        for mark in (*folder.glob("*.done"), *folder.glob("*.hand")):
            mark.unlink()
    files = {layout.batch(batch.identity): dump(describe_batch(batch, layout)) for batch in plan.batches}
    for file in layout.batches.glob("*.json"):
        if file not in files:
            file.unlink()
    for file, text in files.items():
        write_if_changed(file, text)
    write_if_changed(layout.plan, json.dumps(_outline(plan, _reported(plan)), indent=1) + "\n")
    write_if_changed(layout.shown, json.dumps(Rules(plan.root).shown(plan.scale), indent=1) + "\n")
    os.utime(layout.plan)  # marks the start by the clock of the file system that gets the records; no rule waits for it


def _drop_if_outrun(dataset: Path, experiment: PlannedExperiment, store: Store, running: Set[str]) -> None:
    """Remove a dataset if records are not those it was made of, whatever their times, or if a record is to come.

    The latter counts where points failed before: of what their batch wrote, nothing would be missing. A manifest that
    is newer would not do, because Snakemake compares the content of small files too: it may be what it was before.
    """
    if not dataset.exists():
        return
    from tramontane.results.datasets import is_outrun  # noqa: PLC0415 (slow to import)

    if running & experiment.points.keys() or is_outrun(dataset, store.digest(experiment.points)):
        dataset.unlink()


def describe_batch(batch: Batch, layout: Layout) -> dict[str, Any]:
    """Return the content of a batch's file."""
    return {
        "id": batch.identity,
        "done": layout.ended(batch.identity, measured=batch.measured).relative_to(layout.root).as_posix(),
        "seconds": batch.seconds,
        "memory_bytes": batch.memory,
        "points": [
            {"id": job.identity, "seconds": job.seconds, "memory_bytes": job.memory, "point": job.point.canonical()}
            for job in batch.jobs
        ],
    }


def _reported(plan: Plan) -> list[str]:
    """Return the experiments that the report shows: those of the plan, and those that an earlier plan has finished."""
    layout = plan.layout
    planned = {experiment.name for experiment in plan.experiments}
    names = [path.stem for path in list_experiments(plan.root)]
    return [name for name in names if name in planned or _is_finished(layout, name)]


def _is_finished(layout: Layout, name: str) -> bool:
    """Tell whether an earlier plan has finished an experiment; of a damaged manifest, say so in one line."""
    file = layout.manifest(name)
    if not (file.exists() and layout.dataset(name).exists()):
        return False
    try:
        read_manifest(file)
    except InputError as error:
        print(f"{error}; '{name}' is left out of the report until it is asked for", file=sys.stderr, flush=True)
        return False
    return True


def command(plan: Plan, reported: Sequence[str]) -> str:
    """Return the command that makes the report again."""
    everything = len(reported) == len(list_experiments(plan.root))
    return reproduce_command(plan.root, plan.scale, () if everything else reported)


def _outline(plan: Plan, reported: Sequence[str]) -> dict[str, Any]:
    """Return what the rules need to know: batches with their resources, and which experiment waits for which."""
    wanted = {experiment.name: set(experiment.points) for experiment in plan.experiments}
    members = {batch.identity: {job.identity for job in batch.jobs} for batch in plan.batches}
    return {
        "scale": plan.scale,
        "command": command(plan, reported),
        "memory_bytes": plan.resources.memory,
        "minutes": plan.resources.minutes,
        "cluster": plan.resources.cluster,
        "threads": plan.resources.threads,
        "experiments": {
            name: [batch for batch, points in members.items() if points & wanted.get(name, set())] for name in reported
        },
        "batches": {
            batch.identity: {
                "seconds": round(batch.seconds, 3),
                "memory_bytes": batch.memory,
                "measured": batch.measured,
                "on_gpu": batch.on_gpu,
            }
            for batch in plan.batches
        },
    }
