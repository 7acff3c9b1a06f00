"""Studies of uncertainty: which statements are held against which machines, drawn from what a paper leaves open."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from tramontane.errors import InputError, closest, show
from tramontane.study.catalogue import list_experiments
from tramontane.study.experiments.claims import Claim, Computed, statements
from tramontane.study.experiments.experiments import PROCESSES, load_experiment
from tramontane.study.reading.layers import Origin
from tramontane.study.reading.messages import problem
from tramontane.study.reading.project import EXPERIMENTS
from tramontane.study.reading.reading import cached_yaml
from tramontane.study.reading.typed import check_reference, validated
from tramontane.study.sampling.plausible import load_plausible
from tramontane.study.sampling.sampling import Sample
from tramontane.study.values.fields import Count, Text, Whole
from tramontane.study.values.settings import Settings
from tramontane.support.layout import SCALES

SAMPLES = Path("configs/samples")
SIZE = "$size"
"""What a study's sample has for a size."""
METHODS = ("lhs", "sobol", "morris")
"""How a study may draw: shares need machines that are drawn alone, and not in pairs; a screening has none."""


class Size(Settings):
    """How large a study is at a scale."""

    size: Count = Field(description="Draws.")
    processes: list[Count] = Field(
        [], description="Process counts, the smallest first; figures of one count take the last. Without: their own."
    )
    claims: list[Text] = Field([], description="Statements at this scale; by default all of the study.")
    processes_of: dict[str, Annotated[list[Count], Field(min_length=1)]] = Field(
        {}, description="Process counts of an experiment by its name, where it needs others."
    )
    values: dict[str, Any] = Field({}, description="Other values of the experiments' scale, where they have them.")
    first: Count | None = Field(
        None, description="Least process count of checks that name no range; by default that of judgement.yaml."
    )
    decades: Annotated[int, Whole(0, 9)] | None = Field(
        None,
        description="Decades of process counts that such checks span at least; by default those of judgement.yaml. "
        "Fewer where only margins are read, as in a screening.",
    )
    race: bool = Field(
        False,
        description="Whether a machine on which a comparison fails at the smallest process count is run at no other "
        "for that statement; its margin is an upper bound then.",
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        every = {"processes": self.processes} | {f"processes_of.{name}": own for name, own in self.processes_of.items()}
        for key, counts in every.items():
            if counts != sorted(set(counts)):
                raise problem(f"found {show(counts)}", "ascending process counts", key=key)
        if self.race and not self.processes:
            raise problem("missing", "process counts, where a study races", key="processes")
        return self


class Study(Settings):
    """What is drawn, and which statements are held against it."""

    title: Text = Field(description="What it asks.")
    paper: Text = Field(description="Key of `configs/references.yaml`.")
    sample: Sample = Field(description="How it is drawn, as in an experiment; with a file of plausible ranges.")
    claims: Annotated[list[Text], Field(min_length=1)] = Field(description="Statements.")
    only: dict[str, dict[str, list[Text]]] = Field(
        {}, description="For an experiment, by key of its `cross`: the values that statements need."
    )
    scales: dict[str, Size] = Field(description=f"Its sizes: {', '.join(SCALES)}.")

    def at_scale(self, scale: str) -> Self:
        """Return the study with the statements of a scale."""
        return self.model_copy(update={"claims": self.scales[scale].claims or self.claims})


def load_study(name: str, root: Path, source: str = "--over") -> Study:
    """Return a study by its name (InputError)."""
    path = root / SAMPLES / f"{name}.yaml"
    known = [each.stem for each in sorted((root / SAMPLES).glob("*.yaml"))]
    if name not in known:
        raise InputError(source, "", name, ", ".join(known) or f"a file of {SAMPLES}", hint=closest(name, known))
    return read_study(path, root)


def read_study(path: Path, root: Path) -> Study:
    """Read and check a study (InputError)."""
    study = validated(Study, cached_yaml(path), path)
    check_reference(study.paper, root, path, "paper")
    ranges = load_plausible(_plausible_of(study.sample, path), root, Origin(path, "sample.plausible"))
    study.sample.choose(ranges.parameters, path, "sample")
    _check_statements(study, root, path)
    there = [each.stem for each in list_experiments(root)]
    named = [(f"only.{name}", name) for name in study.only]
    for scale, size in study.scales.items():
        named += [(f"scales.{scale}.processes_of.{name}", name) for name in size.processes_of]
    for key, name in named:
        if name not in there:
            raise InputError(path, key, name, "an experiment of configs/experiments", hint=closest(name, there))
    for scale, size in study.scales.items():
        if scale not in SCALES:
            raise InputError(path, f"scales.{scale}", scale, ", ".join(SCALES), hint=closest(scale, SCALES))
        if not study.sample.fits(size.size):
            allowed = f"with {study.sample.method} {study.sample.sizes()}"
            raise InputError(path, f"scales.{scale}.size", size.size, allowed)
        _check_scale(study, scale, root, path)
    return study


def _plausible_of(sample: Sample, path: Path) -> str:
    """Check that a sample is one of a study; return the name of its plausible ranges (InputError)."""
    if sample.plausible is None:
        raise InputError(path, "sample.plausible", None, "a file of configs/plausible", problem="missing")
    if sample.size != SIZE:
        raise InputError(path, "sample.size", sample.size, f"{SIZE}: each scale has its own")
    if sample.method not in METHODS:
        allowed = f"{', '.join(METHODS)}: others draw machines that shares can't be read off"
        raise InputError(path, "sample.method", sample.method, allowed)
    return sample.plausible


def _check_scale(study: Study, scale: str, root: Path, path: Path) -> None:
    """Check that the experiments of a scale's statements have the scale, and what is set of it (InputError)."""
    size, known = study.scales[scale], dict(statements(root))
    names = {name for each in study.at_scale(scale).claims for name in known[each][1].own_experiments}
    given = {name: load_experiment(root / EXPERIMENTS / f"{name}.yaml").scales for name in sorted(names)}
    for name, scales in given.items():
        if scale not in scales:
            problem = f"{name} has no scale {scale}"
            raise InputError(path, f"scales.{scale}", scale, ", ".join(scales), problem=problem)
        if size.processes_of.get(name, size.processes) and PROCESSES not in scales[scale]:
            problem = f"{name} has no {PROCESSES} at scale {scale}"
            raise InputError(path, f"scales.{scale}.processes", None, "none for this experiment", problem=problem)
    values = sorted({key for scales in given.values() for key in scales[scale]})
    for key in size.values:
        if key not in values:
            allowed = f"a name of the scale of one of the experiments: {', '.join(values)}"
            raise InputError(path, f"scales.{scale}.values.{key}", key, allowed, hint=closest(key, values))


def has_margin(claim: Claim) -> bool:
    """Return whether simulations decide a statement: arithmetic is true or false of any machine."""
    return any(not isinstance(check, Computed) for check in claim.checks)


def check_asked(names: Sequence[str], study: Study, name: str, root: Path) -> None:
    """Check that statements that are asked for are a study's; one without a margin is told so (InputError)."""
    every = {identity: own for identity, (_, own) in statements(root)}
    for asked in names:
        if asked in study.claims:
            continue
        problem = f"{asked} is not among the statements of {name}" if asked in every else None
        if asked in every and not has_margin(every[asked]):
            why = "is arithmetic, which no machine enters" if every[asked].checks else "is not evaluated"
            problem = f"{asked} {why}: it has no margin"
        hint = None if problem else closest(asked, study.claims)
        raise InputError("claim", "", asked, ", ".join(study.claims), problem=problem, hint=hint)


def _check_statements(study: Study, root: Path, path: Path) -> None:
    """Check that all statements are known and have a margin, and that a scale's are the study's (InputError)."""
    known = {name: own for name, (_, own) in statements(root)}
    for number, name in enumerate(study.claims):
        where = f"claims[{number}]"
        if name not in known:
            raise InputError(path, where, name, ", ".join(known), hint=closest(name, known))
        if not has_margin(known[name]):
            raise InputError(path, where, name, "a statement that simulations decide: others have no margin")
    _check_once(study.claims, path, "claims")
    for scale, size in study.scales.items():
        _check_once(size.claims, path, f"scales.{scale}.claims")
        for number, name in enumerate(size.claims):
            if name not in study.claims:
                hint = closest(name, study.claims)
                raise InputError(path, f"scales.{scale}.claims[{number}]", name, ", ".join(study.claims), hint=hint)


def _check_once(names: Sequence[str], path: Path, key: str) -> None:
    """Refuse a statement that stands there twice, and would count twice (InputError)."""
    for number, name in enumerate(names):
        if name in names[:number]:
            raise InputError(path, f"{key}[{number}]", name, "each statement once", problem=f"found {show(name)} twice")
