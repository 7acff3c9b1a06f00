"""The points of a study of uncertainty, and what becomes of each statement on each drawn machine."""

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tramontane.campaign.packing import pack_all
from tramontane.campaign.plan import describe_batch, make_job
from tramontane.claims.evaluation import Campaign, outcomes
from tramontane.claims.outcome import Lacking
from tramontane.claims.samples import chosen, experiments
from tramontane.results.collate import collate_manifest
from tramontane.results.manifest import manifest
from tramontane.results.store import Store
from tramontane.study import Expansion, expand
from tramontane.study.claims import Claim, load_judgement
from tramontane.study.experiments import DRAW
from tramontane.study.points import Point
from tramontane.study.studies import Study
from tramontane.support.files import dump, write_if_changed
from tramontane.support.layout import Layout

Floats = NDArray[np.float64]

TOGETHER = 4
"""Draws whose points are shared among the cores before those of the next ones begin."""


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
    base: float
    base_held: float
    unit: str
    decided: int
    checks: int
    ranks: tuple[float, float]

    @property
    def holds(self) -> NDArray[np.bool_]:
        """Whether it holds on each machine: all decided checks do, even with a margin of zero where the turn counts."""
        return np.asarray(self.held == 1)

    @property
    def base_holds(self) -> bool:
        """Whether it holds on the project's own machine."""
        return self.base_held == 1


def expansions(study: Study, root: Path, scale: str, size: int) -> tuple[list[Expansion], list[Expansion]]:
    """Return what is run: all experiments drawn over, and the same on our own machine."""
    return (
        [expand(each, scale) for each in experiments(study, root, scale, size)],
        [expand(each, scale) for each in experiments(study, root, scale, size, base=True)],
    )


def run(name: str, made: Sequence[Expansion], root: Path, scale: str, cores: int) -> tuple[int, int]:
    """Run the points that lack; return how many there are, and how many were missing.

    Points are ordinary ones: those that any experiment has are there already, and a run that is stopped goes on.
    """
    groups = in_turn(made)
    store = Store(root)
    missing = [{identity: point for identity, point in group.items() if not store.has(identity)} for group in groups]
    layout = Layout(root, f"over-{name}-{scale}")
    layout.batches.mkdir(parents=True, exist_ok=True)
    waiting = []
    for group in missing:
        for batch in pack_all([make_job(point) for point in group.values()], cores):
            file = layout.batch(batch.identity)
            write_if_changed(file, dump(describe_batch(batch, layout)))
            waiting.append(file)
    running: list[subprocess.Popen[bytes]] = []
    with (layout.folder / "run.log").open("ab") as log:
        while waiting or running:
            while waiting and len(running) < cores:
                command = [sys.executable, "-m", "tramontane", "run-batch", str(waiting.pop(0))]
                running.append(subprocess.Popen(command, stdout=log, stderr=log))
            time.sleep(0.1)
            running = [each for each in running if each.poll() is None]
    return sum(map(len, groups)), sum(map(len, missing))


def in_turn(made: Sequence[Expansion]) -> list[dict[str, Point]]:
    """Return the points by identity, in groups that are run one after the other: our own machine, then some draws each.

    So a study that is stopped, or still runs, has whole machines.
    """
    first: dict[str, int] = {}
    points: dict[str, Point] = {}
    for expansion in made:
        for entry in expansion.points:
            if entry.point is not None:
                draw = entry.coords.get(DRAW)
                group = 0 if draw is None else 1 + int(draw) // TOGETHER
                identity = entry.point.id
                first[identity] = min(group, first.get(identity, group))
                points[identity] = entry.point
    return [
        {identity: points[identity] for identity, own in first.items() if own == group}
        for group in sorted(set(first.values()))
    ]


class _Drawn(Campaign):
    """The datasets of one drawn machine."""

    def __init__(self, root: Path, scale: str, found: Mapping[str, xr.Dataset]) -> None:
        super().__init__(root, scale)
        self._datasets = dict(found)

    def dataset(self, experiment: str) -> xr.Dataset:
        found = self._datasets.get(experiment)
        if found is None:
            raise Lacking(f"experiment {experiment}")
        return found


def tried(study: Study, root: Path, scale: str, size: int) -> tuple[list[Tried], Floats]:
    """Return what becomes of each statement, and where the draws lie between 0 and 1, of shape (draws, parameters).

    The margins are those of the statements' own checks, one machine at a time. A check for which these process counts
    do not suffice is left out, and counted; one that names a process count is held at the largest.
    """
    store, judgement = Store(root), load_judgement(root)
    over, base = expansions(study, root, scale, size)
    drawn = {each.experiment.name: collate_manifest(manifest(each.experiment, each), store) for each in over}
    own = {each.experiment.name: collate_manifest(manifest(each.experiment, each), store) for each in base}
    campaigns = [_Drawn(root, scale, own)]
    campaigns += [
        _Drawn(root, scale, {name: data.isel({DRAW: draw}, drop=True) for name, data in drawn.items()})
        for draw in range(size)
    ]
    last = study.scales[scale].processes[-1]
    found = []
    for name, claim in chosen(study, root):
        at = _at(claim, last)
        rows = [[each for each in outcomes(at, one, judgement) if each.margin is not None] for one in campaigns]
        margins = np.array([_margin([own.margin.value for own in row if own.margin]) for row in rows])
        most = max(rows, key=len)
        units = {own.margin.unit for row in rows for own in row if own.margin}
        ranks = [place for own in most if own.margin for place in own.margin.ranks]
        span = (min(ranks), max(ranks)) if ranks else (0.0, 0.0)
        unit = units.pop() if len(units) == 1 else "several units"
        # A machine that lacks a check which others have is not decided: half a statement is another one.
        margins[[len(row) < len(most) for row in rows]] = np.nan
        held = np.array([np.mean([bool(own.holds) for own in row]) if row else np.nan for row in rows])
        held[np.isnan(margins)] = np.nan
        one = (float(margins[0]), float(held[0]))
        found.append(Tried(name, margins[1:], held[1:], *one, unit, len(most), len(claim.checks), span))
    return found, study.sample.places(size)


def joined(first: Sequence[Tried], later: Sequence[Tried]) -> list[Tried]:
    """Return statements on the machines of one wave and of those after it."""
    return [
        replace(one, margins=np.r_[one.margins, other.margins], held=np.r_[one.held, other.held])
        for one, other in zip(first, later, strict=True)
    ]


def _margin(values: Sequence[float]) -> float:
    """Return the least margin; nan if there is none."""
    return min(values, default=np.nan)


def _at(claim: Claim, ranks: int) -> Claim:
    """Return a statement with the process counts that its checks name replaced."""
    checks = [check.model_copy(update={"ranks": ranks}) if hasattr(check, "ranks") else check for check in claim.checks]
    return claim.model_copy(update={"checks": checks})
