"""Captions that can be printed under a figure: what is drawn, at which scale, on what, and how much is missing.

A curve from a scaled-down campaign looks like one from the paper's; the caption is what tells them apart, so it is
written from the dataset and not by hand.
"""

from collections.abc import Iterable

import numpy as np
import xarray as xr

from analysis import facts, printed, revisions
from analysis.spec import FigureSpec, spec_of
from analysis.table import ENSEMBLE_DIMS, ranks_of
from tramontane.results.revisions import newest_members
from tramontane.support import formatting

#: What stands for an ensemble in a figure, by its family; a pattern is the schedule's.
_MEMBERS = {
    "scaling": "Lines are medians of {}, bands their range",
    "substrates": "Lines are medians of {}, bands their range",
    "steps": "Lines are medians of {}, bands their range; bars are their means",
    "radix": "Best radices are medians of {}",
    "links": "Loads are medians of {}, parts of the time their means",
    "link-map": "Loads are those of the first of {}",
    "congestion-matrix": "Matrices are means of {}",
    "delay-distribution": "Shares below a delay are medians of {}",
}
#: Name, for a moment, of the variable that is 1 where a point is shown.
_SHOWN = "shown"


def caption(dataset: xr.Dataset) -> str:
    """Caption of a dataset's figure.

    Parameters
    ----------
    dataset
        A collated dataset.

    Returns
    -------
    str
        One paragraph: the experiment's own words, then scale, grid and processes, machine and base parameters,
        substrate and number of points.
    """
    spec = spec_of(dataset)
    if "status" not in dataset:  # a comparison, whose rows have no scale or machine in common
        return _sentence(spec.caption or "")
    own = spec.caption or str(dataset.attrs.get("title", ""))
    sentences = [
        f"({spec.letter}) {own}" if spec.letter else own,
        _scale(dataset),
        *_machines(dataset),
        *_part(dataset, spec),
        *_reductions(dataset, spec),
        *_repeats(dataset),
        *_stages(dataset, spec),
        _points(dataset, spec),
        *_zeros(dataset, spec),
        *(["Times as printed are those of the paper, by runs of this length"] if printed.shown(dataset, spec) else []),
        *revisions.sentence(dataset),
    ]
    return " ".join(_sentence(text) for text in sentences if text.strip())


def _sentence(text: str) -> str:
    text = " ".join(text.split(" ")).strip()
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _scale(dataset: xr.Dataset) -> str:
    parts = []
    scale = str(dataset.attrs.get("scale", ""))
    if scale:
        parts.append(f"{scale.capitalize()} scale")
    grid = facts.grid_text(dataset)
    if grid:
        parts.append(f"grid {grid}")
    processes = _processes(dataset)
    if processes:
        parts.append(processes)
    return f"{parts[0]}: {', '.join(parts[1:])}" if scale and len(parts) > 1 else ", ".join(parts)


def _processes(dataset: xr.Dataset) -> str:
    if "ranks" in dataset.coords:
        values = dataset["ranks"].values
        low, high = (formatting.number(int(v)) for v in (values.min(), values.max()))
        return f"{low} to {high} processes" if low != high else f"{low} processes"
    ranks = facts.base(dataset).get("ranks")
    return f"{formatting.number(int(ranks))} processes" if ranks is not None else ""


def _machines(dataset: xr.Dataset) -> Iterable[str]:
    found = facts.machines(dataset)
    if not found:
        return
    texts = [facts.machine_text(name, machine) for name, machine in found.items()]
    yield f"Machine{'s' if len(texts) > 1 else ''}: {'; '.join(texts)}"
    # Only what all points have in common: what is swept stands on the axis or in the legend.
    network = facts.network_text(facts.base(dataset).get("machine", {}))
    if network:
        yield network[:1].upper() + network[1:]


def _part(dataset: xr.Dataset, spec: FigureSpec) -> Iterable[str]:
    """Say which points a figure shows that shows but one of several along an axis."""
    if spec.kind == "links" and dataset.sizes.get(spec.x, 1) > 1:
        along = "number of processes" if spec.x == "ranks" else dataset[spec.x].attrs.get("long_name", spec.x)
        yield f"Of each series the largest {along} is shown"
    if spec.kind == "pattern" and dataset.sizes.get("ranks", 1) > 1:
        yield f"The pattern is that of {formatting.number(ranks_of(dataset) or 0)} processes"


