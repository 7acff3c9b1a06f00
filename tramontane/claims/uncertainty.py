"""Shares of all statements of a study: what its points say, as plain data."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tramontane.claims import draws
from tramontane.claims.boxes import Box
from tramontane.claims.draws import Ran, Tried, joined, tried
from tramontane.claims.matching import Match, base_place, centres, differences, matches, own_match
from tramontane.claims.screening import LEAST, MEAN_EFFECT, effects, without_influence
from tramontane.claims.shares import LEVEL, PAWN, Share, influence, shares
from tramontane.claims.waves import CENTRES, WAVE, near
from tramontane.errors import InputError
from tramontane.study.experiments.studies import Study, load_study
from tramontane.study.sampling.sampling import Parameter
from tramontane.support.files import dump, write_if_changed
from tramontane.support.formatting import count, plural

Floats = NDArray[np.float64]

_TENTH = 0.1
"""Of a range: smaller differences from our own machine are not listed."""
_LISTED = 4
_THOUSAND = 999.5
"""From here on three digits are a whole number."""


@dataclass(frozen=True)
class Answer:
    """What a study found.

    Attributes
    ----------
    study : Study
        The study.
    scale : str
        Its scale.
    size : int
        Draws of the first wave, which spans all plausible machines.
    found : list of Share
        Statements in the study's order; shares are the first wave's.
    draws : list of dict
        What was drawn, in all waves.
    places : array
        Where these draws lie, of shape (draws, parameters), between 0 and 1.
    runs : str
        How many runs each point of a machine has, in words.
    later : list of list of Tried
        Statements on the machines of each later wave, which stays near the best ones.
    commits : frozenset of str
        Where the points came from; a name that ends in ``-dirty`` had changes.
    """

    study: Study
    scale: str
    size: int
    found: list[Share]
    draws: list[dict[str, Any]]
    places: Floats
    runs: str
    later: Sequence[Sequence[Tried]] = ()
    commits: frozenset[str] = frozenset()

    @property
    def tried(self) -> list[Tried]:
        """All statements on the machines of all waves."""
        found = [own.tried for own in self.found]
        for each in self.later:
            found = joined(found, each)
        return found

    @property
    def matches(self) -> list[Match]:
        """The machines on which most statements hold first, of all waves."""
        return matches(self.tried, self.places, self.parameters)

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters that were drawn, by name."""
        return self.study.sample.drawn


def size_of(study: Study, name: str, scale: str, size: int | None) -> int:
    """Return how many draws are meant: those asked for, or all of the scale (InputError)."""
    if scale not in study.scales:
        raise InputError("--scale", "", scale, ", ".join(study.scales))
    wanted = study.scales[scale].size if size is None else size
    if not study.sample.fits(wanted):
        raise InputError("--size", "", wanted, f"with {study.sample.method} of {name} {study.sample.sizes()}")
    return wanted


def simulate(
    name: str,
    root: Path,
    scale: str,
    size: int | None,
    cores: int,
    waves: int = 1,
    tell: Callable[[str], None] = lambda line: None,
) -> Ran:
    """Run the points of a study that lack; return what became of them.

    Parameters
    ----------
    name, root, scale, size, cores
        The study, the checkout, how large, and how many processes.
    waves : int, optional
        After the first wave, each draws near the machines that fit best so far (InputError if none is decided whole).
    tell : callable, optional
        Is given a line when some machines are done.
    """
    study = load_study(name, root, "SAMPLE")
    wanted = size_of(study, name, scale, size)
    study = study.at_scale(scale)
    base = [entry for each in draws.own(study, root, scale) for entry in each.points]
    ran = draws.run(name, base, root, scale, cores)
    tell(f"{name}: our own machine")
    for wave in range(1, waves + 1):
        if wave > 1:
            study = _near(answer(name, root, scale, size, wave - 1), name, wave)
            wanted = study.scales[scale].size
        ran = ran.and_then(draws.simulate(name, study, root, scale, wanted, cores, tell))
    return ran


def answer(name: str, root: Path, scale: str, size: int | None = None, waves: int = 1) -> Answer:
    """Return what a study found with the points that are there (InputError); `waves` as in `simulate`."""
    study = load_study(name, root)
    wanted = size_of(study, name, scale, size)
    study = study.at_scale(scale)
    found, places, commits = tried(study, root, scale, wanted)
    drawn = study.sample.draws(wanted)
    ranked = shares(found, places, study.sample.drawn, effects if study.sample.method == "morris" else influence)
    made = Answer(study, scale, wanted, ranked, drawn, places, draws.runs(study, root, scale), commits=commits)
    for wave in range(2, waves + 1):
        near = _near(made, name, wave)
        again, at, commits = tried(near, root, scale, near.scales[scale].size)
        made = replace(
            made,
            draws=[*made.draws, *near.sample.draws(len(at))],
            places=np.r_[made.places, at],
            later=[*made.later, again],
            commits=made.commits | commits,
        )
    return made


