"""Compares measured points with the same points on our simulator."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tramontane.comparison.execution import PointOutcome
from tramontane.comparison.networks import Network, read_networks
from tramontane.comparison.points import CannotRunError, algorithm, make_point, members
from tramontane.comparison.rows import Row, read_rows
from tramontane.comparison.statistics import Entry, Ordering, Summary, orderings, summarise
from tramontane.errors import InputError, closest
from tramontane.study import Point
from tramontane.study.networks.machines import NETWORK_MODELS

#: The model that repeats SST/macro 16's own choices, single runs of which can be compared with single runs.
COMPATIBLE = "pisces-16"
MODELS = tuple(dict.fromkeys((COMPATIBLE, *NETWORK_MODELS)))
#: What ours is compared with: what the row says, or the median of the compatible model's own ensemble.
AGAINST = ("row", "ensemble")
#: Members of an ensemble.
MEMBERS = 10
#: Routings that draw switches at random.
RANDOM = ("valiant", "ugal")
#: Ranks and time [s] from which an operation is clearly longer than the delays of its ranks' starts.
MANY, LONG = 16, 10e-6
#: Largest random delay of a rank's start in an ensemble [ps], the same in all models: about as far apart as SST/macro's
#: ranks leave their barrier. Much less, and the members of a model without a launch keep step with each other all the
#: way, while those of the compatible model keep the pattern of its launch; these are different states of the network.
JITTER = 1_000_000

#: Runs points and returns what became of them, by identity.
Runner = Callable[[Mapping[str, Point]], Mapping[str, PointOutcome]]


@dataclass(frozen=True)
class Options:
    """How to compare.

    Parameters
    ----------
    model : str
        Rules of the network model, one of `MODELS`.
    against : str
        One of `AGAINST`.
    members : int, optional
        Members of each ensemble, of which the median counts. By default a single run in the compatible model, which is
        to be equal to its row, and `MEMBERS` in all other cases.
    jitter : int, optional
        Largest random delay of a rank's start [ps]; by default none in a single run, else `JITTER`.
    """

    model: str = COMPATIBLE
    against: str = "row"
    members: int | None = None
    jitter: int | None = None

    def __post_init__(self) -> None:
        for name, value, allowed in (("--model", self.model, MODELS), ("--against", self.against, AGAINST)):
            if value not in allowed:
                raise InputError(name, "", value, ", ".join(allowed), hint=closest(value, allowed))

    def size(self, model: str) -> int:
        """Return the number of members in `model`."""
        return self.members or (1 if model == COMPATIBLE and self.against == "row" else MEMBERS)

    def skew(self, model: str) -> int:
        """Return the largest random delay of a start in `model` [ps]."""
        if self.jitter is not None:
            return self.jitter
        return 0 if self.size(model) == 1 else JITTER

    def ensemble(self, point: Point, model: str) -> list[Point]:
        """Return the members of a point's ensemble in `model`."""
        return members(point, self.size(model), self.skew(model))


@dataclass(frozen=True)
class Compared:
    """A row with its times.

    Attributes
    ----------
    row : Row
        The measurement, of several of a point the first.
    ours, theirs : tuple of float
        Times of the members [s]; `theirs` has those of the rows of this point where they are compared with.
    group : Group
        Where its ratio is counted.
    entry : Entry
        What orderings need of it.
    """

    row: Row
    ours: tuple[float, ...]
    theirs: tuple[float, ...]
    group: "Group"
    entry: Entry

    @property
    def ratio(self) -> float:
        """Median of ours over median of theirs."""
        return self.entry.ours / self.entry.theirs


@dataclass(frozen=True, order=True)
class Group:
    """Rows that are summarised together; `algorithm` without its radix."""

    topology: str
    routing: str
    workload: str
    algorithm: str


@dataclass(frozen=True)
class LeftOut:
    """A row without a ratio, and why."""

    row: Row
    reason: str


