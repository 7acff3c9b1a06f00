"""Shares of all statements of a study, in words: on a terminal, as JSON, and as a table of a page."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tramontane.claims.boxes import Box
from tramontane.claims.draws import expansions, run, tried
from tramontane.claims.shares import LEVEL, Share, shares
from tramontane.errors import InputError
from tramontane.study.sampling import Parameter
from tramontane.study.studies import Study, load_study
from tramontane.support.formatting import count

_TENTH = 0.1
"""Of a range: smaller differences from our own machine are not listed."""
_LISTED = 4


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
        Draws.
    found : list of Share
        Statements in the study's order.
    draws : list of dict
        What was drawn.
    """

    study: Study
    scale: str
    size: int
    found: list[Share]
    draws: list[dict[str, Any]]

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


def simulate(name: str, root: Path, scale: str, size: int | None, cores: int) -> tuple[int, int]:
    """Run the points of a study that lack; return how many it has, and how many of them lacked."""
    study = load_study(name, root)
    over, base = expansions(study, root, scale, size_of(study, name, scale, size))
    return run(name, [*base, *over], root, scale, cores)


def answer(name: str, root: Path, scale: str, size: int | None = None) -> Answer:
    """Return what a study found with the points that are there (InputError)."""
    study = load_study(name, root)
    wanted = size_of(study, name, scale, size)
    found, places = tried(study, root, scale, wanted)
    drawn = study.sample.draws(wanted)
    return Answer(study, scale, wanted, shares(found, places, study.sample.drawn), drawn)


def as_data(of: Answer) -> list[dict[str, Any]]:
    """Return it as plain data for JSON."""
    return [_data(own, of) for own in of.found]


def _data(own: Share, of: Answer) -> dict[str, Any]:
    first = own.decides
    return {
        "id": own.tried.claim,
        "draws": of.size,
        "evaluated": own.of,
        "holds": own.holds,
        "share": own.holds / own.of if own.of else None,
        "interval": list(own.interval),
        "interval_all": list(own.together),
        "checks_decided": own.tried.decided,
        "checks": own.tried.checks,
        "ranks": list(own.tried.ranks),
        "base_margin": own.tried.base if math.isfinite(own.tried.base) else None,
        "unit": own.tried.unit,
        "decides": first.parameter if first else None,
        "influences": [vars(each) for each in own.influences],
        "chance": own.chance if math.isfinite(own.chance) else None,
        "box": _box(own.box, of) or None,
        "box_inside": own.box.inside if own.box else None,
        "box_coverage": own.box.coverage if own.box else None,
        "turn": None if own.turn is None else {"draw": own.turn, "differs": _differs(own.turn, of)},
        "margins": [value if math.isfinite(value) else None for value in own.tried.margins.tolist()],
    }


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
            return f"{int(number) / size:.3g} {name}"
    return value


def _differs(draw: int, of: Answer) -> dict[str, str]:
    """Return in what a drawn machine differs most from our own."""
    found = []
    for name, parameter in of.parameters.items():
        base = parameter.place(getattr(parameter, "base", None)) or 0.0
        distance = abs((parameter.place(of.draws[draw][name]) or 0.0) - base)
        if distance > _TENTH:
            found.append((distance, name))
    return {name: spell(of.draws[draw][name]) for _, name in sorted(found, reverse=True)[:_LISTED]}


def row(own: Share, of: Answer) -> list[str]:
    """Return a statement in cells: share, interval, checks, on our machine, what decides, box, nearest turn."""
    percent = f"{100 * own.holds / own.of:.0f} %" if own.of else "none"
    interval = f"{100 * own.interval[0]:.0f} to {100 * own.interval[1]:.0f} %"
    margin = f"{own.tried.base:+.2g}" if math.isfinite(own.tried.base) else "not evaluated"
    first = own.decides
    decides = f"{first.parameter} ({first.low:.2f} to {first.high:.2f})" if first else "none beyond chance"
    box = "; ".join(f"{name} {text}" for name, text in _box(own.box, of).items())
    if own.box is not None:
        box += f" ({count(own.box.inside)} draws)"
    turn = "" if own.turn is None else ", ".join(f"{name} {text}" for name, text in _differs(own.turn, of).items())
    checks = f"{own.tried.decided} of {own.tried.checks}"
    return [own.tried.claim, f"{percent} of {own.of}", interval, checks, margin, decides, box or "none", turn or "none"]


HEAD = [
    "claim",
    "holds on",
    "interval",
    "checks",
    "our machine",
    "decides most",
    "holds at 95 % where",
    "nearest turn differs in",
]


def markdown(of: Answer) -> str:
    """Return the Markdown table of a page, and below it at which size it was made."""
    rows: Sequence[Sequence[str]] = [HEAD, ["---"] * len(HEAD), *(row(own, of) for own in of.found)]
    table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in rows)
    return f"{table}\n\n{about(of)}"


def about(of: Answer) -> str:
    """Return at which size a study was made, and what many statements at once mean for their intervals."""
    counts = ", ".join(map(count, of.study.scales[of.scale].processes))
    missed = (1 - LEVEL) * len(of.found)
    drawn = f"{of.size} draws ({of.study.sample.method}, seed {of.study.sample.seed})"
    return (
        f"Scale {of.scale}, {drawn}, {counts} processes, one run each. Of {len(of.found)} intervals at 95 % about "
        f"{missed:.1f} miss by chance; `--json` has those that hold together (interval_all)."
    )
