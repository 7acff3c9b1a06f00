"""The points of a study of uncertainty, and what becomes of each statement on each drawn machine."""

import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tramontane.campaign.packing import Batch, pack_all
from tramontane.campaign.plan import describe_batch, make_jobs
from tramontane.claims import racing
from tramontane.claims.bands import RANKS
from tramontane.claims.evaluation import Campaign, outcomes
from tramontane.claims.outcome import Lacking
from tramontane.results.collate import collate_manifest
from tramontane.results.manifest import manifest
from tramontane.results.store import Store
from tramontane.study import Expansion, expand
from tramontane.study.experiments.claims import Claim, Judgement, load_judgement
from tramontane.study.experiments.expansion import ExpandedPoint
from tramontane.study.experiments.experiments import DRAW, MEMBER
from tramontane.study.experiments.samples import chosen, experiments
from tramontane.study.experiments.studies import Size, Study
from tramontane.support.files import dump, write_if_changed
from tramontane.support.formatting import roughly
from tramontane.support.layout import Layout
from tramontane.support.processes import python

Floats = NDArray[np.float64]

TOGETHER = 4
"""Machines whose points are shared among the cores before those of the next ones begin."""


class Ran(NamedTuple):
    """How many points are needed, how many of them were not there, and how many of those have failed."""

    points: int = 0
    missing: int = 0
    failed: int = 0

    def and_then(self, other: "Ran") -> "Ran":
        """Return both together."""
        return Ran(*(sum(pair) for pair in zip(self, other, strict=True)))


@dataclass(frozen=True)
class Tried:
    """One statement on all drawn machines.

    Attributes
    ----------
    claim : str
        Identifier.
    margins : array
        Margin on each machine, nan where its points lack.
    held : array
        Share of its decided checks that hold on each machine, nan where its points lack.
    early : array of bool
        Where it has failed at the smallest process count, and was run no further: its margin is an upper bound, and
        `held` is of the checks that were looked at.
    base, base_held : float
        Both on the project's own machine.
    unit : str
        Unit of the margins where one check gave all of them, else "several units".
    decided, checks : int
        How many of its checks these process counts can decide, of how many.
    ranks : tuple of float
        First and last process count that was compared.
    """

    claim: str
    margins: Floats
    held: Floats
    early: NDArray[np.bool_]
    base: float
    base_held: float
    unit: str
    decided: int
    checks: int
    ranks: tuple[float, float]

    @property
    def there(self) -> NDArray[np.bool_]:
        """Which machines could be decided: a margin may be infinite, as where a time is 0."""
        return np.asarray(~np.isnan(self.margins))

    @property
    def holds(self) -> NDArray[np.bool_]:
        """Whether it holds on each machine: all decided checks do, even with a margin of zero where the turn counts."""
        return np.asarray(self.held == 1)

    @property
    def base_holds(self) -> bool:
        """Whether it holds on the project's own machine."""
        return self.base_held == 1


def drawn(study: Study, root: Path, scale: str, size: int) -> list[Expansion]:
    """Return all experiments of a study, drawn over."""
    return [expand(each, scale) for each in experiments(study, root, scale, size)]


def own(study: Study, root: Path, scale: str) -> list[Expansion]:
    """Return the same on our own machine."""
    return [expand(each, scale) for each in experiments(study, root, scale, 0, base=True)]


def runs(study: Study, root: Path, scale: str) -> str:
    """Return in words how many runs a machine has of each point: as many as the ensembles have members."""
    numbers = [
        number
        for each in own(study, root, scale)
        for number in Counter(
            tuple(value for name, value in entry.coords.items() if name != MEMBER)
            for entry in each.points
            if entry.point is not None
        ).values()
    ]
    least, most = min(numbers), max(numbers)
    if most == 1:
        return "one run each"
    return f"{most} runs each" if least == most else f"{least} to {most} runs each"


def begun(study: Study, root: Path, scale: str, size: int) -> bool:
    """Return whether a point of the first drawn machine is there, with which a study begins.

    Far quicker than to look at all machines.
    """
    first = study.model_copy(update={"sample": study.sample.at(study.sample.places(size)[:1])})
    store = Store(root)
    return any(store.has(identity) for each in drawn(first, root, scale, 1) for identity in each.unique())