@dataclass(frozen=True)
class Comparison:
    """All rows of a file.

    Attributes
    ----------
    rows : list of Compared
        Rows that ran, in the order of the file.
    skipped : list of LeftOut
        Rows that have no counterpart on our simulator.
    failed : list of LeftOut
        Rows whose points did not come to their end.
    pairs : list of Ordering
        Orderings among `rows`, by position.
    repeats : int
        Rows of a point that an earlier row has: it counts once, with the median of their times.
    """

    source: Path
    options: Options
    rows: Sequence[Compared]
    skipped: Sequence[LeftOut]
    failed: Sequence[LeftOut]
    pairs: Sequence[Ordering]
    repeats: int = 0

    @property
    def summary(self) -> Summary:
        """All rows together."""
        return summarise([row.ratio for row in self.rows])

    def parts(self) -> dict[str, Summary]:
        """Return summaries of what an ensemble can and can't tell apart.

        Random routings draw differently in SST/macro. With few ranks, or in few microseconds, an operation is hardly
        longer than the delays of its ranks' starts.
        """
        ours = [row for row in self.rows if row.row["routing"] not in RANDOM]
        longer = [row for row in ours if int(row.row["P"]) >= MANY and row.entry.theirs >= LONG]
        others = [row for row in self.rows if row.row["routing"] in RANDOM]
        parts = {
            "deterministic routings": ours,
            f"  with {MANY} ranks or more and {LONG * 1e6:g} us or more": longer,
            "random routings": others,
        }
        return {name: summarise([row.ratio for row in rows]) for name, rows in parts.items() if rows}

    def groups(self) -> dict[Group, tuple[Summary, list[Ordering]]]:
        """Return each group's summary and the orderings in which a row of it takes part."""
        result = {}
        for group in sorted({row.group for row in self.rows}):
            own = {position for position, row in enumerate(self.rows) if row.group == group}
            pairs = [pair for pair in self.pairs if pair.first in own or pair.second in own]
            result[group] = (summarise([self.rows[position].ratio for position in sorted(own)]), pairs)
        return result


def compare(file: Path, root: Path, options: Options, run: Runner) -> Comparison:
    """Run the measured points of a file and compare.

    Parameters
    ----------
    file : Path
        Measured points, see `read_rows`.
    root : Path
        Root of the checkout, whose table of networks counts.
    options : Options
        How.
    run : callable
        Runs points.

    Raises
    ------
    InputError
        If the file or a row of it can't be read, or none of its rows can be compared.
    """
    networks = read_networks(root)
    wanted: dict[tuple[str, ...], _Wanted] = {}
    skipped = []
    for row in read_rows(file):
        try:
            ours = options.ensemble(make_point(row, networks, options.model), options.model)
            time = row.seconds("tspan_s")  # before anything runs: a mistake there must not show an hour later
            theirs: list[Point] = []
            if options.against == "ensemble":
                theirs = options.ensemble(make_point(row, networks, COMPATIBLE), COMPATIBLE)
        except CannotRunError as reason:
            skipped.append(LeftOut(row, str(reason)))
            continue
        first = _Wanted(row, ours, theirs, [])
        wanted.setdefault(tuple(point.id for point in (*ours, *theirs)), first).times.append(time)
    if skipped and not wanted:
        key, more = f"line {skipped[0].row.line}", len(skipped) - 1
        raise InputError(file, key, None, "a point that the simulator has", problem=skipped[0].reason, more=more)
    outcomes = run({point.id: point for own in wanted.values() for point in (*own.ours, *own.theirs)})
    rows, failed = [], []
    for row, ours, theirs, measured in wanted.values():
        ended = [outcomes[point.id] for point in (*ours, *theirs)]
        errors = [outcome.error for outcome in ended if outcome.time_s is None]
        if errors:
            failed.append(LeftOut(row, errors[0]))
            continue
        times = tuple(outcome.time_s or 0.0 for outcome in ended)
        reference = times[len(ours) :] or tuple(measured)
        rows.append(_compared(row, networks[row["topo"]], times[: len(ours)], reference))
    pairs = orderings([row.entry for row in rows])
    repeats = sum(len(own.times) - 1 for own in wanted.values())
    return Comparison(file, options, rows, skipped, failed, pairs, repeats)


class _Wanted(NamedTuple):
    """A point with its first row, the points of both ensembles, and the times of all its rows [s]."""

    row: Row
    ours: list[Point]
    theirs: list[Point]
    times: list[float]


def _compared(row: Row, network: Network, ours: tuple[float, ...], theirs: tuple[float, ...]) -> Compared:
    plain, with_radix = algorithm(row)
    crossbar = Fraction(row["xbar_bw_GBs"])
    entry = Entry(
        algorithm=with_radix,
        topology=row["topo"],
        routing=row["routing"],
        setting=_setting(row),
        crossbars=(crossbar, crossbar / network.ports / Fraction(row["bw_GBs"])),
        ours=median(ours),
        theirs=median(theirs),
    )
    return Compared(row, ours, theirs, Group(row["topo"], row["routing"], row["op"], plain), entry)


def _setting(row: Row) -> tuple[object, ...]:
    """Return everything but algorithm, topology, routing and crossbar, leaving out what the operation does not use."""
    used: tuple[str, ...] = ("P", "reps")
    if row["op"] != "allreduce":
        used = (*used, "cx", "cy", "nx", "ny", "nz")
    if row["op"] == "halo":
        used = (*used, "w")
    speeds = ("bw_GBs", "inj_bw_GBs", "lat_ns", "inj_lat_ns")
    sizes = ("mtu", "credits", "eager", "vshort", "negligible")
    return (
        row["op"],
        row["seed"],
        *(int(row[column]) for column in used),
        *(Fraction(row[column]) for column in speeds),
        *(row.size(column) for column in sizes),
    )
