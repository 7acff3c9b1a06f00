"""Curves that a reader can ask: hover for values, click the legend to hide a series.

The plots are plotly's. Its library is embedded once, compressed, and unpacked by the browser when the first plot is
opened, so that the page opens as fast as without; nothing comes from a network.
"""

import base64
import gzip
import importlib.resources
import json
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis import style
from analysis.figures.scaling import axis_text, x_text
from analysis.page import formulas
from analysis.spec import spec_of
from analysis.table import figure_table, to_draw, y_unit
from tramontane.study.experiments.figures import AGAINST_X

#: Names of dashes in plotly by those of `series.yaml`, and of markers by matplotlib's.
DASHES = {"solid": "solid", "dashed": "dash", "dotted": "dot", "dashdot": "dashdot"}
MARKERS = {
    "o": "circle",
    "s": "square",
    "^": "triangle-up",
    "D": "diamond",
    "v": "triangle-down",
    "P": "cross",
    "X": "x",
}


def plot(dataset: xr.Dataset) -> str:
    """Return the plot of a dataset's curves as JSON that may stand in a page; empty for other kinds of figures.

    Parameters
    ----------
    dataset
        A collated dataset.
    """
    spec = spec_of(dataset)
    if spec.kind not in AGAINST_X:
        return ""
    dataset = to_draw(dataset, spec)
    rows = figure_table(dataset, spec)
    if rows["y"].isna().all():
        return ""
    import plotly.graph_objects as go  # type: ignore[import-untyped]  # noqa: PLC0415 - slow to import

    unit, factor = y_unit(dataset, spec, rows)
    rows[["y", "low", "high"]] /= factor
    looks = style.series_styles(rows["series"].unique())
    figure = go.Figure(
        layout={
            "xaxis": _axis(formulas.plain(x_text(dataset, spec)), spec.x_scale),
            "yaxis": _axis(formulas.plain(axis_text(dataset, spec.y, spec.y_label, unit)), spec.y_scale),
            "template": "none",
            "font": {"family": "system-ui, sans-serif", "size": 13},
            "margin": {"l": 64, "r": 16, "t": 32, "b": 56},
            "legend": {"orientation": "h", "y": -0.22, "yanchor": "top"},
            "hovermode": "closest",
            "height": 460,
        }
    )
    for name, own in rows.groupby("series", sort=False):
        for trace in _traces(own, looks[str(name)], unit):
            figure.add_trace(trace)
    return as_json(json.loads(figure.to_json(engine="json")))


def as_json(data: Any) -> str:
    """Return JSON that may stand in a page, where "<" might end the element that holds it."""
    return json.dumps(data, sort_keys=True, separators=(",", ":")).replace("<", "\\u003c")


def _axis(title: str, scale: str) -> dict[str, Any]:
    lines = {"gridcolor": "#e4e4e4", "linecolor": "#333333", "mirror": True, "ticks": "inside", "zeroline": False}
    return {
        "title": {"text": title},
        "type": scale,
        "exponentformat": "power",
        "dtick": 1 if scale == "log" else None,
    } | lines


def _traces(rows: pd.DataFrame, look: style.SeriesStyle, unit: str) -> list[dict[str, Any]]:
    """Return the line of a series and, where members differ, its band; it breaks and is hollow as in the figure."""
    begins = rows[rows["run"].diff().gt(0) & rows["y"].notna() & rows["y"].shift().notna()]
    rows = pd.concat([rows, begins.assign(y=np.nan).set_index(begins.index - 0.5)]).sort_index()
    label = formulas.plain(str(rows["label"].iloc[0]))
    shared = {"type": "scatter", "legendgroup": label, "x": rows["x"].tolist(), "name": label}
    words = [_words(*row) for row in rows[["low", "high", "members", "choice", "older"]].itertuples(index=False)]
    symbols = [f"{MARKERS[look.marker]}{'-open' if older else ''}" for older in rows["older"]]
    line = shared | {
        "y": [None if pd.isna(value) else value for value in rows["y"]],
        "mode": "lines+markers",
        "line": {"color": look.colour, "dash": DASHES[look.line], "width": 2},
        "marker": {"symbol": symbols if any(rows["older"]) else MARKERS[look.marker], "size": 8},
        "customdata": words,
        "hovertemplate": f"<b>%{{fullData.name}}</b><br>%{{x:,}}: %{{y:.4g}} {unit}%{{customdata}}<extra></extra>",
    }
    bands = []
    for _, run in rows[rows["y"].notna()].groupby("run"):
        if (run["high"] > run["low"]).any():
            outline = {"x": [*run["x"], *run["x"][::-1]], "y": [*run["high"], *run["low"][::-1]]}
            look_of_band = {"mode": "lines", "line": {"width": 0}, "fill": "toself", "fillcolor": _pale(look.colour)}
            bands.append(shared | outline | look_of_band | {"hoverinfo": "skip", "showlegend": False})
    return [*bands, line]


def _words(low: float, high: float, members: int, choice: str, older: str) -> str:
    of = f"{members} members" if members > 1 else "95 % interval"  # of one alone, by a part of its stages
    spread = f"{of}: {low:.4g} to {high:.4g}" if high > low else ""
    return "".join(f"<br>{text}" for text in (spread, choice, older and f"model {older}") if text)


def _pale(colour: str) -> str:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.2)"


def library() -> str:
    """Return plotly's library for browsers, compressed, as text that may stand in a page."""
    source = importlib.resources.files("plotly") / "package_data" / "plotly.min.js"
    return base64.b64encode(gzip.compress(source.read_bytes(), 9, mtime=0)).decode("ascii")
