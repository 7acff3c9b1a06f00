"""Studies of uncertainty as the page shows them: shares of statements, what decides, and the machines that fit best."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from analysis import svg
from analysis.machine_lines import middled
from analysis.page import interactive
from analysis.page.experiments import anchor_of, forms, links
from analysis.shares import read_study
from tramontane.claims import published_studies
from tramontane.claims.share_tables import held_on, process_counts, sentences
from tramontane.claims.uncertainty import is_of
from tramontane.results import published
from tramontane.study.experiments.studies import SAMPLES
from tramontane.support.layout import Layout

CAPTIONS = {
    "shares": "Left: share of the machines on which each statement holds, with its interval at 95 %; at the right edge "
    "a circle if it holds on our own machine, a cross if not. Right: how much each parameter decides; what may be "
    "chance is grey.",
    "shares-margins": "The margin of each statement on each machine (blue: it holds; a triangle: it failed early, "
    "and the margin is an upper bound), against the parameter that decides most; the diamond is our own machine.",
    "shares-machines": "The machines, a line each; those on which most statements hold at once are coloured, ours is "
    "dashed.",
}
"""What each picture shows, by the name of its file."""
SCREENED = (
    "How much each parameter moves each statement's margin, over its whole range; at the left edge a circle if the "
    "statement holds on our own machine, a cross if not."
)
"""The caption of `shares` where trajectories were drawn, off which no shares are read."""
_NEAREST = "shares-nearest"
_PAIRS = (
    "Left our own machine, right the drawn one on which most statements hold, on the same axes, with the study's "
    "process counts. Where a line ends early, statements had failed with fewer processes, and no more was run."
)

HEADINGS = ("Statement", "Holds on", "Interval", "Checks", "Processes", "Our margin", "Decides most", "Index")
_SHOWN = 10
_COMMIT = 12
"""Digits that name a commit."""


@dataclass(frozen=True)
class Picture:
    """A figure with its caption and the files of it."""

    picture: Markup
    caption: str
    links: list[tuple[str, str]]


@dataclass(frozen=True)
class Origin:
    """Where a study is from that has not run here: the commits of its points, its file, and what would run them."""

    commits: list[str]
    file: str
    command: str


@dataclass(frozen=True)
class Study:
    """What a study found.

    Attributes
    ----------
    name
        The study's: a file of `configs/samples`.
    anchor, title, about
        Heading, and what is said of it in sentences, at which size it was made first.
    origin
        Where it is from if it is published, and its machines have not run here.
    rows
        A row a statement, under `HEADINGS`.
    best
        A row a machine: draw, statements that hold, those that do not.
    pictures
        Those that have been drawn.
    plot
        JSON of an interactive plot of the machines; empty if none could be ranked.
    """

    name: str
    anchor: str
    title: str
    about: Markup
    origin: Origin | None
    rows: list[list[str]]
    best: list[list[str]]
    pictures: list[Picture]
    plot: str

    @property
    def headings(self) -> Sequence[str]:
        """Headings of the table of statements."""
        return HEADINGS


def studies(root: Path, scale: str, page: Path) -> list[Study]:
    """Return the studies of a scale: those that have run, then those of which nothing has run here but is published.

    What was found of other machines than the study has now is left out.

    Raises
    ------
    InputError
        If a file can't be read, or is of a study that is not there.
    """
    own = {file.parent.name: file for file in sorted((root / "results").glob(f"over-*-{scale}/shares.json"))}
    every = {name.removeprefix("over-").removesuffix(f"-{scale}"): read_study(file) for name, file in own.items()}
    ran = {name: data for name, data in every.items() if _is_of_now(name, data, root)}
    there = published.studies(root, scale)
    found = {
        name: data for name, data in ran.items() if name not in there or any(own["evaluated"] for own in data["claims"])
    }
    for name in there.keys() - found.keys():
        # Points may be there before a study has ended and written its file: these come first, as everywhere.
        found[name] = published_studies.known(name, root, scale, source=str(there[name]))
    made = [_study(name, data, root, scale, page) for name, data in sorted(found.items())]
    return sorted(made, key=lambda each: each.origin is not None)


def _is_of_now(name: str, data: Mapping[str, Any], root: Path) -> bool:
    """Return whether a study would still draw these machines; True where its file is not there to say so."""
    return not (root / SAMPLES / f"{name}.yaml").exists() or is_of(data, name, root)


def _study(name: str, data: Mapping[str, Any], root: Path, scale: str, page: Path) -> Study:
    whole = f"over-{name}-{scale}"
    anchor = f"study-{re.sub(r'[^A-Za-z0-9-]', '-', whole)}"
    folder, origin = root / "results" / whole / "figures", None
    if "published" in data:
        folder = Layout(root, scale).study(name)[0].parent
        commits = [commit[:_COMMIT] for commit in data["commits"]]
        origin = Origin(commits, data["published"], published_studies.command(name, scale))
    pictures = []
    pairs = sorted(each.stem for each in folder.glob(f"{_NEAREST}-*.svg"))
    screening = any(own["evaluated"] and own["share"] is None for own in data["claims"])
    captions = CAPTIONS | {"shares": SCREENED} if screening else CAPTIONS
    for picture, caption in [*captions.items(), *((pair, _PAIRS) for pair in pairs)]:
        drawn = folder / f"{picture}.svg"
        if drawn.exists():
            text = svg.inline_file(drawn, anchor_of(f"{whole}-{picture}"), caption)
            pictures.append(Picture(Markup(text), caption, links(forms(drawn), page)))
    ours = data.get("own_machine")
    machines = ([{**ours, "draw": "ours"}] if ours else []) + list(data["machines"][:_SHOWN])
    best = [[str(own["draw"]), str(len(own["holds"])), ", ".join(own["violated"]) or "none"] for own in machines]
    rows = [_row(own) for own in data["claims"]]
    said = str(escape(" ".join(sentences(data)) if "sentences" in data else data["about"]))
    about = Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", said))
    return Study(name, anchor, str(data["title"]), about, origin, rows, best, pictures, plot(data))


def _row(own: Mapping[str, Any]) -> list[str]:
    share = "not evaluated" if not own["evaluated"] else f"no share, {own['evaluated']} machines"
    interval = "–"
    if own["share"] is not None:
        low, high = (100 * edge for edge in own["interval"])
        share, interval = held_on(own), f"{low:.0f} to {high:.0f} %"
    margin = "–" if own["base_margin"] is None else f"{own['base_margin']:+.2g} {own['unit']}"
    first = own["influences"][0] if own["decides"] else None
    index = f"{first['index']:.2f} ({first['low']:.2f} to {first['high']:.2f})" if first else "–"
    checks = f"{own['checks_decided']} of {own['checks']}"
    decides = (own["decides"] or "none beyond chance").replace("_", " ")
    return [own["id"], share, interval, checks, process_counts(*own["ranks"]), margin, decides, index]


def plot(data: Mapping[str, Any]) -> str:
    """Return the machines as parallel coordinates for a page, as JSON; empty if none could be ranked.

    A reader chooses ranges of parameters, or of the number of statements that hold, by drawing along an axis.
    """
    machines = data["machines"]
    if not machines:
        return ""
    holds = [len(own["holds"]) for own in machines]
    places = middled(np.array(data["places"]), data["parameters"])[[own["draw"] for own in machines]]
    axes = []
    for number, own in enumerate(data["parameters"]):
        values, ticks, words = places[:, number].tolist(), [0.0, 1.0], own["ends"]
        if own["choices"]:
            size = len(own["choices"])
            ticks, words = [(place + 0.5) / size for place in range(size)], own["choices"]
        name = own["name"].replace("_", " ")
        axes.append({"label": name, "values": values, "range": [0, 1], "tickvals": ticks, "ticktext": words})
    axes.append({"label": "statements", "values": holds})
    trace = {
        "type": "parcoords",
        "line": {"color": holds, "colorscale": "Viridis", "showscale": True},
        "dimensions": axes,
        "labelangle": -45,
        "labelfont": {"size": 10},
        "tickfont": {"size": 9},
    }
    layout = {"height": 520, "margin": {"l": 60, "r": 60, "t": 110, "b": 30}, "template": {}}
    return interactive.as_json({"data": [trace], "layout": layout})
