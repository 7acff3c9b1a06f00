"""Draws what a study of uncertainty found: over which share of the machines statements hold, and what decides.

    python -m analysis.shares SHARES.json STEM

reads what ``tramontane uncertainty`` writes (and ``claims --over SAMPLE --json`` prints) and writes as SVG, PNG and PDF

- STEM: bars of shares, with intervals, and beside them a map of each parameter's index: PAWN's, or its mean effect
  where one parameter a step was changed; then there are no shares. Indices that chance alone may give are grey.
- STEM-margins: for each statement the margin on each machine, against the parameter that decides most.
- STEM-machines: the parameters of all machines as lines; those on which most statements hold stand out.
- STEM-nearest-FIGURE, if both machines' datasets lie beside SHARES.json: curves of the machine on which most statements
  hold, each beside that of our own machine.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis import machine_lines, margins, nearest
from analysis.style import context, inches, save
from tramontane.claims.curves import MACHINES
from tramontane.claims.shares import PAWN
from tramontane.errors import InputError
from tramontane.study.reading.reading import read_json

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Found = Sequence[Mapping[str, Any]]
Study = Mapping[str, Any]
"""All that a study found, as `tramontane.claims.uncertainty.as_data` has it."""

KEYS = ("claims", "machines", "parameters", "places")

#: Height of a row, and what titles and names of parameters take [inches].
_ROW, _AROUND = 0.2, 1.4
_MARK = "circle: holds on ours"


def draw(study: Study, stem: Path) -> list[Path]:
    """Draw the statements that could be evaluated, and the machines that could be ranked; return the files."""
    files = draw_bars(study, stem)
    files += margins.draw(study, stem.with_name(f"{stem.name}-margins"))
    return files + machine_lines.draw(study, stem.with_name(f"{stem.name}-machines"))


def draw_nearest(study: Study, folder: Path, stem: Path) -> list[Path]:
    """Draw curves of the best machine beside ours, from both machines' datasets; return the files."""
    if not study["machines"]:
        return []
    return nearest.draw(folder, f"draw {study['machines'][0]['draw']}", stem.with_name(f"{stem.name}-nearest"))


def draw_bars(study: Study, stem: Path) -> list[Path]:
    """Draw the shares, and what decides; return the files."""
    import matplotlib.pyplot as plt  # noqa: PLC0415 - slow to import

    shown = [each for each in study["claims"] if each["evaluated"]]
    if not shown:
        return []
    with context():
        figure = plt.figure(figsize=(inches("page"), _ROW * max(4, len(shown)) + _AROUND), layout="constrained")
        screening = all(each["share"] is None for each in shown)
        bars, indices = figure.subplots(1, 2, width_ratios=[0.02 if screening else 1, 2], sharey=True)
        _bars(bars, shown)
        _indices(indices, shown, study.get("index", PAWN))
        indices.set_xlabel(_MARK if screening else "")
        files = save(figure, stem)
        plt.close(figure)
    return files


def _bars(axes: "Axes", shown: Found) -> None:
    places = np.arange(len(shown))
    counted = [(place, each) for place, each in enumerate(shown) if each["share"] is not None]
    if counted:
        at, share = [place for place, _ in counted], np.array([each["share"] for _, each in counted])
        low, high = np.array([each["interval"] for _, each in counted]).T
        axes.barh(at, share, color="#4878a8", height=0.7)
        axes.errorbar(
            share, at, xerr=[share - low, high - share], fmt="none", ecolor="black", elinewidth=0.8, capsize=2
        )
    else:  # names and marks alone
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0, labelbottom=False)
        axes.grid(visible=False)
    for place, each in zip(places, shown, strict=True):
        if each["base_holds"] is not None:
            axes.plot(1.06, place, "o" if each["base_holds"] else "x", color="black", markersize=4, clip_on=False)
    axes.set(xlim=(0, 1), xlabel=f"Share of machines\n({_MARK})" if counted else "", yticks=places)
    axes.set_yticklabels([each["id"] for each in shown])
    axes.invert_yaxis()


def _indices(axes: "Axes", shown: Found, index: str) -> None:
    names = list(dict.fromkeys(own["parameter"] for each in shown for own in each["influences"]))
    table = np.full((len(shown), max(1, len(names))), np.nan)
    for row, each in enumerate(shown):
        for own in each["influences"]:
            beyond = own["index"] > each["chance"]
            table[row, names.index(own["parameter"])] = own["index"] if beyond else np.nan
    if not names:
        axes.text(0.5, 0.5, "too few machines for indices", transform=axes.transAxes, ha="center", va="center")
    axes.set_facecolor("#e4e4e4")
    axes.grid(visible=False)
    # An index has no unit and is at most 1; a mean effect is in the unit of the margins.
    drawn = axes.imshow(table, aspect="auto", cmap="viridis", vmin=0, vmax=1 if index == PAWN else None)
    axes.set_xticks(range(len(names)), [name.replace("_", " ") for name in names], rotation=60, ha="right")
    axes.tick_params(labelleft=False)
    if names:
        axes.figure.colorbar(drawn, ax=axes, label=f"{index}\n(grey: no more than chance)")


def read_study(path: str | Path) -> Study:
    """Return what a study wrote (InputError)."""
    data = read_json(path)
    if not isinstance(data, dict) or not all(isinstance(data.get(key), list) for key in KEYS):
        allowed = "what `tramontane uncertainty SAMPLE` writes"
        raise InputError(path, "", None, allowed, problem="found something else")
    return data


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw; return the exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if len(given) != 2:
        print("usage: python -m analysis.shares SHARES.json STEM", file=sys.stderr)
        return 2
    try:
        data = read_study(given[0])
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    stem = Path(given[1])
    for path in [*draw(data, stem), *draw_nearest(data, Path(given[0]).parent / MACHINES, stem)]:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
