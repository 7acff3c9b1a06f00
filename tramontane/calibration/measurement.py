"""Measures what messages and operations cost on a machine: the cases of a calibration, run through ReFrame."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tramontane.calibration import fit
from tramontane.measurement.calibration import MESSAGES, Operation
from tramontane.measurement.execution import run_cases
from tramontane.measurement.reframe_report import CaseOutcome
from tramontane.study.points.points import Point, SystemChoice

#: Of the repetitions the shortest counts: whatever disturbs a message makes it slower, never faster.
STATISTIC = "min"


@dataclass(frozen=True)
class Messages:
    """Times of messages by size [s], and what they were measured with.

    Attributes
    ----------
    sizes : tuple of int
        Of messages [B].
    one_way : tuple of float
        Half of there and back.
    one_way_median : tuple of float
        The same, median over repetitions.
    gap : tuple of float
        Between messages of a window.
    send, receive : float
        Overheads.
    printed : dict
        All that the program said.
    """

    sizes: tuple[int, ...]
    one_way: tuple[float, ...]
    one_way_median: tuple[float, ...]
    gap: tuple[float, ...]
    send: float
    receive: float
    printed: dict[str, Any]

    @property
    def rate(self) -> float:
        """Small messages a second."""
        return 1 / min(self.gap)

    @property
    def stream_bandwidth(self) -> float:
        """Best bandwidth of a window of messages [B/s]."""
        return max(size / gap for size, gap in zip(self.sizes, self.gap, strict=True))


@dataclass(frozen=True)
class Measured:
    """All that a calibration has measured.

    Attributes
    ----------
    messages : Messages
        Between two ranks.
    operations : list
        Operations with what the program printed of each; those that failed are not among them.
    failures : dict
        Why the others failed, by case.
    environment : str
        The MPI library, as the system calls it.
    """

    messages: Messages
    operations: list[tuple[Operation, dict[str, Any]]]
    failures: dict[str, str]
    environment: str


#: Runs cases and yields what came of each; tests put a model in place.
Run = Callable[[Mapping[str, Point | None]], Sequence[tuple[str, CaseOutcome | str]]]


def runner(choice: SystemChoice, folder: Path, root: Path) -> Run:
    """Return what runs cases on a system through ReFrame, whose files go to `folder`."""

    def run(points: Mapping[str, Point | None]) -> Sequence[tuple[str, CaseOutcome | str]]:
        folder.mkdir(parents=True, exist_ok=True)
        with Path(folder, "reframe.log").open("w", encoding="utf-8") as log:
            return list(run_cases(points, choice, folder, root, log))

    return run


def measure(run: Run, wanted: Sequence[Operation]) -> Measured:
    """Measure messages and operations.

    Raises
    ------
    RuntimeError
        If the messages could not be measured, without which there is nothing to fit, or arrived damaged.
    """
    cases: dict[str, Point | None] = {MESSAGES: None} | {own.case: own.point for own in wanted}
    found = {}
    failures = {}
    for case, outcome in run(cases):
        if isinstance(outcome, str) or outcome.measured is None:
            failures[case] = outcome if isinstance(outcome, str) else outcome.failure
        else:
            found[case] = outcome
    if MESSAGES not in found:
        raise RuntimeError(failures[MESSAGES])
    outcome = found[MESSAGES]
    if not (outcome.measured or {}).get("verified"):
        raise RuntimeError(f"{MESSAGES}: data were not verified")
    measured = [(own, printed) for own in wanted if own.case in found and (printed := found[own.case].measured)]
    return Measured(messages(outcome.measured or {}), measured, failures, outcome.environment)


def without_copies(printed: dict[str, Any]) -> float:
    """Return the shortest time of an operation less the least that a rank spent on copies [s]; networks have none."""
    return float(printed["time_s"][STATISTIC] - printed["copy_s"][STATISTIC])


def messages(printed: dict[str, Any]) -> Messages:
    """Return the times of messages from what the program has printed."""
    entries = printed["sizes"]
    small = [entry for entry in entries if entry["bytes"] <= fit.SMALL]
    return Messages(
        sizes=tuple(entry["bytes"] for entry in entries),
        one_way=tuple(entry["one_way_s"][STATISTIC] for entry in entries),
        one_way_median=tuple(entry["one_way_s"]["median"] for entry in entries),
        gap=tuple(entry["gap_s"][STATISTIC] for entry in entries),
        send=min(entry["send_s"][STATISTIC] for entry in small),
        receive=min(entry["receive_s"][STATISTIC] for entry in small),
        printed=printed,
    )
