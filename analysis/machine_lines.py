"""The drawn machines as parallel coordinates: which of them agree best with the paper, and in what they are alike."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from analysis.style import context, inches, save

BEST = 5
"""Machines that stand out."""
_COLOURS = ("#b2473e", "#4878a8", "#5a9e5a", "#c98b2c", "#7a5aa0")
_HEIGHT = 3.6


def draw(study: Mapping[str, Any], stem: Path) -> list[Path]:
    """Draw the machines that could be ranked; return the files, none if there is none."""
    import matplotlib.pyplot as plt  # noqa: PLC0415 - slow to import

    machines = study["machines"]
    if not machines:
        return []
    parameters = study["parameters"]
    across = list(range(len(parameters)))
    places = middled(np.array(study["places"]), parameters)
    with context():
        figure, axes = plt.subplots(figsize=(inches("page"), _HEIGHT), layout="constrained")
        for own in machines[BEST:]:
            axes.plot(across, places[own["draw"]], color="#d4d4d4", linewidth=0.5, zorder=1)
        base = [own["base_place"] for own in parameters]
        ours = study["own_machine"]
        label = "our machine" + (f": {len(ours['holds'])} statements" if ours else "")
        axes.plot(across, base, color="black", linewidth=1, linestyle="--", label=label, zorder=2)
        for own, colour in zip(machines[:BEST], _COLOURS, strict=False):
            text = f"draw {own['draw']}: {len(own['holds'])} statements"
            axes.plot(across, places[own["draw"]], ".-", color=colour, linewidth=1, markersize=4, label=text, zorder=3)
        for at, own in zip(across, parameters, strict=True):
            axes.axvline(at, color="#aaaaaa", linewidth=0.4, zorder=0)
            ends = own["ends"] or [own["choices"][0], own["choices"][-1]]
            for edge, place, side in ((ends[0], -0.02, "top"), (ends[1], 1.02, "bottom")):
                axes.text(at, place, edge, rotation=60, fontsize=5, va=side, ha="right" if side == "top" else "left")
        axes.set_xticks(
            across, [own["name"].replace("_", " ") for own in parameters], rotation=60, ha="right", fontsize=6
        )
        axes.tick_params(axis="x", pad=32, length=0)
        axes.set(xlim=(-0.3, len(parameters) - 0.7), ylim=(0, 1), yticks=[])
        for spine in axes.spines.values():
            spine.set_visible(False)
        figure.legend(loc="outside upper center", ncols=3, fontsize=6)
        files = save(figure, stem)
        plt.close(figure)
    return files


def middled(places: np.ndarray[Any, Any], parameters: list[Mapping[str, Any]]) -> np.ndarray[Any, Any]:
    """Return the places with choices in the middle of their parts: where inside says nothing."""
    found = places.copy()
    for number, own in enumerate(parameters):
        if own["choices"]:
            size = len(own["choices"])
            found[:, number] = (np.minimum((places[:, number] * size).astype(int), size - 1) + 0.5) / size
    return found
