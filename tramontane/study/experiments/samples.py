"""What a study of uncertainty runs: the experiments of its statements, each draw laid over all of them.

So the sides of every comparison share the draw.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tramontane.errors import InputError
from tramontane.study.experiments.claims import Claim, statements
from tramontane.study.experiments.expansion import point_of_each_draw
from tramontane.study.experiments.experiments import PROCESSES, Experiment, load_experiment
from tramontane.study.experiments.studies import Study, read_study
from tramontane.study.reading.project import EXPERIMENTS
from tramontane.study.sampling.sampling import Sample, Unit


def chosen(study: Study, root: Path) -> Iterator[tuple[str, Claim]]:
    """Yield the statements of a study by identifier."""
    known = dict(statements(root))
    for name in study.claims:
        yield name, known[name][1]


def experiments(study: Study, root: Path, scale: str, size: int, *, base: bool = False) -> list[Experiment]:
    """Return the experiments that a study's statements rest on, drawn over; `base`: as they are, on our own machine.

    Parameters
    ----------
    study : Study
        The study.
    root : Path
        Root of the checkout.
    scale : str
        One of the study's scales.
    size : int
        Draws.
    base : bool, optional
        Whether nothing is drawn.
    """
    wanted = study.scales[scale]
    names = sorted({name for _, claim in chosen(study, root) for name in claim.own_experiments})
    made = []
    for name in names:
        experiment = load_experiment(root / EXPERIMENTS / f"{name}.yaml")
        given = experiment.scales[scale]
        values = given | {key: value for key, value in wanted.values.items() if key in given}
        counts = wanted.processes_of.get(name, wanted.processes)
        if counts:
            values[PROCESSES] = counts[-1] if isinstance(given[PROCESSES], int) else list(counts)
            if "largest_transposition" in given:
                values["largest_transposition"] = counts[-1]
        cross = experiment.cross | study.only.get(name, {})
        # A copy, because the experiment's size is another one than the study's; places that were given stay.
        sample = None if base else study.sample.model_copy(update={"size": size})
        made.append(experiment.model_copy(update={"sample": sample, "cross": cross, "scales": {scale: values}}))
    return made


def check_study(path: Path, root: Path) -> None:
    """Read and check a study, and that what it draws can be points (InputError).

    A few machines tell, which have the ends of all ranges and each of the choices, with one point of each experiment at
    its largest process count: that is quick, and what lies between the ends is seldom wrong.
    """
    study = read_study(path, root)
    extreme = _extremes(study.sample)
    for scale, size in study.scales.items():
        largest = {name: counts[-1:] for name, counts in size.processes_of.items()}
        sized = size.model_copy(update={"processes": size.processes[-1:], "processes_of": largest})
        asked = {"sample": study.sample.at(extreme), "scales": {scale: sized}}
        for each in experiments(study.at_scale(scale).model_copy(update=asked), root, scale, len(extreme)):
            try:
                point_of_each_draw(each, scale)
            except InputError as error:
                raise _of_study(error, each, path, scale) from None


def _extremes(sample: Sample) -> Unit:
    """Return places of machines that have both ends of each range, and each choice."""
    choices = [len(each.choice or ()) for each in sample.drawn.values()]
    rows = range(max(2, *choices))
    return np.array(
        [[(row % own + 0.5) / own if own else row % 2 for own in choices] for row in rows], dtype=np.float64
    )


def _of_study(error: InputError, experiment: Experiment, path: Path, scale: str) -> InputError:
    """Return a mistake as one of the study that made the experiment; one of the plausible ranges stays theirs."""
    where = re.sub(r"draw=\d+, ", "", error.where or "") or None  # none of the study's draws
    own = error.source != experiment.path
    return InputError(
        error.source if own else path,
        error.key if own else f"scales.{scale}",
        error.found,
        error.allowed,
        problem=error.problem if own else f"{experiment.name}: {error.key}: {error.problem}",
        hint=error.hint,
        where=where,
    )
