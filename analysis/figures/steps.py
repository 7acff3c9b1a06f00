"""The time steps of a model: how they scale, and what their time goes to, step by step.

Left, time against the number of processes, as in every scaling figure. Right, a bar for each number of processes and
series: what each step takes of a rank's time, the mean over ranks and members, as a part of the slowest series' time at
this number, or of the series' own time where bars would be too short to be read; work is hatched. With one number of
processes there are only bars, one below the other. Legends of many entries stand below the panels.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis import caption, printed, style
from analysis.figures import scaling
from analysis.figures.axes import in_lines
from analysis.figures.panel import Drawn, Panel, Shown
from analysis.spec import FigureSpec
from analysis.table import ALL, Table, figure_table, x_heading
from tramontane.study.values.quantities import STEPS
from tramontane.support import formatting

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

#: Part of the room between two numbers of processes that bars take.
ROOM = 0.84
#: Height of a bar that lies, with its name [in]; of further lines of a name, in the same heights; characters of a line.
ROW, LINE, WIDE = 0.3, 0.37, 56
#: What marks work, and the width of bars' edges [pt].
HATCH, EDGE = "////", 0.3
#: How wide a panel of two is, about, and the width of a digit in heights of its font [pt].
PANEL, DIGIT = 200, 0.65
#: Where a series takes less than this part of the slowest one's time, bars show shares of each series' own time.
READABLE = 0.25


def show(dataset: xr.Dataset, spec: FigureSpec) -> Shown:
    """Return the scaling curves, and the shares of the steps, which are the numbers.

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
    numbers = _numbers(shares, x_heading(dataset, spec))

    def draw(figure: "Figure", cell: "SubplotSpec") -> list[Drawn]:
        axes = figure.add_subplot(cell)
        return [Drawn(axes, _draw_bars(axes, shares, scaling.x_text(dataset, spec)))]

    if shares["x"].nunique() == 1:
        shares = _with_printed(shares, printed.of_steps(dataset, spec))
        height = ROW * (max(_places(shares).values()) + 5)

        def draw_rows(figure: "Figure", cell: "SubplotSpec") -> list[Drawn]:
            return [_draw_rows(figure, cell, shares)]

        return Shown([Panel(draw_rows, spec.letter, note=caption.gap_note(dataset), height=height)], numbers)
    of_steps = spec if spec.y_label or spec.y != "time_s" else spec.model_copy(update={"y_label": "Time of all steps"})
    bars = Panel(draw, note=caption.gap_note(dataset))
    return Shown([*scaling.show(dataset, of_steps).panels, bars], numbers)


def _with_printed(shares: pd.DataFrame, told: pd.DataFrame) -> pd.DataFrame:
    """Return shares with a bar of printed times below that of each series which has some."""
    slowest = shares.groupby("label")["time"].sum().max()
    order = {step: place for place, step in enumerate(dict.fromkeys(shares["step"]))}
    told = told.assign(part=100 * told["time"] / slowest, work=False)
    told = told.sort_values("step", key=lambda own: own.map(order))
    parts = []
    for label, own in shares.groupby("label", sort=False):
        parts += [own, told[told["label"] == printed.label(str(label))]]
    return pd.concat(parts)


def _numbers(shares: pd.DataFrame, x_name: str) -> Table:
    """Numbers of the bars: time of all steps and share of each, by series and x."""
    steps = list(dict.fromkeys(shares["step"]))
    rows = []
    for (label, _), own in shares.groupby(["label", "x"], sort=False):
        by_step = own.set_index("step")
        cells = [f"{by_step['share'].get(step, np.nan):.1f}" if step in by_step.index else "" for step in steps]
        series = [] if (shares["label"] == ALL).all() else [str(label)]
        rows.append([*series, formatting.number(own["x"].iloc[0]), formatting.number(own["time"].sum() * 1e3), *cells])
    series = [] if (shares["label"] == ALL).all() else ["Series"]
    return Table([*series, x_name, "Time in all steps, ms", *(f"{step}, %" for step in steps)], rows)


def _shares(dataset: xr.Dataset, spec: FigureSpec) -> pd.DataFrame:
    """Rows ``label, x, step, time [s], share, part [%], work`` in order of series, x and the program's steps.

    Shares are of the own time, parts of the slowest series'.
    """
    time, work = STEPS["time_s"].name, STEPS["work_s"].name
    if time not in dataset:
        raise ValueError("figure.kind: found 'steps', but no result tells what steps took, allowed: another kind")
    if "job" in dataset.dims:
        raise ValueError("figure.kind: found 'steps', of several jobs, which pass side by side, allowed: another kind")
    phases = _steps(dataset, spec)
    parts = []
    for step in dict.fromkeys(phases.values()):
        of_step = dataset.isel(step=[place for place, name in phases.items() if name == step])
        summed = dataset.drop_dims("step").assign(
            {name: of_step[name].sum("step", min_count=1, keep_attrs=True) for name in (time, work)}
        )
        rows = figure_table(summed, spec.model_copy(update={"y": time, "y_scale": "linear"}), part=True)
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


