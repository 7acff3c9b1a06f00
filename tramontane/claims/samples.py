"""What a study of uncertainty runs: the experiments of its statements, each draw laid over all of them.

So the sides of every comparison share the draw.
"""

from collections.abc import Iterator
from pathlib import Path

from tramontane.study import Experiment, load_experiment
from tramontane.study.experiments.claims import Claim, statements
from tramontane.study.experiments.experiments import PROCESSES
from tramontane.study.experiments.studies import Study
from tramontane.study.reading.project import EXPERIMENTS


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
