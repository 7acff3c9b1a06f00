"""Where the files of a campaign lie: one place for all names, used by the plan, the rules and the driver alike."""

import itertools
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tramontane import __version__
from tramontane.errors import InputError

#: Where the packages lie: the checkout itself, or wherever they were installed.
CODE = Path(__file__).resolve().parents[2]

#: Our packages; where they were installed, others lie beside them.
PACKAGES = ("tramontane", "analysis")

#: Where everything lies that is no package: the workflow, what to study, sources of programs. A wheel carries a copy.
SHARE = CODE if Path(CODE, "Snakefile").is_file() else Path(CODE, "tramontane", "share")

#: Whether this is a package that was installed, and no checkout.
INSTALLED = SHARE != CODE


def cache() -> Path:
    """Return the folder of the user's cache; one in the working directory for who has none to write to.

    So it is in containers, and on nodes that see homes but must not write there.
    """
    try:
        known = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
        if os.access(next(folder for folder in (known, *known.absolute().parents) if folder.exists()), os.W_OK):
            return known
    except (RuntimeError, OSError):
        pass
    return Path("results", "build").absolute()


#: Where programs are built: in the checkout, or in the user's cache, for what was installed may be somebody else's.
BUILDS = Path(cache(), "tramontane", __version__) if INSTALLED else Path(CODE, "build")

#: Sizes of every experiment, each with a folder of results: a test of everything, an evening's work, the paper.
SCALES = ("smoke", "laptop", "paper")

#: The forms in which each figure is drawn: for the report, for a quick look, for print.
FIGURE_FORMATS = ("svg", "png", "pdf")

#: All that is written of a figure: its forms, the caption, and the numbers it shows as tables.
DRAWN = (*FIGURE_FORMATS, "txt", "md")

#: Ending of a file beside a figure that could not be drawn, which says why.
FAILED = "failed"

#: The figures of a study of uncertainty that always can be drawn, where it is published.
STUDY_FIGURES = ("shares", "shares-margins")

#: The figures that show how the operations work, whatever is simulated; named as in the paper.
SCHEMATICS = ("fig03", "fig04")
#: The paper whose figures they are.
SCHEMATICS_OF = "10.5194/gmd-11-3409-2018"


def root_of(planned: Path) -> Path:
    """Return the root of the checkout that a manifest or a batch of a plan lies in (InputError if it can't be one)."""
    parents = planned.absolute().parents  # not resolved: `results` may be a link to another file system
    if len(parents) < 5:
        raise InputError(planned, "", None, "a file that `tramontane plan` writes", problem="it lies elsewhere")
    return parents[4]


def home(root: Path) -> Path:
    """Return the folder below which results lie: a project's own, or the working directory where there is no project.

    Without a project, what to study comes from the installed package, in which nothing is written.
    """
    return Path.cwd() if INSTALLED and root == SHARE else root


def reproduce_command(root: Path, scale: str, experiments: Iterable[str] = ()) -> str:
    """Return the command that runs a campaign of some experiments, or of all: with make, where there is a Makefile."""
    names = " ".join(experiments)
    if Path(root, "Makefile").is_file():
        return f"make reproduce SCALE={scale}" + (f' EXPERIMENTS="{names}"' if names else "")
    return f"tramontane reproduce --scale {scale}" + (f' --experiments "{names}"' if names else "")


def tables(root: Path) -> Path:
    """Return the folder of the tables of messages that points name by their digests."""
    return Path(home(root), "results", "tables")


def plan_of(batch: Path) -> Path:
    """Return the plan that a batch belongs to."""
    return batch.absolute().parents[1] / "plan.json"


@dataclass(frozen=True)
class Layout:
    """The files of the campaign at one scale.

    Parameters
    ----------
    root : Path
        Root of the checkout; ``Path()`` gives names relative to it, as the rules want them.
    scale : str
        Name of the scale; may be a wildcard.
    """

    root: Path
    scale: str

    @property
    def folder(self) -> Path:
        """The folder of everything that belongs to the scale."""
        return Path(home(self.root), "results", self.scale)

    @property
    def plan(self) -> Path:
        """The plan: which batches there are, and which experiment waits for which."""
        return self.folder / "plan" / "plan.json"

    @property
    def shown(self) -> Path:
        """What the report and the figures of several experiments show, which changes where an experiment goes, too."""
        return self.folder / "plan" / "shown.json"

    @property
    def manifests(self) -> Path:
        """The folder of the experiments' manifests."""
        return self.folder / "plan" / "experiments"

    @property
    def batches(self) -> Path:
        """The folder of the batches that are to be run."""
        return self.folder / "plan" / "batches"

    @property
    def done(self) -> Path:
        """The folder of the marks of batches that have ended."""
        return self.folder / "batches"

    @property
    def measured(self) -> Path:
        """The folder of the marks of batches that were measured, and of what ReFrame left of them."""
        return self.folder / "measured"

    @property
    def report(self) -> Path:
        """The report, with which a campaign ends."""
        return self.folder / "report.html"

    @property
    def logs(self) -> Path:
        """The folder of the logs."""
        return self.folder / "logs"

    def manifest(self, experiment: str) -> Path:
        """Return the manifest of an experiment: its points, and what the figure shows."""
        return self.manifests / f"{experiment}.json"

    def batch(self, batch: str) -> Path:
        """Return the file with the points of a batch."""
        return self.batches / f"{batch}.json"

    def ended(self, batch: str, *, measured: bool = False) -> Path:
        """Return the mark that a batch has ended."""
        return (self.measured if measured else self.done) / f"{batch}.done"

    @property
    def datasets(self) -> Path:
        """The folder of the datasets."""
        return self.folder / "datasets"

    def dataset(self, experiment: str) -> Path:
        """Return the dataset of an experiment."""
        return self.datasets / f"{experiment}.nc"

    def figures(self, experiment: str) -> list[Path]:
        """Return the figure of an experiment in all its forms, its caption and its tables."""
        return _drawing(self.folder / "figures", experiment)

    def undrawn(self, experiment: str) -> Path:
        """Return the file that says why the figure of an experiment could not be drawn; there is none if it was."""
        return self.folder / "figures" / f"{experiment}.{FAILED}"

    def undrawn_sheet(self, name: str) -> Path:
        """Return the same for a figure of several experiments."""
        return self.folder / "sheets" / f"{name}.{FAILED}"

    def schematics(self) -> list[Path]:
        """Return the figures that show schedules, in all their forms, and their captions."""
        forms = (form for form in DRAWN if form != "md")  # they show no numbers
        return [self.folder / "schematics" / f"{name}.{form}" for name, form in itertools.product(SCHEMATICS, forms)]

    def study(self, name: str) -> list[Path]:
        """Return the figures of a published study of uncertainty in all their forms."""
        forms = itertools.product(STUDY_FIGURES, FIGURE_FORMATS)
        return [self.folder / "studies" / name / f"{figure}.{form}" for figure, form in forms]

    def sheet(self, name: str) -> list[Path]:
        """Return a figure of several experiments in all its forms, its captions and its tables."""
        return _drawing(self.folder / "sheets", name)


def _drawing(folder: Path, name: str) -> list[Path]:
    return [folder / f"{name}.{form}" for form in DRAWN]
