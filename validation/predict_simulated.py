"""Predict larger jobs with the simulator, fitted to the measured medians of smaller ones.

Usage: ``python validation/predict_simulated.py`` (from the repository's root) does what `tramontane calibrate
--measured --predict` does for each machine, writes ``validation/predictions/simulated``, and prints the fits, what
leaving out costs, how long all took, and what coarser packets change on 512 nodes. It goes on where it was.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from tramontane.calibration.collectives import predicting
from tramontane.calibration.collectives.calibrate import Calibrated, Predictor, calibrate
from tramontane.calibration.collectives.leaving_out import interval_of, widest
from tramontane.calibration.collectives.points import FEWER, PACKETS
from tramontane.calibration.collectives.predicting import Prediction, write_predictions
from tramontane.calibration.collectives.presentation import as_text
from tramontane.study.systems.timed_collectives import Case

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "validation" / "measured" / "pico.csv"
WANTED = ROOT / "validation" / "measured" / "to-predict.csv"
FOLDER = ROOT / "validation" / "predictions" / "simulated"
#: Leonardo's all-to-alls have no measured row: its allreduces lend the costs of messages.
LENT = ("leonardo", "alltoall")


def main() -> None:
    """Fit, predict and write, machine by machine."""
    begun = time.monotonic()
    direct: list[Prediction] = []
    transferred: list[Prediction] = []
    held: list[Prediction] = []
    for machine in ("marenostrum5", "fugaku", "leonardo"):
        kept = ROOT / "results" / "calibration" / f"{machine}-predicted"
        found, predictor = calibrate(MEASURED, machine, kept, ROOT, os.cpu_count() or 1)
        print(as_text(found))
        reasons = {case: predicting.why_not(case, found) for case in predicting.read_wanted(WANTED, machine, ROOT)}
        print(f"\n{predicting.as_text(reasons)}")
        wanted = [case for case, reason in reasons.items() if reason is None]
        for own in predicting.predict(wanted, found, predictor):
            (transferred if (own.case.machine, own.case.operation) == LENT else direct).append(own)
        held += left_out(found)
        packets(found, predictor, [case for case in wanted if case.nodes == 512])
        print(f"{machine}: after {(time.monotonic() - begun) / 60:.0f} min\n", flush=True)
    for name, predictions in {"direct": direct, "transferred": transferred, "left-out/shape": held}.items():
        (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        write_predictions(predictions, FOLDER / f"{name}.csv")


def left_out(found: Calibrated) -> list[Prediction]:
    """Return each row without its shape (or algorithm), with the interval of the other ones that are placed alike."""
    _, left = widest(found.left)
    answers = {}
    for own in left:
        others = [each for each in left if each.value != own.value]
        low, high = interval_of(own.placement, others)
        case = found.rows[own.row].case
        answers[case] = Prediction(case, own.predicted, low * own.predicted, high * own.predicted)
    return list(answers.values())


def packets(found: Calibrated, predictor: Predictor, cases: list[Case]) -> None:
    """Print what the packets of large jobs change on 512 nodes."""
    fine = predictor.times(cases, found.fit.values, "packets")
    coarse = predictor.times(cases, found.fit.values, "coarser packets", FEWER)
    for case, first, second in zip(cases, fine, coarse, strict=True):
        if first != second:
            change = f"{second / first - 1:+.1%}"
            print(f"{FEWER} packets for {PACKETS}: {case.operation} {case.algorithm} {case.size} B {change}")


if __name__ == "__main__":
    main()
