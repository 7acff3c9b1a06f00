"""The report: one page that holds everything a campaign found, readable offline and years later.

``python -m analysis.report --scale S --command "make reproduce ..." --out report.html DATASETS...``

The page repeats what the datasets say, failures included; it computes nothing. Figures are taken from the files beside
it, so that the page shows exactly what may be printed. Nothing in it is loaded from elsewhere.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from ruamel.yaml import YAML

from analysis import facts, svg, units
from analysis.caption import caption
from analysis.spec import FigureSpec
from analysis.table import figure_table, y_unit

_ROOT = Path(__file__).parents[1]
TEMPLATE = _ROOT / "workflow" / "report" / "report.html.j2"
REFERENCES = _ROOT / "configs" / "references.yaml"
#: Attributes of a dataset that say where it comes from, with their headings.
PROVENANCE = {
    "source": "Software",
    "simulator_revision": "Model revision",
    "git_commit": "Commit",
    "created": "Created",
    "compiler": "Compiler",
    "system": "System",
    "processor": "Processor",
}
PACKAGES = ("numpy", "pandas", "xarray", "matplotlib", "seaborn", "snakemake")


@dataclass(frozen=True)
class Table:
    """Numbers of a figure as text: a heading for each column, and rows of equal length."""

    headings: list[str]
    rows: list[list[str]]


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
    title: str
    question: str
    description: str
    paper_figure: str
    references: list[str]
    counts: facts.Counts
    simulation_time: str
    largest: str
    picture: Markup | None
    caption: str
    links: list[tuple[str, str]]
    table: Table
    failures: list[Failure]
    provenance: dict[str, str]


def section(dataset: xr.Dataset, dataset_file: Path, figures: Path, points: Path, page: Path) -> Section:
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
    """
    attrs = dataset.attrs
    name = dataset_file.stem
    anchor = re.sub(r"[^A-Za-z0-9]+", "-", f"experiment-{name}").strip("-").lower()
    title = str(attrs.get("title", name))
    picture = figures / f"{name}.svg"
    files = [*((kind.upper(), figures / f"{name}.{kind}") for kind in ("svg", "png", "pdf")), ("NetCDF", dataset_file)]
    largest = facts.largest_ranks(dataset)
    return Section(
        anchor=anchor,
        name=name,
        title=title,
        question=str(attrs.get("question", "")),
        description=str(attrs.get("description", "")),
        paper_figure=str(attrs.get("paper_figure", "")),
        references=[key.strip() for key in str(attrs.get("references", "")).split(",") if key.strip()],
        counts=facts.counts(dataset),
        simulation_time=units.duration(facts.simulation_seconds(dataset)),
        largest="–" if largest is None else units.number(largest),
        picture=Markup(svg.inline(picture.read_text(encoding="utf-8"), anchor, title)) if picture.exists() else None,
        caption=caption(dataset),
        links=[(kind, _relative(file, page)) for kind, file in files if file.exists()],
        table=data_table(dataset),
        failures=list(failures(dataset, points)),
        provenance={
            heading: str(attrs[key]) for key, heading in PROVENANCE.items() if attrs.get(key) not in (None, "")
        },
    )


def publications(file: Path) -> dict[str, str]:
    """Read the publications that experiments cite, by key, as text; none if the file is not there.

    Parameters
    ----------
    file
        YAML: for each key the authors, year, title, journal, volume, pages and DOI.
    """
    if not file.exists():
        return {}
    entries: dict[str, dict[str, Any]] = YAML(typ="safe").load(file.read_text(encoding="utf-8")) or {}
    return {key: _publication(entry) for key, entry in entries.items()}


def _publication(entry: dict[str, Any]) -> str:
    parts = [entry.get(key) for key in ("title", "journal", "volume", "pages")]
    text = ", ".join(str(part).replace("-", "–") if part is entry.get("pages") else str(part) for part in parts if part)
    doi = f", doi:{entry['doi']}" if entry.get("doi") else ""
    return f"{entry.get('authors', '')} ({entry.get('year', 'no year')}): {text}{doi}"


def _relative(target: Path, page: Path) -> str:
    return Path(os.path.relpath(target.resolve(), page.resolve().parent)).as_posix()


def data_table(dataset: xr.Dataset) -> Table:
    """Numbers of a dataset's figure: a row for each x, a column for each series; gaps say why they are gaps."""
    spec = FigureSpec.of(dataset)
    rows = figure_table(dataset, spec)
    unit, factor = y_unit(dataset, spec, rows)
    suffix = f", {unit}" if unit else ""
    labels: dict[str, str] = dict(zip(rows["series"], rows["label"], strict=True))
    values = (rows[["y", "low", "high"]] / factor).to_numpy(dtype=float)
    texts = [_cell(*value, *rest) for value, *rest in zip(values, rows["choice"], rows["status"], strict=True)]
    cells = dict(zip(zip(rows["series"], rows["x"], strict=True), texts, strict=True))
    x_heading = str(dataset[spec.x].attrs.get("long_name", spec.x))
    return Table(
        headings=[x_heading[:1].upper() + x_heading[1:], *(f"{label}{suffix}" for label in labels.values())],
        rows=[[units.number(x), *(cells.get((name, x), "") for name in labels)] for x in sorted(rows["x"].unique())],
    )


