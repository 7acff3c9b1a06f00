"""Margins of statements on the drawn machines, each against the parameter that decides most."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.style import context, inches, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 4
_HEIGHT = 1.35
_HOLDS, _FAILS = "#4878a8", "#b2473e"
_ABREAST = 2
"""Words that stand beside each other below an axis."""
_JITTER = 0.25
"""Of a choice's part of the axis: machines with the same choice lie beside each other."""


def draw(study: Mapping[str, Any], stem: Path) -> list[Path]:
    """Draw the statements that could be evaluated; return the files, none if there is none."""
    import matplotlib.pyplot as plt  # noqa: PLC0415 - slow to import

    shown = [each for each in study["claims"] if each["evaluated"]]
    if not shown:
        return []
    columns = max(2, min(COLUMNS, len(shown)))
    rows = -(-len(shown) // columns)
    with context():
        figure = plt.figure(figsize=(inches("page"), _HEIGHT * rows + 0.3), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, each in zip(grid, shown, strict=False):
            _scatter(axes, each, study)
        for axes in grid[len(shown) :]:
            axes.set_axis_off()
        files = save(figure, stem)
        plt.close(figure)
    return files


def _scatter(axes: "Axes", claim: Mapping[str, Any], study: Mapping[str, Any]) -> None:
    """Draw one statement: a dot a machine, a triangle where the margin is an upper bound, a diamond for our own."""
    names = [own["name"] for own in study["parameters"]]
    first = claim["decides"] or (claim["influences"][0]["parameter"] if claim["influences"] else names[0])
    number = names.index(first)
    parameter = study["parameters"][number]
    place = np.array(study["places"])[:, number]
    ticks, labels = np.array([0.0, 1.0]), parameter["ends"]
    if parameter["choices"]:
        size = len(parameter["choices"])
        chosen = np.minimum((place * size).astype(int), size - 1)
        # Where a choice was drawn inside its part says nothing: it spreads the dots.
        place = (chosen + 0.5 + _JITTER * 2 * (place * size - chosen - 0.5)) / size
        ticks, labels = (np.arange(size) + 0.5) / size, parameter["choices"]
    margin = np.array([np.nan if own is None else own for own in claim["margins"]], dtype=float)
    holds = np.array([own == 1 for own in claim["held"]])
    early = np.array(claim["early"])
    for wanted, colour in ((holds, _HOLDS), (~holds & ~early, _FAILS)):
        axes.plot(place[wanted], margin[wanted], ".", color=colour, markersize=4)
    axes.plot(place[early], margin[early], "v", color=_FAILS, fillstyle="none", markersize=3, markeredgewidth=0.5)
    axes.axhline(0, color="black", linewidth=0.6)
    if claim["base_margin"] is not None:
        axes.plot(parameter["base_place"], claim["base_margin"], "D", color="black", markersize=4, clip_on=False)
    axes.set_xlim(0, 1)
    crowded = len(labels) > _ABREAST
    axes.set_xticks(ticks, labels, fontsize=5, rotation=20 if crowded else 0, ha="right" if crowded else "center")
    axes.tick_params(axis="y", labelsize=5)
    axes.set_title(f"{claim['id']} [{claim['unit']}]", fontsize=6)
    decides = "" if claim["decides"] else " (no more than chance)"
    axes.set_xlabel(f"{first.replace('_', ' ')}{decides}", fontsize=5, labelpad=1)
