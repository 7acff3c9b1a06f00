"""The four verdicts, and what is said beside one."""

from dataclasses import asdict, dataclass
from typing import Any

from tramontane.claims.margins import Margin

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
NOT_EVALUATED = "not evaluated"
OUT_OF_REACH = "out of reach"
VERDICTS = (REPRODUCED, NOT_REPRODUCED, NOT_EVALUATED, OUT_OF_REACH)


@dataclass(frozen=True)
class ChoiceVerdict:
    """What becomes of a statement under one choice of ours (a variant of UGAL, what a bandwidth scales).

    Attributes
    ----------
    choice, verdict, evidence : str
        As in :class:`Verdict`.
    revisions : tuple of int
        Model revisions of the curves it rests on, the oldest first; empty where it rests on no simulation.
    older : str
        Those in words if one of them is older than the simulator's; else empty.
    margin : Margin, optional
        Least margin of its checks: positive if it is reproduced, negative if not. None where nothing can be measured.
    """

    choice: str
    verdict: str
    evidence: str
    revisions: tuple[int, ...] = ()
    older: str = ""
    margin: Margin | None = None

    @property
    def measured(self) -> str:
        """The margin in words; empty if nothing is measured."""
        return _words(self.margin)

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        return asdict(self) | _as_data(self.margin)


@dataclass(frozen=True)
class Verdict:
    """What became of a statement.

    Attributes
    ----------
    id, paper, where, about, statement : str
        The statement; `paper` is a key of ``configs/references.yaml``.
    verdict : str
        One of :data:`VERDICTS`; where choices of ours decide it, that under the project's own choice.
    evidence : str
        The numbers that say so, and their scale.
    scale : str
        Scale of the campaign.
    experiments : tuple of str
        Experiments whose points it needs.
    choices : tuple of ChoiceVerdict
        All choices, the project's own first; empty where none matters.
    command : str
        What would produce the points that lack; empty if none do.
    note : str
        What a reader should know.
    revisions, older, margin : tuple of int, str, Margin
        As in :class:`ChoiceVerdict`, under the project's own choice.
    """

    id: str
    paper: str
    where: str
    about: str
    statement: str
    verdict: str
    evidence: str
    scale: str
    experiments: tuple[str, ...] = ()
    choices: tuple[ChoiceVerdict, ...] = ()
    command: str = ""
    note: str = ""
    revisions: tuple[int, ...] = ()
    older: str = ""
    margin: Margin | None = None

    @property
    def measured(self) -> str:
        """The margin in words; where choices of ours decide it, that under each of them."""
        if len({choice.verdict for choice in self.choices}) > 1:
            return "; ".join(f"{choice.choice}: {choice.measured or 'none'}" for choice in self.choices)
        return _words(self.margin)

    @property
    def marked(self) -> str:
        """The verdict, with the model revisions it rests on if one of them is older."""
        return f"{self.verdict} ({self.older})" if self.older else self.verdict

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        return asdict(self) | _as_data(self.margin) | {"choices": [choice.as_data() for choice in self.choices]}


def _words(margin: Margin | None) -> str:
    return str(margin) if margin is not None and margin.finite else ""


def _as_data(margin: Margin | None) -> dict[str, Any]:
    """Return a margin as a number or null, with its unit and the process counts it was taken at."""
    if margin is None or not margin.finite:
        return {"margin": None, "margin_unit": "", "margin_ranks": []}
    return {"margin": margin.value, "margin_unit": margin.unit, "margin_ranks": [int(own) for own in margin.ranks]}
