"""What the regression checks run: the points of experiments that name the substrate `mpi`, or those of one batch."""

import fnmatch
import itertools
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tramontane.measurement import calibration
from tramontane.study import Experiment, Point, System, expand, find_root, list_experiments, load_experiment
from tramontane.study.patterns.patterns import PROJECT
from tramontane.study.points.loading import canonical_point
from tramontane.study.points.points import MEASURED
from tramontane.study.systems.systems import Performance

#: The environment variable that names a batch, whose points are then the only cases.
BATCH = "TRAMONTANE_BATCH"
#: ReFrame's tags for the points of each scale; production is what a centre runs each day.
TAGS = {"smoke": {"CI"}, "laptop": {"1_node", "production"}, "paper": {"production"}}
#: Cases of scale smoke of at most so many ranks are also for places with as many cores.
FEW_CORES, FEW_RANKS = "4_cores", 4
#: ReFrame's tags for the systems of the papers, by the key in ``configs/references.yaml`` that an experiment refers to.
SYSTEMS = {"B": "monc", "W": "grist", "D": "lm", "J": "homme"}


@dataclass(frozen=True)
class Case:
    """A point that is run for real.

    Attributes
    ----------
    name : str
        What a report calls it.
    identity : str
        Identity of the point.
    point : Point or None
        The point; None for the messages between two ranks of a calibration.
    tags : frozenset of str
        Scales it belongs to, which say where it runs.
    systems : frozenset of str
        Systems of the papers it belongs to; these don't.
    """

    name: str
    identity: str
    point: Point | None
    tags: frozenset[str]
    systems: frozenset[str] = frozenset()


def project() -> Path:
    """Return the folder whose experiments and systems are meant; ReFrame loads its files in a folder of their own."""
    return find_root(os.environ.get(PROJECT) or Path(__file__).parent)


def cases(root: Path, batch: str | None = None) -> dict[str, Case]:
    """Return the cases by name: those of a batch's file, else those of experiments below `root` and of calibrations."""
    found = _of_batch(Path(batch)) if batch else itertools.chain(_of_experiments(root), _of_calibration())
    return {case.name: case for case in _told_apart(found)}


def _told_apart(found: Iterable[Case]) -> Iterator[Case]:
    """Yield each case once; where points share a name, as those of the labels `a b` and `a_b` do, with identities."""
    distinct = list({(case.name, case.identity): case for case in found}.values())
    points = Counter(case.name for case in distinct)
    for case in distinct:
        yield case if points[case.name] == 1 else replace(case, name=f"{case.name}-{case.identity}")


def _of_batch(file: Path) -> Iterator[Case]:
    for number, entry in enumerate(json.loads(file.read_text(encoding="utf-8"))["points"]):
        data = entry.get("point")
        point = canonical_point(data, file, f"points[{number}].point") if data else None
        yield Case(entry["id"], entry["id"], point, frozenset())


def _of_calibration() -> Iterator[Case]:
    tags = frozenset({calibration.TAG})
    yield Case(calibration.MESSAGES, calibration.MESSAGES, None, tags)
    for own in calibration.operations(calibration.RANKS):
        yield Case(own.case, own.case, own.point, tags)


def _of_experiments(root: Path) -> Iterator[Case]:
    for path in list_experiments(root):
        experiment = load_experiment(path)
        if not mentions_mpi(experiment):
            continue
        systems = frozenset(SYSTEMS[key] for key in experiment.references if key in SYSTEMS)
        for scale in experiment.scales:
            for entry in expand(experiment, scale).points:
                if entry.point is not None and entry.point.substrate == MEASURED:
                    words = "-".join(map(str, (experiment.name, scale, *entry.coords.values())))
                    name = "_".join(words.replace(",", " ").split())  # for files, CSV tables and `reframe -n`
                    yield Case(name, entry.point.id, entry.point, tags(scale, entry.point.ranks), systems)


def mentions_mpi(experiment: Experiment) -> bool:
    """Return whether any part of an experiment sets the substrate to `mpi`; others need not be expanded."""
    return any(_sets_mpi(part) for part in (experiment.base, experiment.cross, experiment.variants, experiment.zip))


def _sets_mpi(part: object) -> bool:
    if isinstance(part, Mapping):
        own = part.get("substrate")
        return own == MEASURED or (isinstance(own, list) and MEASURED in own) or any(map(_sets_mpi, part.values()))
    return isinstance(part, list) and any(map(_sets_mpi, part))


def tags(scale: str, ranks: int) -> frozenset[str]:
    """Return ReFrame's tags of a case."""
    return frozenset(TAGS[scale] | ({FEW_CORES} if scale == "smoke" and ranks <= FEW_RANKS else set()))


def reference(case: str, system: System, partition: str, environment: str) -> Performance | None:
    """Return what `case` is expected to take there: the first entry that fits; without one anything goes."""
    for entry in system.references:
        if (entry.partition, entry.environment) == (partition, environment) and fnmatch.fnmatch(case, entry.case):
            return entry
    return None
