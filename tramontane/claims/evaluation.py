"""Holds the statements against the datasets of a campaign.

A statement is `reproduced` if all its checks hold, `not reproduced` if one does not, and `not evaluated` if points lack
that could still decide it. Before there is any dataset at a scale everything is `not evaluated`, but for statements
that are asked for by name.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import xarray as xr

from tramontane.campaign.layout import Layout
from tramontane.claims import arithmetic, comparisons, distributions
from tramontane.claims.bands import Band, band
from tramontane.claims.outcome import Lacking, Outcome
from tramontane.claims.verdicts import (
    NOT_EVALUATED,
    NOT_REPRODUCED,
    OUT_OF_REACH,
    REPRODUCED,
    ChoiceVerdict,
    Verdict,
)
from tramontane.errors import InputError, closest
from tramontane.study import SCALES, claims
from tramontane.study.claims import CLAIMS, Check, Claim, Judgement
from tramontane.study.units import TIME, parse_quantity

_PICOSECONDS = 10**12


def evaluate(root: Path, scale: str, only: Iterable[str] = ()) -> list[Verdict]:
    """Return what became of every statement, in the order of the files.

    Parameters
    ----------
    root : Path
        Folder that holds ``configs/`` and ``results/``: a checkout or an unpacked archive.
    scale : str
        Scale of the campaign that is meant.
    only : iterable of str, optional
        Identifiers; those statements alone are returned, and what needs no points is computed for them even before any
        campaign.

    Raises
    ------
    InputError
        For a mistake in the statements, or an identifier that is none.
    """
    campaign = Campaign(root, scale)
    known = dict(statements(root))
    wanted = list(only)
    for name in wanted:
        if name not in known:
            problem = f"no statement '{name}'"
            raise InputError(CLAIMS, "", name, ", ".join(known), problem=problem, hint=closest(name, known))
    judgement = claims.load_judgement(root)
    begun = bool(wanted) or campaign.begun()
    return [
        _verdict(name, paper, claim, campaign, judgement, begun=begun)
        for name, (paper, claim) in known.items()
        if not wanted or name in wanted
    ]


def statements(root: Path) -> Iterator[tuple[str, tuple[str, Claim]]]:
    """Yield each statement's identifier, with the key of its paper."""
    seen: dict[str, Path] = {}
    for path in claims.list_claims(root):
        file = claims.load_claims(path, root)
        for name, claim in file.claims.items():
            if name in seen:
                raise InputError(path, f"claims.{name}", name, "each statement once", problem=f"also in {seen[name]}")
            seen[name] = path
            yield name, (file.paper, claim)


class Campaign:
    """The datasets of a campaign, read when they are needed.

    Parameters
    ----------
    root : Path
        Folder that holds ``results/``.
    scale : str
        Scale of the campaign.
    """

    def __init__(self, root: Path, scale: str) -> None:
        self.root, self.scale = root, scale
        self._layout = Layout(root, scale)
        self._datasets: dict[str, xr.Dataset | None] = {}

    def begun(self) -> bool:
        """Return whether there is any dataset."""
        return any(self._layout.dataset("x").parent.glob("*.nc"))

    def dataset(self, experiment: str) -> xr.Dataset:
        """Return the dataset of an experiment.

        Raises
        ------
        Lacking
            If there is none.
        """
        if experiment not in self._datasets:
            path = self._layout.dataset(experiment)
            found = None
            if path.exists():
                with xr.open_dataset(path, engine="h5netcdf") as opened:
                    found = opened.load()
            self._datasets[experiment] = found
        dataset = self._datasets[experiment]
        if dataset is None:
            raise Lacking(f"experiment {experiment}, of which there is no dataset at scale {self.scale}")
        return dataset

    def command(self, experiments: Sequence[str]) -> str:
        """Return what would run the points that lack: at this scale if it has more of them, or the next."""
        for experiment in experiments:
            try:
                complete = not bool((self.dataset(experiment)["status"] == "missing").any())
            except (Lacking, KeyError):
                complete = False
            if not complete:
                return f"tramontane reproduce --scale {self.scale} --experiments '{' '.join(experiments)}'"
        larger = SCALES[SCALES.index(self.scale) + 1 :][:1] if self.scale in SCALES else ()
        return f"tramontane reproduce --scale {larger[0]} --experiments '{' '.join(experiments)}'" if larger else ""


