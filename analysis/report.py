"""The report: one page that holds everything a campaign found, readable offline and years later.

``python -m analysis.report --scale S --command "make reproduce ..." --out report.html DATASETS...``

The page repeats what datasets and verdicts say, failures included; it computes nothing. Figures are taken from the
files beside it, so that the page shows exactly what may be printed. Nothing in it is loaded from elsewhere.
"""

import argparse
import contextlib
import importlib.metadata
import platform
import re
import signal
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from analysis import facts, svg
from analysis.page import claims, formulas, interactive, machines, papers, predictions, shares
from analysis.page.experiments import PROVENANCE, Group, Section, anchor_of, forms, group, links, section
from analysis.spec import spec_of
from tramontane.errors import InputError
from tramontane.results import datasets
from tramontane.study import list_experiments, load_experiment
from tramontane.study.reading.project import REFERENCES
from tramontane.study.reading.reading import read_yaml
from tramontane.support import formatting
from tramontane.support.files import write_atomically
from tramontane.support.layout import reproduce_command
from tramontane.support.processes import end_with_parent

TEMPLATE = Path(__file__).with_name("report.html.j2")
PACKAGES = ("numpy", "pandas", "xarray", "matplotlib", "seaborn", "plotly", "snakemake")


@dataclass(frozen=True)
class Drawing:
    """A figure that shows no results: the schedules of the paper's Figs. 3 and 4."""

    anchor: str
    heading: str
    picture: Markup
    caption: str
    links: list[tuple[str, str]]


@dataclass(frozen=True)
class Unrun:
    """An experiment of which there are no results, and the command that would run it."""

    name: str
    title: str
    question: str
    command: str


class Publication(NamedTuple):
    """What a report says of a publication: who and when, the whole reference, and its DOI or nothing."""

    name: str
    text: str
    doi: str


@dataclass(frozen=True)
class Contents:
    """All that the page shows.

    Attributes
    ----------
    scale, command
        Scale of the campaign, and the command that made it, exactly as typed.
    groups
        Figures with their experiments, in order of the page.
    drawings, unrun
        See the classes.
    verdicts
        Statements of the papers and what became of them, by paper and subject.
    studies
        Over which share of plausible machines statements hold.
    judged
        Predictions held against times of real machines.
    tables
        Tables of the paper, as printed and as computed.
    networks
        Networks that the experiments used.
    known
        Publications by key; a reference without one stands as it is.
    set_aside
        Files of points that were damaged, or another point's.
    """

    scale: str
    command: str
    groups: Sequence[Group]
    drawings: Sequence[Drawing] = ()
    unrun: Sequence[Unrun] = ()
    verdicts: Sequence[claims.Subject] = ()
    studies: Sequence[shares.Study] = ()
    judged: Sequence[predictions.Judged] = ()
    tables: Sequence[papers.PrintedTable] = ()
    networks: Sequence[machines.Used] = ()
    known: Mapping[str, Publication] = field(default_factory=dict)
    set_aside: Sequence[str] = ()

    @property
    def sections(self) -> list[Section]:
        """All experiments, in order of the page."""
        return [own for entry in self.groups for own in entry.sections]


def publications(file: Path) -> dict[str, Publication]:
    """Read the publications that experiments cite, by key; none if the file is not there.

    Parameters
    ----------
    file
        YAML: for each key the authors, year, title, journal, volume, pages and DOI.
    """
    if not file.exists():
        return {}
    entries: dict[str, dict[str, Any]] = read_yaml(file)
    return {key: _publication(entry) for key, entry in entries.items()}


def _publication(entry: dict[str, Any]) -> Publication:
    name = f"{entry.get('authors', '')} ({entry.get('year', 'no year')})"
    *parts, pages, doi = (str(entry.get(key) or "") for key in ("title", "journal", "volume", "pages", "doi"))
    parts += [pages.replace("-", "–"), f"doi:{doi}" if doi else ""]
    return Publication(name, f"{name}: {', '.join(part for part in parts if part)}", doi)


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