def _cell(value: float, low: float, high: float, choice: str, status: str) -> str:
    if not np.isfinite(value):
        return status
    text = units.number(value)
    if high > low:
        text += f" [{units.number(low)}–{units.number(high)}]"
    return f"{text} ({choice})" if choice else text


def failures(dataset: xr.Dataset, points: Path) -> Iterable[Failure]:
    """Yield the failed points of a dataset with the message that their record holds."""
    status = dataset["status"]
    for place in np.argwhere((status == "failed").values):
        indexers = {str(dim): index for dim, index in zip(status.dims, place.tolist(), strict=True)}
        identity = str(dataset["id"].isel(indexers).item()) if "id" in dataset else ""
        where = ", ".join(f"{dim} {_coordinate_text(dataset, dim, index)}" for dim, index in indexers.items())
        yield Failure(identity, where, _message(points, identity))


def _coordinate_text(dataset: xr.Dataset, dim: str, index: int) -> str:
    return units.quantity(dataset[dim].values.tolist()[index], str(dataset[dim].attrs.get("units", "")))


def _message(points: Path, identity: str) -> str:
    record = points / identity[:2] / f"{identity}.failed.json"
    try:
        return str(json.loads(record.read_text(encoding="utf-8"))["message"])
    except (OSError, ValueError, KeyError, TypeError):
        return "no message was recorded"


def versions() -> dict[str, str]:
    """Versions of what drew the figures and wrote the page; no name of a host or user."""
    found = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    found["System"] = f"{platform.system()} {platform.machine()}"
    return found


def unbroken(text: str) -> str:
    """Keep numbers and their units on one line."""
    return re.sub(r"(?<=\d) (?=(?:[TGMK]i?)?B\b|(?:[mµnp]?s|[GMk]?Hz)\b)", "\u00a0", text)


def render(sections: Sequence[Section], scale: str, command: str, known: Mapping[str, str]) -> str:
    """Text of the page.

    Parameters
    ----------
    sections
        One for each experiment, in the order of the page.
    scale
        Scale of the campaign.
    command
        The command that made it, exactly as typed.
    known
        Publications by key, see `publications`; a reference without one stands as it is.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATE.parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["unbroken"] = unbroken
    total = facts.Counts(
        **{name: sum(getattr(s.counts, name) for s in sections) for name in facts.Counts.__dataclass_fields__}
    )
    headings = [heading for heading in PROVENANCE.values() if any(heading in s.provenance for s in sections)]
    return environment.get_template(TEMPLATE.name).render(
        sections=sections,
        scale=scale,
        command=command,
        total=total,
        provenance_headings=headings,
        references={key: known[key] for s in sections for key in s.references if key in known},
        versions=versions(),
        number=units.number,
    )


def write(
    dataset_files: Sequence[Path],
    out: Path,
    scale: str,
    command: str,
    *,
    figures: Path | None = None,
    points: Path | None = None,
) -> None:
    """Write the report.

    Parameters
    ----------
    dataset_files
        Collated datasets (NetCDF), in the order of the page.
    out
        The page's file; its folder is made.
    scale, command
        See `render`.
    figures
        Folder of the figures; by default ``figures`` beside the page.
    points
        Folder of the point records; by default ``results/points`` of a page ``results/<scale>/report.html``.

    Raises
    ------
    ValueError
        If a dataset can't be shown as its ``figure`` block asks.
    """
    figures = figures or out.parent / "figures"
    points = points or out.parent.parent / "points"
    sections = []
    for file in dataset_files:
        with xr.open_dataset(file, engine="h5netcdf") as opened:
            dataset = opened.load()
        try:
            sections.append(section(dataset, file, figures, points, out))
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from error
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(render(sections, scale, command, publications(REFERENCES)), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; 0 if the page was written, 2 with one line on standard error if it could not be."""
    parser = argparse.ArgumentParser(prog="python -m analysis.report", description="Write the report of a campaign.")
    parser.add_argument("datasets", type=Path, nargs="*", metavar="DATASET", help="collated datasets (NetCDF)")
    parser.add_argument("--scale", required=True, help="scale of the campaign")
    parser.add_argument("--command", required=True, help="the command that made the report, as typed")
    parser.add_argument("--out", type=Path, required=True, help="the page to write")
    parser.add_argument("--figures", type=Path, help="folder of the figures (default: figures beside the page)")
    parser.add_argument("--points", type=Path, help="folder of the point records (default: ../points from the page)")
    options = parser.parse_args(arguments)
    try:
        write(
            options.datasets,
            options.out,
            options.scale,
            options.command,
            figures=options.figures,
            points=options.points,
        )
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