def _steps(dataset: xr.Dataset, spec: FigureSpec) -> dict[int, str]:
    """Return the step of each phase to be drawn, by its place; an exchange has a phase for each of its stages."""
    names = [str(name).split(" ") for name in dataset["step"].values]
    if spec.role is None:
        return {place: words[0] for place, words in enumerate(names)}
    found = {place: words[1] for place, words in enumerate(names) if words[0] == spec.role and len(words) > 1}
    if not found:
        roles = ", ".join(dict.fromkeys(words[0] for words in names))
        raise ValueError(f"figure.role: found '{spec.role}', allowed: {roles}")
    return found


def _draw_rows(figure: "Figure", cell: "SubplotSpec", shares: pd.DataFrame) -> Drawn:
    """Draw a bar for each series, from the top, below its name; the legend stands above them, where no bar is."""
    axes = figure.add_subplot(cell)
    places = _places(shares)
    looks = _looks(shares)
    longest = shares.groupby("label")["part"].sum().max()  # printed times may take longer than the slowest
    for label, place in places.items():
        left = 0.0
        for _, row in shares[shares["label"] == label].iterrows():
            axes.barh(place, row["part"], 0.5, left, linewidth=EDGE, **looks[row["step"]])
            left += row["part"]
        axes.text(0.6, place - 0.27, in_lines(label, WIDE), va="bottom", fontsize="small")
    axes.set(xlabel="Part of the slowest's time (%)", xlim=(0, 1.02 * longest))
    axes.set_ylim(max(places.values()) + 0.4, -0.75)
    axes.set_yticks([])
    axes.legend(handles=_entries(looks), loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return Drawn(axes)


def _places(shares: pd.DataFrame) -> dict[str, float]:
    """Return where the bar of each series lies, in bars with names of one line."""
    lines = [1 + LINE * in_lines(str(label), WIDE).count("\n") for label in shares["label"].unique()]
    return dict(zip(shares["label"].unique(), (np.cumsum(lines) - 1).tolist(), strict=True))


def _looks(shares: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return what bars of each step look like."""
    works = shares.groupby("step", sort=False)["work"].any()
    return {
        str(step): {"facecolor": colour, "hatch": HATCH if work else None, "edgecolor": "white"}
        for (step, work), colour in zip(works.items(), style.colours(len(works)), strict=True)
    }


def _entries(looks: Mapping[str, dict[str, Any]]) -> "list[Artist]":
    from matplotlib.patches import Patch  # noqa: PLC0415

    return [Patch(label=step, **look) for step, look in looks.items()]


def _draw_bars(axes: "Axes", shares: pd.DataFrame, x_text: str) -> "list[Artist]":
    from matplotlib import rcParams  # noqa: PLC0415
    from matplotlib.patches import Patch  # noqa: PLC0415

    looks = _looks(shares)
    labels, numbers_of_ranks = list(dict.fromkeys(shares["label"])), sorted(shares["x"].unique())
    width = ROOM / len(labels)
    whole = shares.groupby(["label", "x"])["part"].sum()
    spread = len(labels) > 1 and whole.min() < 100 * READABLE
    column = "share" if spread else "part"
    size, room = rcParams["font.size"], PANEL * width / len(numbers_of_ranks)
    for number, label in enumerate(labels):
        own = shares[shares["label"] == label]
        places = own["x"].map({x: place for place, x in enumerate(numbers_of_ranks)})
        places = places + (number - (len(labels) - 1) / 2) * width
        bottom = dict.fromkeys(places, 0.0)
        for place, (_, row) in zip(places, own.iterrows(), strict=True):
            axes.bar(place, row[column], 0.92 * width, bottom[place], linewidth=EDGE, **looks[row["step"]])
            bottom[place] += row[column]
        if len(labels) > 1:
            for place, top in bottom.items():
                axes.annotate(
                    *(str(number + 1), (place, top)),
                    xytext=(0, 1),
                    textcoords="offset points",
                    ha="center",
                    fontsize=min(size, room / DIGIT),
                )
    axes.set_xticks(range(len(numbers_of_ranks)), [formatting.number(x) for x in numbers_of_ranks])
    of = "a rank's time" if len(labels) == 1 or spread else "the slowest's time"
    axes.set(xlabel=x_text, ylabel=f"Part of {of} (%)", ylim=(0, 110))
    axes.set_yticks([0, 25, 50, 75, 100])
    axes.tick_params(axis="x", which="minor", bottom=False)
    entries = _entries(looks)
    if len(labels) > 1:
        entries += [Patch(alpha=0, label=f"{number}: {label}") for number, label in enumerate(labels, 1)]
    return entries
