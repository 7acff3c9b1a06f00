"""Statements that need no results: numbers that follow from geometry, grids and schedules.

Each function takes the numbers as the paper prints them and computes them anew with the project's own formulas and
schedules, so that a mistake in either shows.
"""

import itertools
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tramontane.claims import sums, tables
from tramontane.claims.outcome import Outcome
from tramontane.study.reading.layers import Origin
from tramontane.study.values.expressions import evaluate
from tramontane.study.values.units import DOUBLE
from tramontane.study.workloads.workloads import Allreduce, Halo
from tramontane.substrates.simulator import schedule
from tramontane.support.formatting import count, listed, plural, rounded

Printed = Mapping[str, Any]

#: Length of a degree of latitude [m]: the metre was defined by 10,000 km from pole to equator.
_DEGREE = 1e7 / 90
#: Points that a quasi-cubic scheme reads beyond the cell it interpolates in.
_CUBIC_REACH = 2
_KIB = 1024


def _verdict(right: list[str], wrong: list[str], what: str) -> Outcome:
    """Return an outcome that holds if nothing is wrong."""
    total = len(right) + len(wrong)
    if not wrong:
        return Outcome(True, f"all {total} {what} follow: {'; '.join(right)}")
    return Outcome(False, f"{len(right)} of {total} {what} follow; not {'; '.join(wrong)}")


def networks(printed: Printed, root: Path) -> Outcome:
    """Table 1 of Zheng & Marguinaud 2018, against the networks that are simulated."""
    right, wrong, trees = 0, [], []
    for row in tables.networks(root):
        built = row.built["switches"]
        if row.counted != built:
            trees.append(
                f"{row.name} {count(row.counted)} switches by the paper's three layers, {count(built)} as built"
            )
        for key, value in (row.built | {"switches": row.counted}).items():
            if row.printed[key] == value:
                right += 1
            else:
                wrong.append(f"{key} of {row.name}: {count(row.printed[key])} printed, {count(value)} by its geometry")
    evidence = f"{right} of {right + len(wrong)} numbers follow"
    if wrong:
        evidence += f"; not {'; '.join(wrong)}"
    return Outcome(not wrong, f"{evidence}. Fat trees: {'; '.join(trees)}")


def stages(printed: Printed, root: Path) -> Outcome:
    """Table 2: rounds of the all-to-all schedules, here of a transposition cut along one direction only."""
    wrong, tried = [], 0
    for n in (2, 3, 5, 8, 13, 16, 31):
        wanted: dict[tuple[str, int | None], int] = {("burst", None): 1, ("bruck", None): math.ceil(math.log2(n))}
        wanted |= {("ring-k", k): math.ceil((n - 1) / k) for k in (1, 2, 3, 4, n - 1)}
        for (algorithm, radix), rounds in wanted.items():
            tried += 1
            found = tables.stages(algorithm, radix, n)
            if found != rounds:
                wrong.append(f"{algorithm} {radix or ''} among {n}: {found} instead of {rounds}")
        if _pairs("burst", None, n) != _pairs("ring-k", n - 1, n):
            wrong.append(f"burst and ring-{n - 1} among {n} processes differ")
    if wrong:
        return Outcome(False, f"of {tried} schedules not {'; '.join(wrong)}")
    return Outcome(True, f"all {tried} schedules tried (2 to 31 processes, k from 1 to n - 1) have these stages")


def _pairs(algorithm: str, radix: int | None, n: int) -> set[tuple[int, int]]:
    """Return who sends to whom in the first round."""
    sent = tables.all_to_all(algorithm, radix, n).transfers(0)
    return set(zip(np.asarray(sent["source"]).tolist(), np.asarray(sent["destination"]).tolist(), strict=True))


def grid(printed: Printed, root: Path) -> Outcome:
    """Table 3: size of the grid, and the bound on its partition."""
    _, ny, nz = printed["grid"]
    own = tables.grid(printed["grid"])
    million = own.million
    facts = {
        f"{count(own.points)} points": own.points > printed["points"],
        f"{count(own.bytes / 1e9)} GB a field": own.bytes > printed["bytes"],
        f"at most {count(own.processes)} processes": own.processes == printed["processes"] == ny * nz,
        f"{million[0]} x {million[1]} for 1,000,000" if million else "1,000,000": million is not None
        and million[0] <= nz,
    }
    return _verdict(*_split(facts), "statements")


