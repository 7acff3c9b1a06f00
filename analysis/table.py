"""From a dataset to the rows that a figure draws and a report prints.

Both use the same rows, so that a table never says anything else than the curve above it. A point that failed, is
missing or was excluded keeps its row and has no value: it is a gap, never a zero. A zero, which has no place on a
logarithmic axis, is told by its status.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr

from analysis import facts, revisions
from analysis.spec import FigureSpec
from tramontane.results.members import CHOICES, ends
from tramontane.results.revisions import MEMBER, REVISION, label, newest, newest_members
from tramontane.study.experiments.figures import Best
from tramontane.study.values.units import in_one_unit
from tramontane.support import formatting

#: Dimensions of an ensemble: members differ by seed and start jitter only, and are drawn as median and range.
ENSEMBLE_DIMS = (MEMBER,)
#: What happened to points, from best to worst news.
STATUSES = ("ok", "zero", "failed", "missing", "excluded")
#: Name of the series of a figure without lines.
ALL = "all"
#: Columns of a table, see `figure_table`.
COLUMNS = ("series", "label", "x", "y", "low", "high", "members", "choice", "status", "older", "run")


@dataclass(frozen=True)
class Table:
    """Numbers as text: a heading for each column, rows of equal length, and what they show."""

    headings: list[str]
    rows: list[list[str]]
    title: str = ""

    def markdown(self) -> str:
        """Return the table as Markdown, under its title."""
        lines = [self.headings, ["---"] * len(self.headings), *self.rows]
        table = "".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |\n" for line in lines)
        return f"{self.title}:\n\n{table}" if self.title else table


def figure_table(dataset: xr.Dataset, spec: FigureSpec, *, part: bool = False) -> pd.DataFrame:
    """Rows of a figure: one for each series and x.

    Parameters
    ----------
    dataset
        A collated dataset.
    spec
        What to draw.
    part
        Whether the variable is a part of a whole: of an ensemble's members the mean is taken then, because means of
        parts add up to that of the whole, and medians do not.

    Returns
    -------
    DataFrame
        Columns `COLUMNS`: ``series`` (name that decides the looks), ``label``, ``x``, ``y`` (median over members, or
        mean; NaN where there is no value), ``low`` and ``high`` (range over members, and what the times of sampled
        stages may be with a confidence of 95 %), ``members`` (that have a value), ``choice`` (the value or series
        chosen where several were reduced to the best, else empty), ``status``, ``older`` (the model revisions that the
        row rests on if one of them is older, else empty), and ``run``: a number that changes
        at each gap and where the revisions do, so that rows of one run may be joined by a line. Series stand in order
        of the dataset, rows in order of x.

    Raises
    ------
    ValueError
        If the dataset lacks what `spec` names.
    """
    _check(dataset, spec)
    rows = _points(dataset, spec)
    own = (*ENSEMBLE_DIMS, "value", "low", "high", "status", "revision")
    keys = [column for column in rows.columns if column not in own]
    rows = _over_members(rows, keys, "choice" if spec.y in CHOICES else "mean" if part else "median")
    for dim, how in spec.reduce.items():
        # What is still to be reduced tells rows apart until its turn.
        waiting = [other for other in spec.reduce if other in rows.columns and other != dim]
        rows = _choose(rows, ["order", "series", "x", *waiting], dim, how)
    for best in spec.best:
        rows = _merge(rows, best)
    return _finish(rows, spec, newest(dataset))


def x_heading(dataset: xr.Dataset, spec: FigureSpec) -> str:
    """Return what a column of a table is called that says where along the horizontal axis: as the axis, if it says."""
    text = spec.x_label or str(dataset[spec.x].attrs.get("long_name", spec.x))
    unit = plain_unit(dataset, spec.x)
    return f"{text[:1].upper()}{text[1:]}{f', {unit}' if unit else ''}"


def plain_unit(dataset: xr.Dataset, name: str) -> str:
    """Return the unit of a variable, nothing if it is a mere number."""
    unit = str(dataset[name].attrs.get("units", ""))
    return "" if unit == "1" else unit


def to_draw(dataset: xr.Dataset, spec: FigureSpec) -> xr.Dataset:
    """Return what a figure shows of a dataset: the newest members, and quantities along its axis as numbers."""
    found = newest_members(dataset)
    quantities = in_one_unit(np.atleast_1d(found[spec.x].values).tolist()) if spec.x in found.dims else None
    if quantities is None:
        return found
    numbers, unit = quantities
    return found.assign_coords({spec.x: (spec.x, numbers, found[spec.x].attrs | {"units": unit})})


def _check(dataset: xr.Dataset, spec: FigureSpec) -> None:
    if spec.y not in dataset.data_vars:
        allowed = ", ".join(sorted(str(n) for n, v in dataset.data_vars.items() if v.dtype.kind in "fiu"))
        raise ValueError(f"figure.y: found '{spec.y}', allowed: {allowed}")
    for key, names in (("x", (spec.x,)), ("lines", spec.line_dimensions), ("reduce", tuple(spec.reduce))):
        for name in names:
            if name not in dataset.coords:
                allowed = ", ".join(str(n) for n in dataset.coords)
                raise ValueError(f"figure.{key}: found '{name}', allowed: {allowed}")
    if dataset[spec.x].dtype.kind not in "fiu":
        raise ValueError(f"figure.x: '{spec.x}' has no numbers; a scaling figure needs them")


def _points(dataset: xr.Dataset, spec: FigureSpec) -> pd.DataFrame:
    """One row for each point: order and name of its series, x, reduced dimensions, member, value, status."""
    variable = dataset[spec.y]
    status = dataset["status"] if "status" in dataset else xr.full_like(variable, "ok", dtype=object)
    revision = dataset[REVISION] if REVISION in dataset else xr.full_like(variable, np.nan, dtype=float)
    low, high = ends(dataset, spec.y)
    every = {"value": variable, "low": low, "high": high, "status": status, "revision": revision}
    flat = xr.Dataset(every).to_dataframe().reset_index()
    # A dimension that the figure does not name still tells points apart: it makes lines of its own if it varies.
    named = {spec.x, *spec.reduce, *ENSEMBLE_DIMS}
    named_dims = {
        str(dim) for name in (*named, *spec.line_dimensions) if name in dataset.coords for dim in dataset[name].dims
    }
    extra = [str(dim) for dim in variable.dims if str(dim) not in named_dims | named and variable.sizes[dim] > 1]
    keys = [name for name in (*spec.line_dimensions, *extra) if name not in named]

    rows = pd.DataFrame({"x": flat[spec.x].astype(float)})
    rows["series"], rows["order"] = ALL, 0
    if keys:
        names = [[series_name(dataset, key, value) for value in flat[key].tolist()] for key in keys]
        rows["series"] = [", ".join(parts) for parts in zip(*names, strict=True)]
        # Order of declaration, which is the order of the index, also where x is an outer dimension.
        ranks = pd.concat([flat[key].map(_positions(dataset, key)) for key in keys], axis=1)
        rows["order"] = pd.factorize(pd.MultiIndex.from_frame(ranks), sort=True)[0]
    for dim in (*spec.reduce, *ENSEMBLE_DIMS):
        if dim in flat:
            rows[dim] = flat[dim]
    value = pd.to_numeric(flat["value"], errors="coerce").astype(float)
    drawable = np.isfinite(value) & (flat["status"] == "ok") & ((value > 0) | (spec.y_scale != "log"))
    rows["value"], rows["revision"] = value.where(drawable), flat["revision"].where(drawable)
    for end in ("low", "high"):
        rows[end] = pd.to_numeric(flat[end], errors="coerce").astype(float).where(drawable)
    # A point that ended well but has nothing to draw has no value, or zero, which no logarithmic axis has.
    rows["status"] = flat["status"].where(drawable | (flat["status"] != "ok"), "missing")
    rows.loc[~drawable & (flat["status"] == "ok") & (value == 0), "status"] = "zero"
    return rows


def _positions(dataset: xr.Dataset, key: str) -> dict[object, int]:
    return {value: place for place, value in reversed(list(enumerate(np.atleast_1d(dataset[key].values).tolist())))}


def series_name(dataset: xr.Dataset, dim: str, value: object) -> str:
    """Name of the series that a coordinate value makes: itself, with its unit, or `width-3` for a bare number."""
    if isinstance(value, str):
        return value
    unit = str(dataset[dim].attrs.get("units", ""))
    text = formatting.quantity(value, unit)
    return f"{dim.rsplit('.', 1)[-1]}-{text}" if unit in ("", "1") else text


def series_names(
    variable: xr.DataArray, lines: tuple[str, ...], dataset: xr.Dataset
) -> Iterator[tuple[str, xr.DataArray]]:
    """Yield the name of each series of a variable and its part of it, in order of the dataset.

    Parameters
    ----------
    variable
        A variable of `dataset`, with more dimensions than those of the points.
    lines
        Dimensions whose values make the series; those the variable lacks are left out.
    dataset
        Where the coordinates are.
    """
    dims = [dim for dim in lines if dim in variable.dims]
    for places in itertools.product(*(range(variable.sizes[dim]) for dim in dims)):
        indexers = dict(zip(dims, places, strict=True))
        names = [series_name(dataset, dim, dataset[dim].values.tolist()[place]) for dim, place in indexers.items()]
        yield ", ".join(names) or ALL, variable.isel(indexers)


def line_label(name: str, spec: FigureSpec) -> str:
    """Return what the legend says of a series: the experiment's word, else that of all figures, else its name."""
    from analysis.style import series_style  # noqa: PLC0415 - keeps `table` importable on its own

    return spec.labels.get(name) or series_style(name).label or name