def simulate(
    name: str, study: Study, root: Path, scale: str, size: int, cores: int, tell: Callable[[str], None]
) -> Ran:
    """Run the points of drawn machines that lack; return what became of them.

    Points are ordinary ones: those that any experiment has are there already, and a run that is stopped goes on. It has
    whole machines, because a few are run before the next ones begin.

    Parameters
    ----------
    name : str
        The study's name.
    study, root, scale, size
        The study, the checkout, and how large.
    cores : int
        Processes.
    tell : callable
        Is given a line when some machines are done: how many, and how long the others take.
    """
    places = study.sample.places(size)
    ran, run_here = Ran(), 0
    seconds = 0.0  # of those that were not there
    for first in range(0, size, TOGETHER):
        begin, before = time.monotonic(), ran.missing
        some = places[first : first + TOGETHER]
        part = study.model_copy(update={"sample": study.sample.at(some)})
        made = drawn(part, root, scale, len(some))
        entries = [(each.experiment.name, entry) for each in made for entry in each.points if entry.point is not None]
        if study.scales[scale].race:
            smallest = study.scales[scale].processes[0]
            early = [entry for _, entry in entries if entry.coords.get(RANKS) == smallest]
            begun_early = run(name, early, root, scale, cores)
            # All of these are among those below, where what has failed is tried again.
            ran = ran._replace(missing=ran.missing + begun_early.missing - begun_early.failed)
            needed = [_open(study, root, scale, each) for each in machines(made, root, len(some))]
            entries = [
                (experiment, entry)
                for experiment, entry in entries
                if entry.coords.get(RANKS) == smallest or experiment in needed[int(entry.coords[DRAW])]
            ]
        ran = ran.and_then(run(name, [entry for _, entry in entries], root, scale, cores))
        if ran.missing > before:
            run_here, seconds = run_here + len(some), seconds + time.monotonic() - begin
        done = first + len(some)
        left = f"; {roughly((size - done) * seconds / run_here)} left" if run_here and done < size else ""
        tell(f"{name}: {done} of {size} machines{left}")
    return ran


def layout_of(root: Path, name: str, scale: str) -> Layout:
    """Return where the files of a study lie."""
    return Layout(root, f"over-{name}-{scale}")


def run_log(root: Path, name: str, scale: str) -> Path:
    """Return the file in which a study's batches say what became of each point."""
    return layout_of(root, name, scale).folder / "run.log"


def run(name: str, entries: Iterable[ExpandedPoint], root: Path, scale: str, cores: int) -> Ran:
    """Run the points that lack; return what became of them."""
    points = {entry.point.id: entry.point for entry in entries if entry.point is not None}
    store = Store(root)
    missing = [point for identity, point in points.items() if not store.has(identity)]
    layout = layout_of(root, name, scale)
    layout.batches.mkdir(parents=True, exist_ok=True)
    waiting = []
    jobs = make_jobs(missing)
    for batch in pack_all(jobs, cores) if cores > 1 else [Batch(tuple(jobs))] * bool(jobs):  # one start for one core
        file = layout.batch(batch.identity)
        write_if_changed(file, dump(describe_batch(batch, layout)))
        waiting.append(file)
    running: list[subprocess.Popen[bytes]] = []
    with run_log(root, name, scale).open("ab") as log:
        while waiting or running:
            while waiting and len(running) < cores:
                command = python("tramontane", "run-batch", str(waiting.pop(0)))
                running.append(subprocess.Popen(command, stdout=log, stderr=log))
            time.sleep(0.1)
            running = [each for each in running if each.poll() is None]
    return Ran(len(points), len(missing), sum(not store.has(point.id) for point in missing))


class Drawn(Campaign):
    """The datasets of one drawn machine, by experiment."""

    def __init__(self, root: Path, scale: str, found: Mapping[str, xr.Dataset]) -> None:
        super().__init__(root, scale)
        self._datasets = dict(found)

    def dataset(self, experiment: str) -> xr.Dataset:
        """Return the dataset of an experiment (Lacking)."""
        found = self._datasets.get(experiment)
        if found is None:
            raise Lacking(f"experiment {experiment}")
        return found


def judgement_at(study: Study, root: Path, scale: str) -> Judgement:
    """Return how strictly words are read, with the process counts that a scale asks for."""
    judgement, wanted = load_judgement(root), study.scales[scale]
    own = {"first": wanted.first, "decades": wanted.decades}
    given = {name: value for name, value in own.items() if value is not None}
    return judgement.model_copy(
        update={name: getattr(judgement, name).model_copy(update={"value": value}) for name, value in given.items()}
    )


def machines(made: Sequence[Expansion], root: Path, size: int) -> list[dict[str, xr.Dataset]]:
    """Return the datasets of each drawn machine by experiment, as far as their points are there."""
    found = _datasets(made, Store(root))
    return [{name: data.isel({DRAW: draw}, drop=True) for name, data in found.items()} for draw in range(size)]


def own_machine(study: Study, root: Path, scale: str) -> dict[str, xr.Dataset]:
    """Return the datasets of our own machine by experiment, as far as their points are there."""
    return _datasets(own(study, root, scale), Store(root))


def _datasets(made: Sequence[Expansion], store: Store) -> dict[str, xr.Dataset]:
    return {each.experiment.name: collate_manifest(manifest(each.experiment, each), store) for each in made}