def allreduces(printed: Printed, root: Path) -> Outcome:
    """Section 3.3: allreduces of GCR, and stages of the recursive-k schedule."""
    wrong = []
    repeats = 2 * printed["iterations"]
    if not repeats == printed["allreduces"] == Allreduce.model_fields["repeats"].default:
        wrong.append(f"{repeats} allreduces for {printed['iterations']} iterations")
    tried = 0
    for radix, ranks in itertools.product((2, 3, 4, 7, 16, 32), (2, 4, 5, 9, 16, 27, 64, 100, 128)):
        power = _floor_log(ranks, radix)
        stages_ = power + (0 if radix**power == ranks else 2)
        workload = Allreduce(kind="allreduce", algorithm="recursive-k", radix=radix, repeats=1)
        tried += 1
        found = schedule(workload, ranks).rounds
        if found != stages_:
            wrong.append(f"recursive-{radix} among {ranks}: {found} stages instead of {stages_}")
    # The paper's partner of the first remaining process, where more remain than the power of k has places.
    ranks, power = 200, 4**3
    rule = f"With the paper's rule process {power} of {ranks} and k = 4 would send to {power - (ranks - power)}"
    if wrong:
        return Outcome(False, f"not {'; '.join(wrong)}. {rule}")
    counted = f"{repeats} allreduces for {printed['iterations']} iterations"
    return Outcome(True, f"{counted}; all {tried} schedules have these stages. {rule}")


def _floor_log(value: int, base: int) -> int:
    """Return floor(log_base(value)), exactly."""
    power = 0
    while base ** (power + 1) <= value:
        power += 1
    return power


def halo_width(printed: Printed, root: Path) -> Outcome:
    """Section 4.3: distance of the departure point, and what a quasi-cubic scheme reads beyond it."""
    spacing = printed["degrees"] * _DEGREE
    distance = printed["wind"] * printed["step"]
    departure = math.ceil(distance / spacing)
    intervals = f"{rounded(distance / spacing)} intervals of {count(spacing)} m"
    facts = {
        f"{count(distance)} m are {intervals}, so {departure} points": departure == printed["departure"],
        f"{departure + _CUBIC_REACH} points with the {_CUBIC_REACH} that the scheme reads beyond": (
            departure + _CUBIC_REACH == printed["width"]
        ),
    }
    return _verdict(*_split(facts), "numbers")


def cells(printed: Printed, root: Path) -> Outcome:
    """Wang et al. 2020, Table 3: cells of an icosahedral grid."""
    own = {level: 10 * 4 ** int(level) + 2 for level in printed}
    facts = {f"G{level} {count(number_)} cells": number_ == printed[level] for level, number_ in own.items()}
    return _verdict(*_split(facts), "numbers")


def table(printed: Printed, root: Path) -> Outcome:
    """Statements about the numbers of a printed table, each an expression of its columns."""
    origin = Origin(root / "configs" / "claims", "printed.facts")
    values = {
        words: evaluate(expression, printed["columns"], origin, "") for words, expression in printed["facts"].items()
    }
    return _verdict(*_split({words: value is True for words, value in values.items()}), "statements")


def _halo(grid: tuple[int, int, int], width: int, ranks: int) -> tuple[Halo, tuple[int, int]]:
    """Return a halo exchange and its default decomposition; ValueError if there is none."""
    halo = Halo(kind="halo", width=width, grid=grid).for_ranks(ranks)
    if not isinstance(halo.decomposition, tuple):
        raise TypeError(f"found {halo.decomposition} as the default decomposition")
    return halo, halo.decomposition


def _halos(printed: Printed, ranks: int) -> tuple[int, int, int]:
    """Return bytes of a halo towards left or right, up or down and a corner, for the largest block."""
    nx, ny, nz = printed["grid"]
    _, (columns, rows) = _halo((nx, ny, nz), printed["depth"], ranks)
    sides = [
        math.ceil(extent / parts) * nz * DOUBLE * printed["depth"] for extent, parts in ((ny, rows), (nx, columns))
    ]
    # The longer side is called the first one, whichever direction it lies in.
    return max(sides), min(sides), printed["corner_columns"] * nz * DOUBLE


def halo_messages(printed: Printed, root: Path) -> Outcome:
    """Brown et al. 2018, Fig. 9: sizes of the halos, by the default decomposition."""
    facts = {}
    for ranks, sizes in printed["kilobytes"].items():
        own = [size / _KIB for size in _halos(printed, int(ranks))]
        facts[f"{count(int(ranks))} processes {'/'.join(rounded(size) for size in own)} KiB"] = own == list(sizes)
    return _verdict(*_split(facts), "rows")


