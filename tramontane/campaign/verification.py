"""Runs a sample of points again, to compare their results with those that are there, to the last bit."""

import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from tramontane.campaign.plan import check_scale, plan_experiment, select
from tramontane.results.store import Store
from tramontane.study import load_experiment
from tramontane.study.points.points import MEASURED, Point
from tramontane.substrates import get
from tramontane.substrates.isolation import PointError, run_forked
from tramontane.support.files import dump

#: What tells of the run and the machine it was on, and may differ.
OF_THE_RUN = frozenset(
    {
        "id",
        "wall_s",
        "cpu_s",
        "setup_s",
        "peak_rss_bytes",
        "threads",
        "build",
        "network_bytes",
        "resumed",
        "engine",
        "device_bytes",
        "events",
    }
)


@dataclass(frozen=True)
class Verified:
    """What came of it.

    Attributes
    ----------
    points : int
        Points that have a result.
    measured, older : int
        Those that can't be compared: measured on a machine, or given by another revision of the substrate's model or by
        one that is not here.
    compared : int
        Points that were run again.
    differences : tuple of str
        A line for each that differs.
    """

    points: int
    measured: int
    older: int
    compared: int
    differences: tuple[str, ...]


def verify(
    root: Path, names: Sequence[str], scale: str, sample: int, seed: int, stream: TextIO | None = None
) -> Verified:
    """Run a random sample of points again, and compare.

    Parameters
    ----------
    root : Path
        Root of the checkout.
    names : sequence of str
        Experiments, or ``all``.
    scale : str
        Scale of the campaign.
    sample : int
        Number of points to run, if there are as many.
    seed : int
        Seed of the draw.
    stream : text stream, optional
        Gets a line for each point; standard error by default.
    """
    check_scale(scale)
    store, log = Store(root), stream or sys.stderr
    points: dict[str, Point] = {}
    for file in select(root, names):
        points |= plan_experiment(load_experiment(file), scale, store).points
    there = {identity: point for identity, point in points.items() if store.has(identity)}
    simulated = {identity: point for identity, point in there.items() if point.substrate != MEASURED}
    current = [identity for identity, point in simulated.items() if _is_current(store.read(identity), point)]
    chosen = random.Random(seed).sample(sorted(current), min(sample, len(current)))
    differences = []
    for number, identity in enumerate(chosen, 1):
        found = list(_differences(store, identity, simulated[identity]))
        print(f"{number}/{len(chosen)} {identity} {'differs' if found else 'is the same'}", file=log, flush=True)
        differences += [f"{identity}: {line}" for line in found]
    return Verified(
        len(there), len(there) - len(simulated), len(simulated) - len(current), len(chosen), tuple(differences)
    )


def _is_current(record: Mapping[str, Any], point: Point) -> bool:
    substrate = get(point.substrate)
    return substrate.available() is None and record["result"].get("model_revision") == substrate.revision(point)


def _differences(store: Store, identity: str, point: Point) -> Iterator[str]:
    """Run a point and yield what differs from its record."""
    before = dict(store.read(identity)["result"])
    if congestion := store.read_congestion(identity):
        before["congestion"] = congestion
    try:
        after = run_forked(point, get(point.substrate))
    except PointError as error:
        yield f"it fails now: {error}"
        return
    for key in sorted((before.keys() | after.keys()) - OF_THE_RUN):
        if key not in before or key not in after:
            yield f"{key} is there {'before' if key in before else 'now'} only"
        elif dump(before[key]) != dump(after[key]):
            plain = isinstance(after[key], int | float | str)
            yield f"{key} was {before[key]}, is {after[key]}" if plain else f"{key} differs"
