"""The time steps of a model: how they scale, and what their time goes to, step by step.

Left, time against the number of processes, as in every scaling figure. Right, a bar for each number of processes and
series: what each step takes of a rank's time, the mean over ranks, as a part of the slowest series' time at this
number; work is hatched.
"""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import xarray as xr

from analysis import caption
from analysis.figures import scaling
from analysis.figures.panel import Drawn, Panel
from analysis.spec import FigureSpec
from analysis.table import ALL, Table, figure_table
from tramontane.study.quantities import STEPS
from tramontane.support import formatting

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

#: Part of the room between two numbers of processes that bars take.
ROOM = 0.84
HATCH = "////"


def panels(dataset: xr.Dataset, spec: FigureSpec) -> list[Panel]:
    """Return the scaling curves, and the shares of the steps.

    Parameters
    ----------
    dataset
        A collated dataset of programs, with ``step_time_s`` and ``step_work_s`` over ``step``.
    spec
        Its ``figure`` block.

    Raises
    ------
    ValueError
        If the block names what the dataset lacks, or no point is a program.
    """
    shares = _shares(dataset, spec)

    def draw(figure: "Figure", cell: "SubplotSpec") -> list[Drawn]:
        axes = figure.add_subplot(cell)
        return [Drawn(axes, _draw_bars(axes, shares, _x_text(dataset, spec)))]

    return [*scaling.panels(dataset, spec), Panel(draw, note=caption.gap_note(dataset))]


def numbers(dataset: xr.Dataset, spec: FigureSpec) -> Table:
    """Numbers of the bars: time of all steps and share of each, by series and x."""
    shares = _shares(dataset, spec)
    steps = list(dict.fromkeys(shares["step"]))
    rows = []
    for (label, _), own in shares.groupby(["label", "x"], sort=False):
        by_step = own.set_index("step")
        cells = [f"{by_step['share'].get(step, np.nan):.1f}" if step in by_step.index else "" for step in steps]
        series = [] if (shares["label"] == ALL).all() else [str(label)]
        rows.append([*series, formatting.number(own["x"].iloc[0]), formatting.number(own["time"].sum() * 1e3), *cells])
    series = [] if (shares["label"] == ALL).all() else ["Series"]
    return Table([*series, "Processes", "Time in all steps, ms", *(f"{step}, %" for step in steps)], rows)


def _shares(dataset: xr.Dataset, spec: FigureSpec) -> pd.DataFrame:
    """Rows ``label, x, step, time [s], share, part [%], work`` in order of series, x and the program's steps.

    Shares are of the own time, parts of the slowest series'.
    """
    time, work = STEPS["time_s"].name, STEPS["work_s"].name
    if time not in dataset:
        raise ValueError("figure.kind: found 'steps', but no point is a program, allowed: another kind")
    phases = [str(name) for name in dataset["step"].values]
    parts = []
    for step in dict.fromkeys(name.split(" ")[0] for name in phases):  # an exchange has a phase for each of its stages
        of_step = dataset.isel(step=[place for place, name in enumerate(phases) if name.split(" ")[0] == step])
        summed = dataset.drop_dims("step").assign(
            {name: of_step[name].sum("step", min_count=1, keep_attrs=True) for name in (time, work)}
        )
        rows = figure_table(summed, spec.model_copy(update={"y": time, "y_scale": "linear"}))
        rows["time"], rows["step"] = rows["y"], step
        rows["work"] = bool((summed[work] > 0).any())
        parts.append(rows[rows["y"].notna()])
    rows = pd.concat(parts)
    order = {label: place for place, label in enumerate(dict.fromkeys(rows["label"]))}
    rows = rows.assign(order=rows["label"].map(order)).sort_values(["order", "x"], kind="stable")
    whole = rows.groupby(["label", "x"])["time"].transform("sum")
    rows["share"] = 100 * rows["time"] / whole
    rows["part"] = 100 * rows["time"] / whole.groupby(rows["x"]).transform("max")
    return rows[["label", "x", "step", "time", "share", "part", "work"]]


def _draw_bars(axes: "Axes", shares: pd.DataFrame, x_text: str) -> "list[Artist]":
    import seaborn  # noqa: PLC0415 - slow to import
    from matplotlib.patches import Patch  # noqa: PLC0415

    steps = list(dict.fromkeys(shares["step"]))
    colours = dict(zip(steps, seaborn.color_palette("colorblind", len(steps)), strict=True))
    works = {step: bool(shares.loc[shares["step"] == step, "work"].any()) for step in steps}
    labels, numbers_of_ranks = list(dict.fromkeys(shares["label"])), sorted(shares["x"].unique())
    width = ROOM / len(labels)
    for number, label in enumerate(labels):
        own = shares[shares["label"] == label]
        places = own["x"].map({x: place for place, x in enumerate(numbers_of_ranks)})
        places = places + (number - (len(labels) - 1) / 2) * width
        bottom = dict.fromkeys(places, 0.0)
        for place, (_, row) in zip(places, own.iterrows(), strict=True):
            axes.bar(
                place,
                row["part"],
                0.92 * width,
                bottom=bottom[place],
                color=colours[row["step"]],
                hatch=HATCH if works[row["step"]] else None,
                edgecolor="white",
                linewidth=0.3,
            )
            bottom[place] += row["part"]
        if len(labels) > 1:
            for place, top in bottom.items():
                axes.annotate(str(number + 1), (place, top), xytext=(0, 1), textcoords="offset points", ha="center")
    axes.set_xticks(range(len(numbers_of_ranks)), [formatting.number(x) for x in numbers_of_ranks])
    whole = "a rank's time" if len(labels) == 1 else "the slowest's time"
    axes.set(xlabel=x_text, ylabel=f"Part of {whole} (%)", ylim=(0, 110))
    axes.set_yticks([0, 25, 50, 75, 100])
    axes.tick_params(axis="x", which="minor", bottom=False)
    entries = [
        Patch(facecolor=colours[step], hatch=HATCH if works[step] else None, edgecolor="white", label=step)
        for step in steps
    ]
    if len(labels) > 1:
        entries += [Patch(alpha=0, label=f"{number + 1}: {label}") for number, label in enumerate(labels)]
    return list(entries)


def _x_text(dataset: xr.Dataset, spec: FigureSpec) -> str:
    return scaling.axis_text(dataset, spec.x, spec.x_label, "")