def halo_volumes(printed: Printed, root: Path) -> Outcome:
    """Brown et al. 2018, Fig. 8: data of a process and step, against the halos of Fig. 9."""
    own = {ranks: 2 * a + 2 * b + 4 * c for ranks in printed["megabytes"] for a, b, c in [_halos(printed, int(ranks))]}
    right: list[str] = []
    wrong: list[str] = []
    for (few, first), (many, second) in itertools.pairwise(own.items()):
        stated, found = printed["megabytes"][many] / printed["megabytes"][few], second / first
        text = (
            f"{count(int(few))} to {count(int(many))}: {rounded(stated)} printed, {rounded(found)} by the halos "
            f"({count(first // _KIB)} to {count(second // _KIB)} KiB a field)"
        )
        (right if math.isclose(stated, found, rel_tol=0.01) else wrong).append(text)
    return _verdict(right, wrong, "ratios")


def elements(printed: Printed, root: Path) -> Outcome:
    """Jamroz & Klöfkorn 2016, Tables 1 and 2: elements of a process on the cubed sphere."""
    right, wrong = 0, []
    for edge, rows in printed.items():
        total = 6 * int(edge) ** 2
        for ranks, stated in rows.items():
            own = [math.ceil(total / int(ranks)), math.floor(10 * total / int(ranks) + 0.5) / 10]
            for place, value in enumerate(stated):
                if value == own[place]:
                    right += 1
                else:
                    wrong.append(f"{edge} elements an edge, {ranks} processes: {value} printed, {own[place]} computed")
    totals = listed(count(6 * int(edge) ** 2) for edge in printed)
    evidence = f"{right} of {right + len(wrong)} numbers follow from {totals} elements"
    return Outcome(not wrong, evidence + (f"; not {'; '.join(wrong)}" if wrong else ""))


def bits_of_sums(printed: Printed, root: Path) -> Outcome:
    """Jamroz & Klöfkorn 2016, 5.2 and 4.1: which sums keep their bits whatever the order in which messages arrive."""
    seeds, stated = printed["seeds"], printed["differ"]
    right: list[str] = []
    wrong: list[str] = []
    for name, places in stated.items():
        for owners in printed["owners"]:
            runs, among = sums.differences(owners, seeds, sums.ORDERS[name])
            text = f"{name}, {owners} terms: {runs} differ between runs, {among} between owners"
            differ = {place for place, found in (("runs", runs), ("owners", among)) if found}
            (right if differ == set(places) else wrong).append(text)
    return _verdict(right, wrong, f"kinds of sums, each of {count(seeds)} points,")


def halo_pattern(printed: Printed, root: Path) -> Outcome:
    """Fig. 9d: bands beside the diagonal from the sweep in x, far bands from that in y, corners from periodicity."""
    ranks, width = printed["ranks"], printed["width"]
    nx, ny, nz = printed["grid"]
    halo, (cx, cy) = _halo((nx, ny, nz), width, ranks)
    own = schedule(halo, ranks)
    pairs: dict[int, set[tuple[int, int]]] = {}
    for index in range(own.rounds):
        sent = own.transfers(index)
        both = zip(np.asarray(sent["source"]).tolist(), np.asarray(sent["destination"]).tolist(), strict=True)
        pairs.setdefault(own.round(0, index).phase, set()).update(both)
    sweeps = [pairs[phase] for phase in sorted(pairs)]
    reach = [
        max(((b - a) % n for a, b in ((x // s % n, y // s % n) for x, y in own_) if (b - a) % n <= n // 2), default=0)
        for own_, s, n in ((sweeps[0], 1, cx), (sweeps[1], cx, cy))
    ]
    facts = {
        f"the sweep in x reaches {plural(reach[0], 'process')} to either side": all(
            a // cx == b // cx for a, b in sweeps[0]
        )
        and any(abs(a - b) == 1 for a, b in sweeps[0]),
        f"the sweep in y bands of {cx} processes further ({reach[1]} of them)": all(
            (a - b) % cx == 0 for a, b in sweeps[1]
        ),
        "and, periodic, the corners of the matrix": any(abs(a - b) >= ranks - cx * reach[1] for a, b in sweeps[1]),
    }
    return _verdict(*_split(facts), f"parts of the pattern with {count(ranks)} processes")


def _split(facts: Mapping[str, bool]) -> tuple[list[str], list[str]]:
    return [text for text, true in facts.items() if true], [text for text, true in facts.items() if not true]


#: Computations by the name that the data use.
COMPUTATIONS: Mapping[str, Callable[[Printed, Path], Outcome]] = {
    function.__name__: function
    for function in (
        networks,
        stages,
        grid,
        allreduces,
        halo_width,
        cells,
        table,
        halo_messages,
        halo_volumes,
        elements,
        halo_pattern,
        bits_of_sums,
    )
}