def _near(of: Answer, name: str, wave: int) -> Study:
    """Return the study of the next wave: as many draws as a group of machines that are run together."""
    best = centres(of.tried, of.places, of.parameters, CENTRES)
    if not len(best):
        problem = "no draw has the points of all statements yet"
        raise InputError(
            "--waves", "", wave, f"tramontane uncertainty {name} --scale {of.scale} first", problem=problem
        )
    size = min(of.size, WAVE)
    at = near(best, list(of.parameters.values()), size, wave, of.study.sample.seed)
    scales = of.study.scales | {of.scale: of.study.scales[of.scale].model_copy(update={"size": size})}
    return of.study.model_copy(update={"sample": of.study.sample.at(at), "scales": scales})


def as_data(of: Answer, only: Sequence[str] = ()) -> dict[str, Any]:
    """Return it as plain data for JSON: what was drawn, what is known of each statement (of some), and of machines."""
    own = own_match([each.tried for each in of.found])
    everywhere = {each.claim: each for each in of.tried}
    return {
        "title": of.study.title,
        "scale": of.scale,
        "size": of.size,
        "waves": [len(each[0].margins) for each in of.later],
        "about": about(of),
        "sentences": [about(of), *raced(of), *best(of), *screened(of)],
        "commits": sorted(of.commits),
        "index": MEAN_EFFECT if _screens(of) else PAWN,
        "parameters": _parameters(of.parameters),
        "places": of.places.tolist(),
        "claims": [
            _data(each, everywhere[each.tried.claim], of) for each in of.found if not only or each.tried.claim in only
        ],
        "machines": [_machine(each, of) for each in of.matches],
        "own_machine": None if own is None else _machine(own, of),
    }


def _screens(of: Answer) -> bool:
    """Return whether machines follow trajectories, which no prior was drawn for: no shares are read off them."""
    return of.study.sample.method == "morris"


def _machine(own: Match, of: Answer) -> dict[str, Any]:
    return {
        "draw": own.draw,
        "values": {name: spell(value) for name, value in of.draws[own.draw].items()} if own.draw >= 0 else None,
        "holds": list(own.holds),
        "violated": list(own.violated),
        "checks": own.checks,
        "distance": own.distance,
    }


def _data(own: Share, everywhere: Tried, of: Answer) -> dict[str, Any]:
    first = own.decides
    box = None if _screens(of) else own.box
    return {
        "id": own.tried.claim,
        "draws": of.size,
        "evaluated": own.of,
        "holds": own.holds,
        "share": own.holds / own.of if own.of and not _screens(of) else None,
        "interval": None if _screens(of) else list(own.interval),
        "interval_all": None if _screens(of) else list(own.together),
        "checks_decided": own.tried.decided,
        "checks": own.tried.checks,
        "ranks": list(own.tried.ranks),
        "base_margin": own.tried.base if math.isfinite(own.tried.base) else None,
        "unit": own.tried.unit,
        "decides": first.parameter if first else None,
        "influences": [vars(each) for each in own.influences if math.isfinite(each.index)],
        "chance": own.chance if math.isfinite(own.chance) else None,
        "box": _listed(_box(box, of)) or None,
        "box_inside": box.inside if box else None,
        "box_coverage": box.coverage if box else None,
        "turn": None if own.turn is None else {"draw": own.turn, "differs": _listed(_differs(own.turn, of))},
        "margins": [value if math.isfinite(value) else None for value in everywhere.margins.tolist()],
        "held": [value if math.isfinite(value) else None for value in everywhere.held.tolist()],
        "early": everywhere.early.tolist(),
        "base_holds": None if math.isnan(own.tried.base) else own.tried.base_holds,
    }


def _parameters(drawn: Mapping[str, Parameter]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "choices": None if each.choice is None else list(map(str, each.choice)),
            "ends": [spell(each.value(edge)) for edge in (0.0, 1.0)] if each.choice is None else None,
            "base": spell(getattr(each, "base", None)),
            "base_place": place,
        }
        for (name, each), place in zip(drawn.items(), base_place(drawn).tolist(), strict=True)
    ]


def is_of(data: Mapping[str, Any], name: str, root: Path) -> bool:
    """Return whether what was found is of a study as it is now: the same machines, drawn from the same ranges."""
    sample = load_study(name, root).sample
    size = int(data["size"])
    same = sample.fits(size) and np.array_equal(data["places"][:size], sample.places(size))
    return same and data["parameters"] == _parameters(sample.drawn)


