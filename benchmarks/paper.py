"""What all figures of the paper take at full scale, as `tramontane estimate` expects it."""

from pathlib import Path

from tramontane.study import estimate, expand, load_experiment

SCALE = "paper"


def hours(experiments: Path, cores: int) -> float:
    """Return the time [h] on so many cores of all simulated points of all figures, each with a single member.

    A point of several figures is run once. Repetitions are shortened and radices searched as the experiments say.
    """
    seconds: dict[str, float] = {}
    for file in sorted(experiments.glob("fig*.yaml")):
        experiment = load_experiment(file)
        if SCALE not in experiment.scales:
            continue
        for entry in expand(experiment, SCALE).points:
            point = entry.point
            if point is None or point.substrate != "simulator" or entry.coords.get("member", 0) != 0:
                continue
            if point.id not in seconds:
                seconds[point.id] = estimate(point).seconds
    return sum(seconds.values()) / cores / 3600
