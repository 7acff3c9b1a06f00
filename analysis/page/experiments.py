"""What the page shows of one experiment: its figure, numbers, cost, failures and where it all comes from."""

import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr
from markupsafe import Markup

from analysis import facts, svg
from analysis.caption import caption
from analysis.figures import show
from analysis.figures.panel import Shown
from analysis.page import interactive
from analysis.spec import spec_of
from analysis.table import Table
from tramontane.results.revisions import newest, tally
from tramontane.support import formatting
from tramontane.support.layout import FAILED, FIGURE_FORMATS, reproduce_command

#: Attributes of a dataset that say where it comes from, with their headings.
PROVENANCE = {
    "source": "Software",
    "simulator_revision": "Model revision",
    "git_commit": "Commit",
    "created": "Created",
    "compiler": "Compiler",
    "built_by": "Built by",
    "system": "System",
    "processor": "Processor",
    "published": "Points simulated before and published with the project",
}
#: Figures that belong to one of a paper, by the names that experiments give them.
_OF_PAPER = re.compile(r"fig0*(\d+)")


@dataclass(frozen=True)
class Failure:
    """A point that failed: its identity, coordinates and message."""

    identity: str
    where: str
    message: str


@dataclass(frozen=True)
class Section:
    """What the page shows of one experiment."""

    anchor: str
    name: str
    letter: str
    title: str
    question: str
    description: str
    paper_figure: str
    paper_doi: str
    references: list[str]
    counts: facts.Counts
    revisions: dict[int, int]
    newest: int | None
    simulation_time: str
    memory: str
    largest: str
    picture: Markup | None
    problem: str
    caption: str
    links: list[tuple[str, str]]
    command: str
    table: Table
    summaries: Sequence[Table]
    plot: str
    failures: list[Failure]
    provenance: dict[str, str]


@dataclass(frozen=True)
class Group:
    """A figure of the page: the experiments that are its panels, in order, and the files that show them together."""

    anchor: str
    heading: str
    sections: list[Section]
    links: list[tuple[str, str]]


