"""The ``figure`` block of an experiment, as a dataset carries it.

The block was validated when the experiment was loaded; here it is read from the dataset's ``figure_json``, so that a
figure can be drawn from the file alone. What is left out takes a default, and what another family of figures needs is
ignored.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import xarray as xr

#: Ways of joining the values of one dimension.
REDUCTIONS = ("min", "max", "median")
SCALES = ("log", "linear")


@dataclass(frozen=True)
class Best:
    """Several series drawn as one: at each x the fastest of them.

    Attributes
    ----------
    series
        Name of the line: decides its looks.
    of
        Names or shell patterns of the series it is made of.
    label
        Text of the legend.
    """

    series: str
    of: tuple[str, ...]
    label: str

    def takes(self, name: str) -> bool:
        """Whether the series `name` is one of those the line is made of."""
        return any(fnmatchcase(name, pattern) for pattern in self.of)


@dataclass(frozen=True)
class Panel:
    """The place of a drawing in a figure of several.

    Attributes
    ----------
    figure
        Name of the figure.
    letter
        Letter of the panel; panels stand in this order.
    """

    figure: str
    letter: str


@dataclass(frozen=True)
class FigureSpec:
    """What to draw.

    Attributes
    ----------
    kind
        Family of figures: a key of `analysis.figures.FAMILIES`.
    panel
        Place in a figure of several panels, or None.
    x, y
        Coordinate and variable of the axes.
    lines
        Dimensions whose values make the lines.
    labels
        Series to text of the legend.
    caption
        What the experiment says of the figure.
    width
        ``one-column`` or ``two-column``.
    x_label, y_label
        Texts of the axes without unit, or empty for the dataset's ``long_name``.
    x_scale, y_scale
        ``log`` or ``linear``.
    reduce
        Dimension to one of `REDUCTIONS`.
    best
        Groups of series drawn as one line.
    """

    kind: str = "scaling"
    panel: Panel | None = None
    x: str = "ranks"
    y: str = "time_s"
    lines: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    caption: str = ""
    width: str = "one-column"
    x_label: str = ""
    y_label: str = ""
    x_scale: str = "log"
    y_scale: str = "log"
    reduce: Mapping[str, str] = field(default_factory=dict)
    best: tuple[Best, ...] = ()

    @property
    def letter(self) -> str:
        """The panel's letter, or nothing."""
        return self.panel.letter if self.panel else ""

    @classmethod
    def of(cls, dataset: xr.Dataset) -> "FigureSpec":
        """Read the block from a dataset's attribute ``figure_json``.

        Raises
        ------
        ValueError
            If the block asks for a reduction or scale that does not exist.
        """
        block: dict[str, Any] = json.loads(dataset.attrs.get("figure_json") or "{}")
        known = {name: block[name] for name in cls.__dataclass_fields__ if block.get(name) is not None}
        known["lines"] = _names(known.get("lines", "series" if "series" in dataset.dims else ()))
        known["panel"] = Panel(**known["panel"]) if "panel" in known else None
        known["labels"] = {str(key): str(text) for key, text in known.get("labels", {}).items()}
        known["best"] = tuple(_best(entry) for entry in known.get("best", ()))
        spec = cls(**known)
        for dim, how in spec.reduce.items():
            _allowed(f"figure.reduce.{dim}", how, REDUCTIONS)
        for key in ("x_scale", "y_scale"):
            _allowed(f"figure.{key}", getattr(spec, key), SCALES)
        return spec


def _names(value: str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _best(entry: Mapping[str, Any]) -> Best:
    return Best(str(entry["series"]), _names(entry["of"]), str(entry.get("label") or f"{entry['series']} (best)"))


def _allowed(key: str, found: str, allowed: tuple[str, ...]) -> None:
    if found not in allowed:
        raise ValueError(f"{key}: found '{found}', allowed: {', '.join(allowed)}")