def _listed(found: Mapping[str, str]) -> list[dict[str, str]]:
    """Return parameters with what is said of each as a list: files keep its order, and not that of keys."""
    return [{"parameter": name, "value": text} for name, text in found.items()]


def _box(box: Box | None, of: Answer) -> dict[str, str]:
    """Return what a box says of each parameter that it restricts."""
    if box is None:
        return {}
    names = list(of.parameters)
    return {names[number]: _side(of.parameters[names[number]], box.low[number], box.high[number]) for number in box.cut}


def _side(parameter: Parameter, low: float, high: float) -> str:
    if parameter.choice is not None:
        number = len(parameter.choice)
        kept = [str(value) for at, value in enumerate(parameter.choice) if low <= (at + 0.5) / number <= high]
        return " or ".join(kept)
    ends = [spell(parameter.value(edge)) for edge in (low, high)]
    return f"at least {ends[0]}" if high >= 1 else f"at most {ends[1]}" if low <= 0 else " to ".join(ends)


def spell(value: Any) -> str:
    """Return a drawn value with three digits."""
    if isinstance(value, float):
        return f"{value:.3g}"
    if not isinstance(value, str) or " " not in value or not value.split()[0].isdigit():
        return str(value)
    number, unit = value.split()
    for scaled, size, name in (("ps", 1e3, "ns"), ("B/s", 1e9, "GB/s")):
        if unit == scaled:
            shown = int(number) / size
            return f"{shown:,.0f} {name}" if shown >= _THOUSAND else f"{shown:.3g} {name}"
    return value


def _differs(draw: int, of: Answer) -> dict[str, str]:
    """Return in what a drawn machine differs most from our own."""
    differs = differences(of.places[[draw]], of.parameters)[0].tolist()
    found = [(by, name) for by, name in zip(differs, of.parameters, strict=True) if by > _TENTH]
    return {name: spell(of.draws[draw][name]) for _, name in sorted(found, reverse=True)[:_LISTED]}


def best(of: Answer) -> list[str]:
    """Return in sentences on which machine most statements hold, and how many on our own."""
    ours = own_match([each.tried for each in of.found])
    if not of.matches or ours is None:
        return []
    first = of.matches[0]
    decided = len(first.holds) + len(first.violated)
    waves = "".join(f", {len(each[0].margins)} of them in wave {n} near the best" for n, each in enumerate(of.later, 2))
    most = f"At once at most {len(first.holds)} of {decided} statements hold on one of {len(of.matches)} drawn machines"
    broken = ", ".join(first.violated) or "none"
    return [f"{most}{waves}, on ours {len(ours.holds)}. The best is draw {first.draw}; it violates {broken}."]


def raced(of: Answer) -> list[str]:
    """Return in a sentence how often a statement was decided early; nothing where it never was."""
    early = sum(int(own.tried.early.sum()) for own in of.found)
    if not early:
        return []
    pairs = sum(own.of for own in of.found)
    smallest = count(of.study.scales[of.scale].processes[0])
    return [
        f"{early} of {pairs} pairs of a statement and a machine were decided early: what fails with {smallest} "
        "processes was run with no more, and its margin is an upper bound."
    ]


def screened(of: Answer) -> list[str]:
    """Return in a sentence which parameters trajectories find to matter to no statement; nothing with other methods."""
    if not _screens(of):
        return []
    idle = without_influence([own.influences for own in of.found], list(of.parameters))
    told = ", ".join(idle) or "none"
    return [f"Less than {LEAST:.0%} of the largest mean effect on every statement that was decided: {told}."]


def write(name: str, of: Answer, root: Path) -> Path:
    """Write all that is known for figures and the report; return the file."""
    path = draws.layout_of(root, name, of.scale).folder / "shares.json"
    write_if_changed(path, dump(as_data(of)))
    return path


def about(of: Answer) -> str:
    """Return at which size a study was made, and what many statements at once mean for their intervals."""
    counts = of.study.scales[of.scale].processes
    where = f"{', '.join(map(count, counts))} processes" if counts else "process counts of the experiments"
    drawn = f"{plural(of.size, 'draw')} ({of.study.sample.method}, seed {of.study.sample.seed})"
    made = f"Scale {of.scale}, {drawn}, {where}, {of.runs}."
    if _screens(of):
        return f"{made} No shares: these machines follow trajectories, and are drawn from no prior."
    missed = (1 - LEVEL) * len(of.found)
    return (
        f"{made} Of {len(of.found)} intervals at 95 % about "
        f"{missed:.1f} miss by chance; `--json` has those that hold together (interval_all)."
    )