def anchor_of(name: str, kind: str = "experiment") -> str:
    """Return the identifier of a place in the page: that of an experiment, or of something else with a name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", f"{kind}-{name}").strip("-").lower()


def section(dataset: xr.Dataset, dataset_file: Path, figures: Path, points: Path, page: Path, root: Path) -> Section:
    """Collect what the page shows of one experiment.

    Parameters
    ----------
    dataset
        A collated dataset, loaded.
    dataset_file
        Where it lies.
    figures
        Folder of its figures, named as the dataset's file.
    points
        Folder of the point records, for the messages of failed points.
    page
        The report's file; links are relative to it.
    root
        Folder of ``configs``.
    """
    attrs = dataset.attrs
    name = dataset_file.stem
    anchor = anchor_of(name)
    title = str(attrs.get("title", name))
    picture = figures / f"{name}.svg"
    files = [*forms(picture), ("NetCDF", dataset_file), ("tables", figures / f"{name}.md")]
    largest = facts.largest_ranks(dataset)
    failed = figures / f"{name}.{FAILED}"
    problem = failed.read_text(encoding="utf-8").strip() if failed.exists() else ""
    # What the figure can't be drawn from makes no numbers either.
    shown = Shown([], Table([], [])) if problem else show(dataset)
    return Section(
        anchor=anchor,
        name=name,
        letter=spec_of(dataset).letter,
        title=title,
        question=str(attrs.get("question", "")),
        description=str(attrs.get("description", "")),
        paper_figure=str(attrs.get("paper_figure", "")),
        paper_doi=str(attrs.get("paper_doi", "")),
        references=[key.strip() for key in str(attrs.get("references", "")).split(",") if key.strip()],
        counts=facts.counts(dataset),
        revisions=tally(dataset),
        newest=newest(dataset),
        simulation_time=formatting.duration(facts.simulation_seconds(dataset)),
        memory=formatting.size(round(memory, -6)) if (memory := facts.peak_memory(dataset)) else "–",
        largest="–" if largest is None else formatting.number(largest),
        picture=Markup(svg.inline_file(picture, anchor, title)) if picture.exists() else None,
        problem=problem,
        caption="" if problem else caption(dataset),
        links=links(files, page),
        command=reproduce_command(root, str(attrs.get("scale", "laptop")), [name]),
        table=shown.numbers,
        summaries=shown.summaries,
        plot="" if problem else interactive.plot(dataset),
        failures=list(failures(dataset, points)),
        provenance={
            heading: str(attrs[key]) for key, heading in PROVENANCE.items() if attrs.get(key) not in (None, "")
        },
    )


def failures(dataset: xr.Dataset, points: Path) -> Iterable[Failure]:
    """Yield the failed points of a dataset with the message that their record holds."""
    status = dataset["status"]
    for place in np.argwhere((status == "failed").values):
        indexers = {str(dim): index for dim, index in zip(status.dims, place.tolist(), strict=True)}
        identity = str(dataset["id"].isel(indexers).item()) if "id" in dataset else ""
        where = ", ".join(f"{dim} {_coordinate_text(dataset, dim, index)}" for dim, index in indexers.items())
        yield Failure(identity, where, _message(points, identity))


def _coordinate_text(dataset: xr.Dataset, dim: str, index: int) -> str:
    return formatting.quantity(dataset[dim].values.tolist()[index], str(dataset[dim].attrs.get("units", "")))


def _message(points: Path, identity: str) -> str:
    record = points / identity[:2] / f"{identity}.failed.json"
    try:
        return str(json.loads(record.read_text(encoding="utf-8"))["message"])
    except (OSError, ValueError, KeyError, TypeError):
        return "no message was recorded"


def forms(drawn: Path) -> list[tuple[str, Path]]:
    """Return words and files of the forms that a figure was drawn in, from its file of any form."""
    return [(kind.upper(), drawn.with_suffix(f".{kind}")) for kind in FIGURE_FORMATS]


def links(files: Iterable[tuple[str, Path]], page: Path) -> list[tuple[str, str]]:
    """Return words and addresses, relative to the page, of the files that exist, but of words in place of a figure."""
    there = [each for each in files if each[1].exists() and not each[1].with_suffix(f".{FAILED}").exists()]
    return [(words, Path(os.path.relpath(file, page.parent)).as_posix()) for words, file in there]


def group(sections: Iterable[tuple[str, Section]], sheets: Path, page: Path) -> list[Group]:
    """Put the experiments that are panels of one figure together.

    Parameters
    ----------
    sections
        Each with the name of its figure; empty if it has one of its own.
    sheets
        Folder of the figures of several experiments.
    page
        The report's file.

    Returns
    -------
    list of Group
        The paper's figures by their numbers, then the others in order.
    """
    found: dict[str, list[Section]] = {}
    for figure, own in sections:
        # An experiment that is a whole figure of the paper has no panel that says so, but its name does: figures of
        # other papers have such numbers, too.
        whole = f"fig{int(own.paper_figure):02d}" if own.paper_figure.isdigit() else own.name
        found.setdefault(figure or (whole if own.name.startswith(whole) else own.name), []).append(own)
    groups = []
    for name, members in found.items():
        members.sort(key=lambda own: own.letter)
        number = _OF_PAPER.fullmatch(name)
        title = members[0].title if len(members) == 1 else ("" if number else name.replace("-", " ").capitalize())
        heading = ": ".join(part for part in (f"Figure {int(number[1])}" if number else "", title) if part)
        files = [*forms(sheets / f"{name}.svg"), ("tables", sheets / f"{name}.md")]
        groups.append(
            (int(number[1]) if number else 10**6, Group(f"figure-{name.lower()}", heading, members, links(files, page)))
        )
    return [own for _, own in sorted(groups, key=lambda entry: entry[0])]
