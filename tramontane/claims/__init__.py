"""What became of the papers' statements: each gets one of four verdicts, with the numbers that say so.

The statements are data (``configs/claims``, :mod:`tramontane.study.experiments.claims`). :func:`evaluate` holds
them against the datasets of a campaign.
"""

from tramontane.claims.evaluation import evaluate
from tramontane.claims.verdicts import VERDICTS, ChoiceVerdict, Verdict

__all__ = ["VERDICTS", "ChoiceVerdict", "Verdict", "evaluate"]