def series_labels(dataset: xr.Dataset, spec: FigureSpec) -> dict[str, str]:
    """Return what a legend or title says of each series, marked where any of its points is of an older revision.

    Parameters
    ----------
    dataset, spec
        As in `figure_table`.
    """
    variable = dataset[REVISION] if REVISION in dataset else xr.full_like(dataset[spec.y], np.nan, dtype=float)
    now = newest(dataset)
    return {
        name: revisions.marked(line_label(name, spec), label(part.values.ravel(), now))
        for name, part in series_names(variable, spec.line_dimensions, dataset)
    }


def ranks_of(dataset: xr.Dataset) -> int | None:
    """Return the number of processes that all points, or the first of them, have; None if none is stated."""
    if "ranks" in dataset.coords:
        return int(np.atleast_1d(dataset["ranks"].values)[0])
    ranks = facts.base(dataset).get("ranks")
    return None if ranks is None else int(ranks)


def _over_members(rows: pd.DataFrame, keys: list[str], how: str) -> pd.DataFrame:
    grouped = rows.groupby(keys, sort=False, dropna=False)
    joined = grouped["value"].agg(y="mean" if how == "mean" else "median", members="count")
    if how == "choice":
        joined["y"] = grouped["value"].quantile(0.5, interpolation="lower")
    joined["low"], joined["high"] = grouped["low"].min(), grouped["high"].max()
    joined["status"] = grouped["status"].agg(_joint_status)
    joined[["oldest", "latest"]] = grouped["revision"].agg(["min", "max"])
    return joined.reset_index().assign(choice="")


