"""What the rules of the workflow ask: which files go in, which come out, how much a batch needs.

The rule files hold no logic; they name the functions below. The driver asks the same functions whether anything is out
of date, so that a second run of the same command need not start the workflow at all.
"""

import functools
import json
import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tramontane.campaign import slurm
from tramontane.campaign.clock import is_past
from tramontane.errors import InputError
from tramontane.results import published
from tramontane.support.imports import sources
from tramontane.support.layout import CODE, PACKAGES, SCALES, SCHEMATICS_OF, SHARE, Layout

#: What the wildcards may be; a misspelt target is then no target at all.
SCALE = "|".join(SCALES)
EXPERIMENT = "[A-Za-z0-9][A-Za-z0-9_.-]*"
SHEET = EXPERIMENT
STUDY = EXPERIMENT
BATCH = "[0-9a-f]{16}"

#: What makes datasets and figures (single, together, and of schedules), figures of published studies, and the report.
DRAWING = ("analysis.draw", "analysis.schematics")
DRAWING_STUDIES = ("analysis.shares",)
REPORTING = ("analysis.report",)

#: The rules of the workflow.
SNAKEFILE = str(SHARE / "Snakefile")

_STYLES = ("*.mplstyle", "*.yaml", "*.j2", "*.html", "*.css")
#: How far a point may exceed its estimate: in time, and in memory.
_TIME_MARGIN = 4
_MEMORY_MARGIN = 1.3
#: What a job holds beside its point: two processes of Snakemake and the batch's own, measured as 215 to 245 MB [B].
_OVERHEAD = 300_000_000
_MINUTES = 60
#: Longer than any batch takes [s].
_MEASURED_FIRST = 10**9


class Wildcards(Protocol):
    """What Snakemake hands to a function: the values of the wildcards of a rule, those it has."""

    scale: str
    experiment: str
    sheet: str
    study: str
    batch: str


@dataclass(frozen=True)
class Step:
    """One piece of work: `outputs` are out of date if one is missing, or older than one of `inputs`."""

    inputs: tuple[Path, ...]
    outputs: tuple[Path, ...]

    def is_fresh(self) -> bool:
        """Return whether there is nothing to do, by times of modification as the workflow sees them."""
        try:
            newest = max(path.stat().st_mtime_ns for path in self.inputs)
            return newest <= min(path.stat().st_mtime_ns for path in self.outputs)
        except FileNotFoundError:
            return False