def _verdict(name: str, paper: str, claim: Claim, campaign: Campaign, judgement: Judgement, *, begun: bool) -> Verdict:
    """Return what became of one statement."""
    command = ""
    choices: tuple[ChoiceVerdict, ...] = ()
    if not begun:
        verdict = NOT_EVALUATED
        command = f"tramontane reproduce --scale {campaign.scale}"
        evidence = f"no results at scale {campaign.scale} yet"
    elif claim.out_of_reach is not None:
        verdict, evidence = OUT_OF_REACH, f"needs {claim.out_of_reach}"
    elif claim.lacks is not None:
        verdict, evidence = NOT_EVALUATED, f"lacks {claim.lacks}"
    else:
        found = [_under(choice, values, claim, campaign, judgement) for choice, values in _choices(claim)]
        verdict, evidence = found[0].verdict, found[0].evidence
        if len(found) > 1:
            choices = tuple(found)
            evidence = "; ".join(f"under {item.choice}: {item.verdict} ({item.evidence})" for item in found)
    experiments = tuple(sorted(_experiments(claim)))
    if begun and verdict == NOT_EVALUATED and experiments:
        command = campaign.command(experiments)
    if begun and experiments:
        evidence = f"scale {campaign.scale}: {evidence}"
    return Verdict(
        name,
        paper,
        claim.where,
        claim.about,
        claim.statement,
        verdict,
        evidence,
        campaign.scale,
        experiments,
        choices,
        command,
        claim.note or "",
    )


def _choices(claim: Claim) -> list[tuple[str, Mapping[str, str]]]:
    return list(claim.choices.items()) or [("", {})]


def _experiments(claim: Claim) -> set[str]:
    """Return the experiments a statement needs, under all choices."""
    return {
        experiment
        for _, values in _choices(claim)
        for text in (claim.experiment, *(curve.experiment for curve in claim.curves.values()))
        if text is not None
        for experiment in (_resolve(text, values),)
    }


def _resolve(text: str, values: Mapping[str, str]) -> str:
    return values.get(text[1:], text) if text.startswith("$") else text


def _under(
    choice: str, values: Mapping[str, str], claim: Claim, campaign: Campaign, judgement: Judgement
) -> ChoiceVerdict:
    """Return what becomes of a statement under one choice."""
    source = _Source(claim, values, campaign, judgement)
    outcomes = [_outcome(check, source) for check in claim.checks]
    false = [outcome for outcome in outcomes if outcome.holds is False]
    lacking = [outcome for outcome in outcomes if outcome.holds is None]
    verdict = NOT_REPRODUCED if false else NOT_EVALUATED if lacking else REPRODUCED
    # What decides comes first: the checks that fail, then those that lack points.
    texts = [
        *(f"fails: {outcome.evidence}" for outcome in false),
        *(f"lacks {outcome.evidence}" for outcome in lacking),
        *(f"{'holds: ' if false or lacking else ''}{outcome.evidence}" for outcome in outcomes if outcome.holds),
    ]
    return ChoiceVerdict(choice, verdict, ". ".join([*dict.fromkeys(texts), *source.about_runs(outcomes)]))