def _joint_status(statuses: "pd.Series[str]") -> str:
    found = set(statuses)
    return next((status for status in STATUSES if status in found), "missing")


def _choose(rows: pd.DataFrame, keys: list[str], by: str, how: str) -> pd.DataFrame:
    """Reduce each group of equal `keys` to one row, noting in ``choice`` the value of column `by` it came from."""
    chosen = []
    for _, group in rows.groupby(keys, sort=False):
        valid = group[group["y"].notna()].sort_values("y", kind="stable")
        if valid.empty:
            row = group.iloc[[0]].assign(status=_joint_status(group["status"]), choice="")
        else:
            # The lower median, so that the row is one that was measured, with its own range.
            place = {"min": 0, "max": len(valid) - 1, "median": (len(valid) - 1) // 2}[how]
            row = valid.iloc[[place]]
            lost = int(group["status"].isin(["failed", "missing"]).sum())
            note = _note(row["choice"].item(), row[by].item())
            row = row.assign(choice=[f"{note}; {lost} without result" if lost else note])
            # A choice rests on all that it was made among.
            row = row.assign(oldest=valid["oldest"].min(), latest=valid["latest"].max())
        chosen.append(row)
    reduced = pd.concat(chosen, ignore_index=True)
    return reduced.drop(columns=by) if by not in ("series", "order") else reduced


def _note(earlier: str, value: object) -> str:
    text = value if isinstance(value, str) else formatting.quantity(value)
    return f"{earlier}, {text}" if earlier else text


def _merge(rows: pd.DataFrame, best: Best) -> pd.DataFrame:
    """Replace the series of a group by one that is at each x the fastest of them."""
    inside = rows["series"].map(best.takes)
    if not inside.any():
        return rows
    order = rows.loc[inside, "order"].min()
    merged = _choose(rows[inside], ["x"], "series", "min").assign(series=best.series, order=order)
    return pd.concat([rows[~inside], merged], ignore_index=True)


def y_unit(dataset: xr.Dataset, spec: FigureSpec, rows: pd.DataFrame) -> tuple[str, float]:
    """Return symbol and factor of the unit in which y reads best: times are scaled, anything else stays as it is.

    Parameters
    ----------
    dataset, spec
        As in `figure_table`.
    rows
        What `figure_table` returned.
    """
    unit = str(dataset[spec.y].attrs.get("units", ""))
    if unit == "s":
        values = rows["y"].dropna()
        return formatting.time_unit(values[values > 0].to_list())
    return "" if unit == "1" else unit, 1.0


def _finish(rows: pd.DataFrame, spec: FigureSpec, now: int | None) -> pd.DataFrame:
    names = {best.series: best.text for best in spec.best}
    rows = rows.sort_values(["order", "x"], kind="stable").reset_index(drop=True)
    labels = {
        name: spec.labels.get(name) or names.get(name) or line_label(name, spec) for name in rows["series"].unique()
    }
    rows["label"] = rows["series"].map(labels)
    rows["older"] = [label(pair, now) for pair in zip(rows["oldest"], rows["latest"], strict=True)]
    begins = (rows[["series", "older"]] != rows[["series", "older"]].shift()).any(axis=1)
    rows["run"] = (rows["y"].isna() | begins).cumsum()
    return rows[list(COLUMNS)]