class Rules:
    """The files and resources of the rules, for a plan that was written.

    Parameters
    ----------
    root : Path, optional
        Root of the checkout; by default the working directory, which is where Snakemake is.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or Path()

    def outline(self, scale: str) -> dict[str, Any]:
        """Return the plan at `scale`; an empty one before `tramontane plan` has made one."""
        file = Layout(self.root, scale).plan
        if not file.exists():
            return {"batches": {}, "experiments": {}, "command": "", "threads": 1}
        return _read(file, file.stat().st_mtime_ns)

    # What batches need.

    def priority(self, wildcards: Wildcards) -> int:
        """Return the estimated seconds of a batch: the longest starts first, but what is measured before all others.

        That needs all cores: later it would wait until nothing else is left, not even figures.
        """
        batch = self._batch(wildcards)
        return math.ceil(float(batch["seconds"])) + (_MEASURED_FIRST if batch["measured"] else 0)

    def memory(self, wildcards: Wildcards, attempt: int = 1) -> int:
        """Return the memory a batch needs [MB; on a cluster MiB, as Slurm counts], never more than the plan allowed.

        Who has failed for want of it gets twice as much, then three times: on a cluster. On one machine there is
        nothing to ask for, but with all that is allowed the batch runs alone.
        """
        needed: float = _MEMORY_MARGIN * self._batch(wildcards)["memory_bytes"] + _OVERHEAD
        allowed = self.outline(wildcards.scale)["memory_bytes"]
        if attempt > 1 and allowed and not self._on_cluster(wildcards):
            needed = allowed
        needed *= 1 + self._attempts(wildcards, attempt).memory
        unit = 2**20 if self._on_cluster(wildcards) else 10**6
        return min(math.ceil(needed / unit), int(allowed // unit) if allowed else sys.maxsize)

    def threads(self, wildcards: Wildcards) -> int:
        """Return the threads, and so cores, of a point, which are those of its batch; one where points are measured."""
        return 1 if self._batch(wildcards)["measured"] else int(self.outline(wildcards.scale)["threads"])

    def gpus(self, wildcards: Wildcards) -> int:
        """Return the GPUs that a batch needs: one, or none."""
        return int(self._batch(wildcards)["on_gpu"])

    def runtime(self, wildcards: Wildcards, attempt: int = 1) -> int:
        """Return the time a batch system should allow a batch [min]: generous, since estimates err.

        Who has run out of it gets twice as much, and so on, up to what the partition allows.
        """
        needed = 10 + math.ceil(_TIME_MARGIN * float(self._batch(wildcards)["seconds"]) / _MINUTES)
        needed *= 1 + self._attempts(wildcards, attempt).time
        return min(needed, int(self.outline(wildcards.scale)["minutes"] or needed))

    def _attempts(self, wildcards: Wildcards, attempt: int) -> slurm.Attempts:
        if attempt == 1 or not self._on_cluster(wildcards):
            return slurm.Attempts()
        return slurm.attempts(wildcards.batch, attempt - 1)

    def _on_cluster(self, wildcards: Wildcards) -> bool:
        return bool(self.outline(wildcards.scale)["cluster"])

    def _batch(self, wildcards: Wildcards) -> dict[str, Any]:
        batch: dict[str, Any] = self.outline(wildcards.scale)["batches"][wildcards.batch]
        return batch

    # What goes in.

    def ended_batches(self, wildcards: Wildcards) -> list[str]:
        """Return the marks of the batches that an experiment waits for."""
        layout = Layout(self.root, wildcards.scale)
        outline = self.outline(wildcards.scale)
        waits = outline["experiments"].get(wildcards.experiment, [])
        return [str(layout.ended(batch, measured=outline["batches"][batch]["measured"])) for batch in waits]

    def code_of_analysis(self) -> list[str]:
        """Return the code and style that decide what is in datasets, and what figures look like."""
        return [*_code(DRAWING), *_styles()]

    def code_of_studies(self) -> list[str]:
        """Return the code and style that decide what figures of studies look like."""
        return [*_code(DRAWING_STUDIES), *_styles()]

    def code_of_skeleton(self) -> list[str]:
        """Return the sources of the program that runs schedules with MPI."""
        return [str(path) for path in (SHARE / "CMakeLists.txt", *_skeleton())]

    def code_of_report(self) -> list[str]:
        """Return the code, style and data, besides the datasets, that decide what the report says."""
        data = self.root / "configs"
        files = sorted([*data.glob("claims/*.yaml"), *data.glob("paper/*.yaml")])
        files += sorted((SHARE / "simulator" / "topologies").glob("*.hpp"))  # whose sizes Table 1 shows
        return [*_code(REPORTING), *_styles(), *_changed(files)]

    def command(self, wildcards: Wildcards) -> str:
        """Return the command that makes the report again, as the report prints it."""
        return str(self.outline(wildcards.scale)["command"])

    def datasets(self, wildcards: Wildcards) -> list[str]:
        """Return the datasets of all experiments that the report shows."""
        layout = Layout(self.root, wildcards.scale)
        return [str(layout.dataset(name)) for name in self.outline(wildcards.scale)["experiments"]]

    def datasets_of_sheet(self, wildcards: Wildcards) -> list[str]:
        """Return the datasets of the experiments that are panels of one figure."""
        layout = Layout(self.root, wildcards.scale)
        return [str(layout.dataset(name)) for name in self.sheets(wildcards.scale)[wildcards.sheet]]

    def figures(self, wildcards: Wildcards) -> list[str]:
        """Return the figures and captions that the report shows: single, as panels, and of published studies."""
        steps = self._making(wildcards.scale)
        return [str(path) for step in steps for path in step.outputs if path.suffix != ".nc"]

    def sheets(self, scale: str) -> dict[str, list[str]]:
        """Return the figures that several experiments are panels of, with the experiments' names."""
        found: dict[str, list[str]] = {}
        for name, manifest in self._manifests(scale):
            if panel := manifest["figure"].get("panel"):
                found.setdefault(panel["figure"], []).append(name)
        return {sheet: names for sheet, names in found.items() if len(names) > 1}

    def shown(self, scale: str) -> dict[str, Any]:
        """Return which experiments the report shows, and which are panels of one figure."""
        return {"experiments": list(self.outline(scale)["experiments"]), "sheets": self.sheets(scale)}

    def draws_schedules(self, scale: str) -> bool:
        """Return whether an experiment is of the paper that has figures of schedules."""
        return any(manifest.get("paper", {}).get("doi") == SCHEMATICS_OF for _, manifest in self._manifests(scale))

    def _manifests(self, scale: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for name in self.outline(scale)["experiments"]:
            file = Layout(self.root, scale).manifest(name)
            if file.exists():
                yield name, _read(file, file.stat().st_mtime_ns)

    def targets(self, scale: str) -> list[str]:
        """Return what a campaign is to end with: the report, and all it shows.

        The report alone would not do: Snakemake leaves a lost figure alone where a newer report stands already.
        """
        plan = Layout(self.root, scale).plan
        if not plan.exists():  # Snakemake then says which file is missing: the plan
            return [str(plan)]
        return [str(path) for step in self.steps(scale) for path in step.outputs]

    # Is there anything to do?

    def steps(self, scale: str) -> Iterator[Step]:
        """Yield all that follows the batches: datasets, figures and the report."""
        making = list(self._making(scale))
        yield from making
        inputs = [path for step in making for path in step.outputs]
        layout = Layout(self.root, scale)
        yield Step((layout.shown, *inputs, *_paths(self.code_of_report())), (layout.report,))

    def check_outputs(self, scale: str) -> None:
        """Raise InputError if a folder is in the place of a file: the workflow would take it for one that is made."""
        for path in map(Path, self.targets(scale)):
            if path.is_dir():
                raise InputError(path, "", None, "a file, or nothing", problem="found a folder")

    def is_fresh(self, scale: str) -> bool:
        """Return whether every file of the campaign is there and none is out of date."""
        return not self.outline(scale)["batches"] and all(step.is_fresh() for step in self.steps(scale))

    def _making(self, scale: str) -> Iterator[Step]:
        layout = Layout(self.root, scale)
        code = _paths(self.code_of_analysis())
        for name in self.outline(scale)["experiments"]:
            yield Step((layout.manifest(name), *code), (layout.dataset(name), *layout.figures(name)))
        if self.draws_schedules(scale):
            yield Step(code, tuple(layout.schematics()))
        if self.outline(scale)["experiments"]:
            for name, file in published.studies(self.root, scale).items():
                yield Step((file, *_paths(self.code_of_studies())), tuple(layout.study(name)))
        for sheet, names in self.sheets(scale).items():
            yield Step((layout.shown, *map(layout.dataset, names), *code), tuple(layout.sheet(sheet)))


def figure_outputs() -> list[str]:
    """Return the outputs of the rule that draws, with wildcards."""
    return [str(path) for path in Layout(Path(), "{scale}").figures("{experiment}")]


def sheet_outputs() -> list[str]:
    """Return the outputs of the rule that draws several experiments as one figure, with wildcards."""
    return [str(path) for path in Layout(Path(), "{scale}").sheet("{sheet}")]


def study_outputs() -> list[str]:
    """Return the outputs of the rule that draws what a published study found, with wildcards."""
    return [str(path) for path in Layout(Path(), "{scale}").study("{study}")]


def schematic_outputs() -> list[str]:
    """Return the outputs of the rule that draws the schedules, with wildcards."""
    return [str(path) for path in Layout(Path(), "{scale}").schematics()]


@functools.cache
def _read(file: Path, modified: int) -> dict[str, Any]:
    """Return the content of `file`; the time of modification makes the cache notice changes."""
    data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return data


def _paths(names: Iterable[str]) -> tuple[Path, ...]:
    return tuple(Path(name) for name in names)


def _code(modules: Iterable[str]) -> list[str]:
    """Return the sources of modules and of what they use; where they ask schedules, those of the schedules, too."""
    files = sources(modules, CODE, PACKAGES)
    if CODE / "tramontane" / "substrates" / "simulator.py" in files:
        files += [file for file in _skeleton() if file.parent.name != "executor"]
    return _changed(files)


def _skeleton() -> list[Path]:
    return sorted(path for form in ("*.hpp", "*.cpp") for path in (SHARE / "skeleton-src").rglob(form))


def _styles() -> list[str]:
    return _changed(sorted({path for pattern in _STYLES for path in (CODE / "analysis").rglob(pattern)}))


def _changed(files: Iterable[Path]) -> list[str]:
    """Return the files that a step waits for: a change in the future would make it out of date for ever."""
    return [str(file) for file in files if is_past(file)]