class _Source:
    """Gives the checks of a statement the curves they name."""

    def __init__(self, claim: Claim, values: Mapping[str, str], campaign: Campaign, judgement: Judgement) -> None:
        self.claim, self.values, self.campaign, self.judgement = claim, values, campaign, judgement
        self._members: set[int] = set()

    def _find(self, name: str) -> tuple[xr.Dataset, str, dict[str, str], str]:
        """Return dataset, name, selection and variable of a curve."""
        curve = self.claim.curves.get(name)
        experiment = (curve.experiment if curve else None) or self.claim.experiment
        select = dict(curve.select) if curve else {}
        if curve is None and self.claim.along is not None:
            select[self.claim.along] = name
        if curve is None or curve.experiment is None:
            select = {**self.claim.fixed, **select}
        resolved = {dim: _resolve(value, self.values) for dim, value in select.items()}
        if experiment is None:
            raise Lacking(f"an experiment for {name}")
        dataset = self.campaign.dataset(_resolve(experiment, self.values))
        return dataset, name, resolved, curve.variable if curve else "time_s"

    def band(self, name: str) -> Band:
        dataset, called, select, variable = self._find(name)
        found = band(dataset, called, select, variable, self.judgement)
        self._members.add(found.members)
        return found

    def delays(self, name: str, ranks: int) -> distributions.Delays:
        dataset, called, select, _ = self._find(name)
        return distributions.delays(dataset, called, select, ranks)

    def matrix(self, name: str, ranks: int) -> distributions.Matrix:
        dataset, called, select, _ = self._find(name)
        return distributions.matrix(dataset, called, select, ranks)

    def computed(self, check: claims.Computed) -> Outcome:
        return arithmetic.COMPUTATIONS[check.what](check.printed, self.campaign.root)

    def about_runs(self, outcomes: Sequence[Outcome]) -> list[str]:
        """Return what to say about ensembles: whether single runs could have decided it."""
        fragile = sum(outcome.fragile for outcome in outcomes)
        compared = sum(outcome.compared for outcome in outcomes)
        if not self._members:
            return []
        if max(self._members) == 1:
            low, high = self.judgement.faster_than_band.value, self.judgement.slower_than_band.value
            return [f"Single runs, read with a band of -{100 * low:g} to +{100 * high:g} %"]
        few, many = min(self._members), max(self._members)
        members = f"{many} members" if few == many else f"{few} to {many} members"
        if not fragile:
            return [f"Ensembles of {members}; any single runs would have decided alike"] if compared else []
        return [f"Ensembles of {members}; single runs could not have decided it at {fragile} of {compared} places"]


def _outcome(check: Check, source: _Source) -> Outcome:
    """Return what one check finds."""
    try:
        return _CHECKS[type(check)](check, source)
    except Lacking as lacking:
        return Outcome(None, str(lacking))


def _share(check: claims.Share, source: _Source) -> Outcome:
    text = check.above or check.below or ""
    bound = parse_quantity(text, TIME, positive=False) / _PICOSECONDS
    own = source.delays(check.of, check.ranks)
    return distributions.share(own, check.ranks, bound, text, more=check.above is not None, stated=check.share)


def _most(source: _Source) -> float:
    return source.judgement.most.value


#: What carries out each kind of check.
_CHECKS: Mapping[type[Check], Callable[..., Outcome]] = {
    claims.Trend: lambda c, s: comparisons.trend(s.band(c.of), c.way, c.between, _most(s)),
    claims.Slower: lambda c, s: comparisons.slower(s.band(c.of), s.band(c.than), c.by, c.between, _most(s)),
    claims.Coincide: lambda c, s: comparisons.coincide(
        [s.band(name) for name in c.curves],
        s.judgement.coincide.value if c.within is None else c.within,
        c.between,
        _most(s),
    ),
    claims.Apart: lambda c, s: comparisons.apart(s.band(c.of), s.band(c.than), c.ratio, c.between),
    claims.Meets: lambda c, s: comparisons.meets(s.band(c.of), s.band(c.than), c.at, c.within),
    claims.Jump: lambda c, s: comparisons.jump(s.band(c.of), c.by, c.between),
    claims.Closing: lambda c, s: comparisons.closing(s.band(c.of), s.band(c.than), c.between),
    claims.Shallower: lambda c, s: comparisons.shallower(s.band(c.of), s.band(c.than), c.between),
    claims.Limit: lambda c, s: comparisons.limit(s.band(c.of), c.at),
    claims.Optimum: lambda c, s: comparisons.optimum(s.band(c.of), c.statistic, c.value),
    claims.Share: _share,
    claims.SameDelays: lambda c, s: distributions.same_delays(
        [s.delays(name, c.ranks) for name in c.curves],
        c.ranks,
        s.judgement.same_distribution.value if c.within is None else c.within,
        same=c.same,
    ),
    claims.Congestion: lambda c, s: distributions.congestion(
        [[s.matrix(name, c.ranks) for name in group] for group in c.order], c.by, c.ranks
    ),
    claims.Computed: lambda c, s: s.computed(c),
}
