"""The papers' statements as the page's first table shows them: by paper and subject, each with its verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tramontane.claims import VERDICTS, Verdict, evaluate
from tramontane.study.experiments.claims import CLAIMS

#: Signs beside the words, for readers who see no colours.
SIGNS = dict(zip(VERDICTS, ("✓", "✗", "–", "○"), strict=True))


@dataclass(frozen=True)
class Subject:
    """Statements of one paper about one subject."""

    paper: str
    about: str
    verdicts: list[Verdict]

    @property
    def decided(self) -> bool:
        """Whether any statement was held against results."""
        return any(verdict.verdict in VERDICTS[:2] for verdict in self.verdicts)


def subjects(root: Path, scale: str) -> list[Subject]:
    """Return all statements by paper and subject, each in order of its first; none where a folder has no statements."""
    if not (root / CLAIMS).is_dir():
        return []
    found: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in evaluate(root, scale):
        found.setdefault((verdict.paper, verdict.about), []).append(verdict)
    return [Subject(paper, about, own) for (paper, about), own in found.items()]


def tally(found: Sequence[Subject]) -> list[tuple[str, str, int]]:
    """Return each verdict with its sign and how many statements got it."""
    every = [verdict.verdict for subject in found for verdict in subject.verdicts]
    return [(name, SIGNS[name], every.count(name)) for name in VERDICTS] if every else []