def _ended(study: Study, root: Path, scale: str, machine: Mapping[str, xr.Dataset]) -> dict[str, tuple[float, float]]:
    """Return the statements that have failed at the smallest process count of a machine; see `racing.ended`."""
    wanted = study.scales[scale]
    if not wanted.race:
        return {}
    judgement = judgement_at(study, root, scale)
    smallest = {name: data.isel({RANKS: [0]}) for name, data in machine.items() if RANKS in data.dims}
    campaign = Drawn(root, scale, smallest)
    found = {
        name: racing.ended(claim, campaign, judgement)
        for name, claim in chosen(study, root)
        if all(racing.may_end_early(claim, counts, judgement) for counts in _counts(claim, wanted))
    }
    return {name: end for name, end in found.items() if end is not None}


def _counts(claim: Claim, wanted: Size) -> list[int]:
    """Return at how many process counts each experiment of a statement is run."""
    return [len(wanted.processes_of.get(name, wanted.processes)) for name in sorted(claim.own_experiments)]


def _open(study: Study, root: Path, scale: str, machine: Mapping[str, xr.Dataset]) -> set[str]:
    """Return the experiments of the statements that the smallest process count leaves open."""
    ended = _ended(study, root, scale, machine)
    return {each for name, claim in chosen(study, root) if name not in ended for each in claim.own_experiments}


def tried(study: Study, root: Path, scale: str, size: int) -> tuple[list[Tried], Floats, frozenset[str]]:
    """Return what becomes of each statement, where the draws lie, and the commits that the points are of.

    Draws lie between 0 and 1, in an array of shape (draws, parameters).

    The margins are those of the statements' own checks, one machine at a time. A check for which these process counts
    do not suffice is left out, and counted; one that names a process count is held at the largest. Where a study races,
    a statement that has failed at the smallest process count is looked at no further, whatever points there are.
    """
    judgement = judgement_at(study, root, scale)
    found_on = [own_machine(study, root, scale), *machines(drawn(study, root, scale, size), root, size)]
    # Our own machine has all points, and tells which checks can be decided: it does not race.
    ends = [{}, *(_ended(study, root, scale, each) for each in found_on[1:])]
    campaigns = [Drawn(root, scale, each) for each in found_on]
    counts = study.scales[scale].processes
    found = []
    for name, claim in chosen(study, root):
        at = _at(claim, counts[-1]) if counts else claim
        early = np.array([name in each for each in ends])
        rows = [
            [] if end else [each for each in outcomes(at, one, judgement) if each.margin is not None]
            for one, end in zip(campaigns, early, strict=True)
        ]
        margins = np.array([min((each.margin.value for each in row if each.margin), default=np.nan) for row in rows])
        most = max(rows, key=len)
        units = {each.margin.unit for row in rows for each in row if each.margin}
        ranks = [place for each in most if each.margin for place in each.margin.ranks]
        span = (min(ranks), max(ranks)) if ranks else (0.0, 0.0)
        unit = units.pop() if len(units) == 1 else "several units"
        # A machine that lacks a check which others have is not decided: half a statement is another one.
        margins[[len(row) < len(most) for row in rows]] = np.nan
        held = np.array([np.mean([bool(each.holds) for each in row]) if row else np.nan for row in rows])
        held[np.isnan(margins)] = np.nan
        for machine in np.flatnonzero(early):
            margins[machine], held[machine] = ends[machine][name]
        one = (float(margins[0]), float(held[0]))
        found.append(Tried(name, margins[1:], held[1:], early[1:], *one, unit, len(most), len(claim.checks), span))
    commits = frozenset(name for each in found_on for data in each.values() for name in _commits(data))
    return whole(found) if study.scales[scale].race else found, study.sample.places(size), commits


def _commits(data: xr.Dataset) -> list[str]:
    """Return the commits of the records in a dataset."""
    return [name for name in str(data.attrs.get("git_commit", "")).split(", ") if name]


def whole(found: Sequence[Tried]) -> list[Tried]:
    """Return statements on the machines on which all could be decided.

    Where points of a machine lack, what fails early is known of it, and what holds is not: shares would be too small.
    """
    asked = [each.there for each in found if each.there.any()]
    lacks = ~np.all(asked, axis=0) if asked else np.array([], dtype=bool)
    return [
        replace(
            each,
            margins=np.where(lacks, np.nan, each.margins),
            held=np.where(lacks, np.nan, each.held),
            early=each.early & ~lacks,
        )
        if asked
        else each
        for each in found
    ]


def joined(first: Sequence[Tried], later: Sequence[Tried]) -> list[Tried]:
    """Return statements on the machines of one wave and of those after it."""
    return [
        replace(
            one,
            margins=np.r_[one.margins, other.margins],
            held=np.r_[one.held, other.held],
            early=np.r_[one.early, other.early],
        )
        for one, other in zip(first, later, strict=True)
    ]


def _at(claim: Claim, ranks: int) -> Claim:
    """Return a statement with the process counts that its checks name replaced."""
    checks = [check.model_copy(update={"ranks": ranks}) if hasattr(check, "ranks") else check for check in claim.checks]
    return claim.model_copy(update={"checks": checks})