def render(contents: Contents) -> str:
    """Return the text of the page."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATE.parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"unbroken": unbroken, "formulas": formulas.drawn}
    sections = contents.sections
    total = facts.Counts(
        **{name: sum(getattr(s.counts, name) for s in sections) for name in facts.Counts.__dataclass_fields__}
    )
    cited = [key for s in sections for key in s.references] + [subject.paper for subject in contents.verdicts]
    plots = any(s.plot for s in sections) or any(own.plot for own in contents.studies)
    return environment.get_template(TEMPLATE.name).render(
        page=contents,
        sections=sections,
        shown={s.name: s.anchor for s in sections},
        total=total,
        revisions=revisions(sections),
        tally=claims.tally(contents.verdicts),
        provenance_headings=[
            heading for heading in PROVENANCE.values() if any(heading in s.provenance for s in sections)
        ],
        references={key: contents.known[key].text for key in cited if key in contents.known},
        papers={own.doi: own.name for own in contents.known.values() if own.doi},
        plotly=interactive.library() if plots else "",
        versions=versions(),
        number=formatting.number,
    )


def revisions(sections: Sequence[Section]) -> list[tuple[int, int, bool]]:
    """Return the model revisions of all points, newest first, each with its number of points and whether it is old."""
    found: Counter[int] = Counter()
    for own in sections:
        found.update(own.revisions)
    now = max((own.newest for own in sections if own.newest is not None), default=0)
    return [(revision, count, revision < now) for revision, count in sorted(found.items(), reverse=True)]


def collect(
    dataset_files: Sequence[Path], out: Path, scale: str, command: str, *, root: Path, figures: Path, points: Path
) -> Contents:
    """Read everything that the page shows; parameters as in `write`.

    Raises
    ------
    ValueError
        If a dataset can't be shown as its ``figure`` block asks.
    """
    sections, read = [], {}
    for file in dataset_files:
        read[file.stem] = dataset = datasets.read(file)
        try:
            panel = spec_of(dataset).panel
            sections.append((panel.figure if panel else "", section(dataset, file, figures, points, out, root)))
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from error
    groups = group(sections, figures.with_name("sheets"), out)
    done = {own.name for _, own in sections if own.counts.ok}
    return Contents(
        scale=scale,
        command=command,
        groups=groups,
        drawings=drawings(figures.with_name("schematics"), out),
        unrun=unrun(root, scale, done),
        verdicts=claims.subjects(root, scale),
        studies=shares.studies(root, scale, out),
        judged=predictions.judged(root, out),
        tables=papers.tables(root),
        networks=machines.used(read),
        known=publications(root / REFERENCES),
        set_aside=sorted(file.name for file in points.glob("??/*.damaged-*")),
    )


def drawings(folder: Path, page: Path) -> list[Drawing]:
    """Return the figures of a folder that show no results, with their captions."""
    found = []
    for file in sorted(folder.glob("*.svg")):
        number = int(re.sub(r"\D", "", file.stem) or 0)
        heading = f"Figure {number}" if number else file.stem
        anchor = anchor_of(file.stem, "drawing")
        picture = Markup(svg.inline_file(file, anchor, heading))
        text = file.with_suffix(".txt")
        words = text.read_text(encoding="utf-8").strip() if text.exists() else ""
        found.append(Drawing(anchor, heading, picture, words, links(forms(file), page)))
    return found


def unrun(root: Path, scale: str, done: set[str]) -> list[Unrun]:
    """Return the experiments of a checkout that have such a scale and no result yet; of those that can be read."""
    if not (root / "configs" / "experiments").is_dir():
        return []
    loaded = []
    for file in list_experiments(root):
        if file.stem not in done:
            with contextlib.suppress(InputError):  # whoever asks for that one is told
                loaded.append(load_experiment(file))
    return [
        Unrun(own.name, own.title, own.question, reproduce_command(root, scale, [own.name]))
        for own in loaded
        if scale in own.scales
    ]


def write(
    dataset_files: Sequence[Path],
    out: Path,
    scale: str,
    command: str,
    *,
    root: Path | None = None,
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
        See `Contents`.
    root
        Folder of ``configs`` and ``results``; by default that of a page ``results/<scale>/report.html``.
    figures
        Folder of the figures; by default ``figures`` beside the page.
    points
        Folder of the point records; by default ``results/points``.

    Raises
    ------
    ValueError
        If a dataset can't be shown as its ``figure`` block asks, or a file of statements holds a mistake.
    """
    place = out.absolute().parent  # not resolved: `results` may be a link to another file system
    contents = collect(
        dataset_files,
        out,
        scale,
        command,
        root=root or place.parents[1],
        figures=figures or out.parent / "figures",
        points=points or out.parent.parent / "points",
    )
    write_atomically(out, render(contents))


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; 0 if the page was written, 2 with one line on standard error if it could not be."""
    parser = argparse.ArgumentParser(prog="python -m analysis.report", description="Write the report of a campaign.")
    parser.add_argument("datasets", type=Path, nargs="*", metavar="DATASET", help="collated datasets (NetCDF)")
    parser.add_argument("--scale", required=True, help="scale of the campaign")
    parser.add_argument("--command", required=True, help="the command that made the report, as typed")
    parser.add_argument("--out", type=Path, required=True, help="the page to write")
    parser.add_argument("--root", type=Path, help="folder of configs and results (default: ../.. from the page)")
    parser.add_argument("--figures", type=Path, help="folder of the figures (default: figures beside the page)")
    parser.add_argument("--points", type=Path, help="folder of the point records (default: ../points from the page)")
    options = parser.parse_args(arguments)
    try:
        write(
            options.datasets,
            options.out,
            options.scale,
            options.command,
            root=options.root,
            figures=options.figures,
            points=options.points,
        )
    except (ValueError, OSError, InputError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    end_with_parent(signal.SIGKILL)  # a campaign that is killed leaves nobody behind who would go on writing
    sys.exit(main())
