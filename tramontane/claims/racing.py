"""Comparisons that end early: what fails at the smallest process count can't hold at most of a few.

"At most process counts" is all of them where there are no more than three, so that a machine on which one curve is not
above another at the smallest count needs no larger ones: the statement fails. How far it fails in all is not known
then; the margin at the smallest count is an upper bound.
"""

from tramontane.claims.evaluation import Campaign, outcomes
from tramontane.claims.margins import least
from tramontane.study.experiments.claims import Claim, Coincide, Judgement, Slower

RACED = (Slower, Coincide)
"""Checks whose margin with more process counts is no larger."""


def may_end_early(claim: Claim, counts: int, judgement: Judgement) -> bool:
    """Return whether what fails at one of so many process counts fails at most of them, and there is such a check."""
    return (
        counts > 1
        and (counts - 1) / counts < judgement.most.value
        and any(isinstance(check, RACED) for check in claim.checks)
    )


def ended(claim: Claim, smallest: Campaign, judgement: Judgement) -> tuple[float, float] | None:
    """Return the margin and the share of checks that hold if a statement has failed early; None if it is open.

    Parameters
    ----------
    claim : Claim
        The statement; one that `may_end_early`.
    smallest : Campaign
        Datasets of the smallest process count alone.
    judgement : Judgement
        How strictly words are read. A decade of process counts is not asked for: what fails at one, fails.
    """
    raced = claim.model_copy(update={"checks": [check for check in claim.checks if isinstance(check, RACED)]})
    alone = judgement.model_copy(update={"decades": judgement.decades.model_copy(update={"value": 0.0})})
    found = [each for each in outcomes(raced, smallest, alone) if each.margin is not None]
    failed = [each.margin for each in found if each.margin is not None and not each.margin.holds]
    if not failed:
        return None
    return least(failed).value, 1 - len(failed) / len(found)