def _reductions(dataset: xr.Dataset, spec: FigureSpec) -> Iterable[str]:
    for best in spec.best:
        yield f"'{best.text}' is the fastest of its variants at each point"
    words = {"min": "smallest", "max": "largest", "median": "median"}
    for dim, how in spec.reduce.items():
        name = dataset[dim].attrs.get("long_name", dim.rsplit(".", 1)[-1])
        yield f"Each point is the {words[how]} over the {name}"
    for dim in ENSEMBLE_DIMS:
        if dataset.sizes.get(dim, 1) > 1:
            # Where a point is expensive it may have fewer members, and one has no band.
            shown = newest_members(dataset.assign({_SHOWN: (dataset["status"] == "ok").astype(float)}))[_SHOWN]
            found = shown.sum(dim).values
            least, most = (int(how(found[found > 0], initial=start)) for how, start in ((np.min, 10**9), (np.max, 0)))
            members = (
                formatting.number(most) if least >= most else f"{formatting.number(least)} to {formatting.number(most)}"
            )
            if spec.kind == "steps" and dataset.sizes.get(spec.x, 1) == 1:
                yield f"Bars are means of {members} members"
            elif spec.kind in _MEMBERS:
                yield _MEMBERS[spec.kind].format(f"{members} members")


def _repeats(dataset: xr.Dataset) -> Iterable[str]:
    """Say how far times follow from fewer repeats than asked for."""
    if "repeats_left_out" not in dataset:
        return
    cut = dataset["repeats_left_out"] > 0
    if bool(cut.any()):
        least = formatting.number(int(dataset["repeats_simulated"].where(cut).min()))
        error = formatting.number(100 * float(dataset["steady_error"].where(cut).max()), 2)
        yield (
            f"{_at(cut)} repeats were cut short when steady, after {least} or more; the error of the time is at most "
            f"{error}\u202f%"
        )


def _stages(dataset: xr.Dataset, spec: FigureSpec) -> Iterable[str]:
    """Say how far times follow from a part of the stages."""
    if "stages_left_out" not in dataset:
        return
    sampled = dataset["stages_left_out"] > 0
    if bool(sampled.any()):
        error = formatting.number(100 * float(dataset["steady_error"].where(sampled).max()), 2)
        shown = " (bands)" if (spec.kind, spec.y) == ("scaling", "time_s") else ""
        yield (
            f"{_at(sampled)} a part of the stages was simulated; the 95\u202f% interval of the time{shown} is at most "
            f"±\u202f{error}\u202f%"
        )


def _zeros(dataset: xr.Dataset, spec: FigureSpec) -> Iterable[str]:
    """Say at how many points a logarithmic axis has no place for the value."""
    if spec.kind == "scaling" and spec.y_scale == "log" and spec.y in dataset:
        zero = (dataset[spec.y] == 0) & (dataset["status"] == "ok")
        if bool(zero.any()):
            yield f"{_at(zero)} the value is zero, not drawn"


def _at(points: xr.DataArray) -> str:
    count = int(points.sum())
    return f"At {formatting.number(count)} point{'s' if count != 1 else ''}"


def gap_note(dataset: xr.Dataset) -> str:
    """Say in a few words how many points have no result; nothing if all have."""
    if "status" not in dataset:
        return ""
    found = facts.counts(dataset)
    names = (("failed", found.failed), ("missing", found.missing))
    gaps = ", ".join(f"{formatting.number(n)} {name}" for name, n in names if n)
    return f"{gaps} of {formatting.number(found.planned)} points" if gaps and found.ok else ""


def _points(dataset: xr.Dataset, spec: FigureSpec) -> str:
    found = facts.counts(dataset)
    done, planned = formatting.number(found.ok), formatting.number(found.planned)
    text = f"Run on {facts.substrate_text(dataset)}; {done} of {planned} points"
    others = (("failed", found.failed), ("missing", found.missing), ("excluded by the experiment", found.excluded))
    gaps = [f"{formatting.number(n)} {name}" for name, n in others if n]
    if not gaps:
        return text
    lines = "; lines are interrupted where there is no result" if spec.kind == "scaling" else ""
    return f"{text} ({', '.join(gaps)}){lines}"
