"""The typed description of a figure: what an experiment asks for, and what a dataset carries to be drawn from alone."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import Field

from tramontane.study.values.fields import Choice, Letter, Name, Text
from tramontane.study.values.quantities import DRAWABLE
from tramontane.study.values.settings import Settings

FIGURE_KINDS = {
    "scaling": "a quantity against a swept number, a line for each series",
    "delay-distribution": "share of packets by how long they were delayed, a line for each series",
    "congestion-matrix": "congestion between ranks, a matrix for each series",
    "links": "load of each class of links and of its busiest link, and why ranks wait, bars for each series",
    "link-map": "where the busy links of each machine lie: links coloured by their load",
    "pattern": "who sends how much to whom, drawn from the schedule",
    "radix": "statistics of the best radix over all points",
    "steps": "a program's time against a swept number, and the share of each of its steps",
    "substrates": "the same points on several substrates: times, their ratios, and what each costs",
}
"""Families of figures and what they show."""

OTHER_KINDS = ("agreement", "calibration", "predictions")
"""Families of datasets that no experiment makes, but `tramontane compare --dataset` and `tramontane calibrate`."""

AGAINST_X = ("scaling", "links", "steps", "substrates")
"""Families that have a dimension along the horizontal axis."""

REDUCTIONS = ("min", "max", "median")
"""Ways of joining the values of one dimension."""

AXIS_SCALES = ("log", "linear")


class Best(Settings):
    """Several series drawn as one line: at each x the fastest of them."""

    series: Text = Field(description="Name of the line; it decides colour and marker.")
    of: Annotated[Text | list[Text], Field(union_mode="left_to_right")] = Field(
        description="Names or shell patterns of the series it is made of."
    )
    label: Text | None = Field(None, description="Text of the legend.")

    @property
    def text(self) -> str:
        """Text of the legend, given or not."""
        return self.label or f"{self.series} (best)"

    def takes(self, name: str) -> bool:
        """Return whether the series `name` is one of those the line is made of."""
        return any(fnmatchcase(name, pattern) for pattern in _listed(self.of))


class Panel(Settings):
    """The place of an experiment's drawing in a figure of several."""

    figure: Name = Field(
        description="Name of the figure: experiments that give the same are drawn together.", examples=["fig05"]
    )
    letter: Letter = Field(description="Letter of the panel; panels stand in this order.", examples=["a"])


class Figure(Settings):
    """What is drawn of the results."""

    kind: Annotated[str, Choice(tuple(FIGURE_KINDS))] = Field(
        "scaling",
        description="Family of figures: " + "; ".join(f"{kind}: {text}" for kind, text in FIGURE_KINDS.items()) + ".",
    )
    panel: Panel | None = Field(None, description="Its place in a figure of several panels.")
    x: Text = Field(
        "ranks",
        description="Dimension along the horizontal axis: of numbers, or of quantities, in the unit of the first.",
    )
    y: Annotated[str, Choice(DRAWABLE)] = Field("time_s", description="Variable along the vertical axis.")
    lines: Annotated[Text | list[Text] | None, Field(union_mode="left_to_right")] = Field(
        None, description="Dimension, or dimensions, whose values make the lines."
    )
    labels: dict[str, Text] = Field({}, description="Legend text of a series, where its name would not do.")
    caption: Text | None = Field(
        None, description="One or two sentences; scale, grid and machine are added automatically."
    )
    width: Annotated[str, Choice(("one-column", "two-column"))] = Field(
        "one-column", description="Width on paper: 8.3 or 12 cm."
    )
    x_label: Text | None = Field(None, description="Text of the horizontal axis, without unit.")
    y_label: Text | None = Field(None, description="Text of the vertical axis, without unit.")
    role: Text | None = Field(
        None,
        description="For kind steps: the role whose steps are drawn. Needed where programs have roles, "
        "whose steps pass side by side.",
    )
    x_scale: Annotated[str, Choice(AXIS_SCALES)] = Field("log", description="Horizontal axis.")
    y_scale: Annotated[str, Choice(AXIS_SCALES)] = Field("log", description="Vertical axis.")
    reduce: dict[str, Annotated[str, Choice(REDUCTIONS)]] = Field(
        {}, description="For kind scaling: how a dimension that is neither an axis nor makes lines is joined."
    )
    best: list[Best] = Field(
        [], description="For kind scaling: groups of series drawn as one line, the best of each group."
    )

    @property
    def letter(self) -> str:
        """The panel's letter, or nothing."""
        return self.panel.letter if self.panel else ""

    @property
    def line_dimensions(self) -> tuple[str, ...]:
        """The dimensions whose values make the lines."""
        return _listed(self.lines or ())

    def dimensions(self) -> Iterator[tuple[str, str]]:
        """Yield every dimension the figure names, with the key it stands at."""
        if self.kind in AGAINST_X:
            yield "x", self.x
        if self.kind == "substrates":
            yield "kind", "substrate"
        for name in self.line_dimensions:
            yield "lines", name
        for name in self.reduce:
            yield "reduce", name


class Drawing(Figure):
    """What is drawn of a dataset, whoever has made it."""

    kind: Annotated[str, Choice((*FIGURE_KINDS, *OTHER_KINDS))] = Field("scaling", description="Family of figures.")


def _listed(names: str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
