"""What a fit leaves over, carried to other jobs: residuals of the same algorithm at similar sizes.

No model of a dozen unknowns has all that a library does at each size. What it lacks shows as residuals that jobs of
different sizes share, and is no noise (Kennedy and O'Hagan 2001 call it model discrepancy). So a prediction is the
simulated time, times a weighted mean of measured over fitted.
"""

from collections.abc import Sequence

import numpy as np

from tramontane.calibration.collectives.parameters import Values
from tramontane.study.systems.timed_collectives import Case

#: Sizes count as similar within about this factor; measured ones are a factor of 8 apart.
SIMILAR = 4.0
#: Weight of no discrepancy at all, in rows: a lone residual is not believed entirely.
NONE = 0.5


def discrepancy(cases: Sequence[Case], known: Sequence[Case], residuals: Values) -> Values:
    """Return what times of cases are multiplied by.

    Parameters
    ----------
    cases : sequence of Case
        What is predicted.
    known : sequence of Case
        What is measured.
    residuals : array
        Their logarithms of measured over fitted.
    """
    answers = np.ones(len(cases))
    for number, case in enumerate(cases):
        alike = [i for i, own in enumerate(known) if (own.operation, own.algorithm) == (case.operation, case.algorithm)]
        if alike:
            steps = np.log([known[i].size / case.size for i in alike]) / np.log(SIMILAR)
            weights = np.exp(-(steps**2) / 2)
            answers[number] = np.exp(weights @ residuals[alike] / (weights.sum() + NONE))
    return answers
