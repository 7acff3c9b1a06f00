"""What of a point a substrate can't express, told before anything runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from tramontane.study.networks.machines import EXPECTED, PROGRESS, STEP_COSTS
from tramontane.study.points.points import Point
from tramontane.study.values.settings import Settings
from tramontane.study.workloads.jobs import Jobs


@dataclass(frozen=True)
class Refusal:
    """One key of a point that a substrate has no counterpart for.

    Attributes
    ----------
    key : str
        Dotted path of the key.
    found : object
        Its value.
    allowed : str
        What the substrate can do.
    why : str
        The reason, in few words.
    """

    key: str
    found: object
    allowed: str
    why: str

    def __str__(self) -> str:
        return f"{self.key}: found {self.found!r} ({self.why}); allowed: {self.allowed}"


def refusal_of(key: str, found: object, allowed: Sequence[object], why: str) -> Refusal | None:
    """Return a refusal unless `found` is one of `allowed`."""
    return None if found in allowed else Refusal(key, found, ", ".join(map(str, allowed)), why)


def simulator_only(point: Point, known: Sequence[str] = ()) -> Refusal | None:
    """Return the first thing asked for that only the embedded simulator has.

    Parameters
    ----------
    point : Point
        A point.
    known : sequence of str
        Keys that a substrate has, too.
    """
    only = "only the embedded simulator has it"
    for key, value, usual in (
        ("ranks_per_node", point.ranks_per_node, 1),
        ("mapping", point.rank_mapping.kind, "block"),
        ("machine.node.nics", point.network.node.nics, 1),
        ("machine.protocol.progress", point.network.protocol.progress or PROGRESS[0], PROGRESS[0]),
        ("machine.protocol.expected_eager", point.network.protocol.expected_eager or EXPECTED[0], EXPECTED[0]),
    ):
        if value != usual and key not in known:
            return Refusal(key, value, str(usual), only)
    if "workload.steps" not in known:
        if isinstance(point.workload, Jobs):
            return Refusal("workload.kind", point.workload.kind, "any other", "it runs one job")
        for puts in point.workload.puts():
            return Refusal("workload.steps", puts.synchronisation, "messages of two sides", "it has no puts")
        for access in point.workload.accesses():
            return Refusal("workload.steps", access.kind, "other steps", "it has no storage")
    asked: dict[str, Settings] = {
        **{f"machine.{name}": getattr(point.network, name) for name in STEP_COSTS},
        "noise": point.noise,
        "steady": point.steady,
        "statistics": point.statistics,
    }
    found = ((key, block) for key, block in asked.items() if key not in known and not block.is_default)
    for key, block in found:
        return Refusal(key, block.canonical(), "none", only)
    return None
