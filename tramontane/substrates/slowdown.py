"""What several jobs side by side cost each other."""

from collections.abc import Callable
from typing import Any

from tramontane.study.workloads.jobs import Jobs


def with_slowdown(together: dict[str, Any], jobs: Jobs, run_alone: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
    """Return a result with what each job takes, beside the others and alone on the same nodes.

    Parameters
    ----------
    together : dict
        The result of all jobs.
    jobs : Jobs
        They.
    run_alone : callable
        The result of one of them, by number.
    """
    rows = []
    for number, job in enumerate(jobs.jobs):
        alone = run_alone(number)
        own, others = together["phases"][job.name], alone["phases"][job.name]
        rows.append({"name": job.name, "time_s": own, "alone_s": others, "slowdown": own / others if others else 1.0})
        together["wall_s"] += alone["wall_s"]
    return together | {"jobs": rows, "slowdown": rows[0]["slowdown"]}
