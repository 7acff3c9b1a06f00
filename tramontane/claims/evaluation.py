"""Holds the statements against the datasets of a campaign.

A statement is `reproduced` if all its checks hold, `not reproduced` if one does not, and `not evaluated` if the points
needed to decide it are missing. Before there is any dataset at a scale everything is `not evaluated`, but for
statements that are asked for by name. A verdict that rests on results of an older model revision says so.
"""

import contextlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import xarray as xr

from tramontane.claims import arithmetic, comparisons, distributions
from tramontane.claims.bands import RANKS, Band, band, chosen
from tramontane.claims.margins import Margin, least
from tramontane.claims.outcome import Lacking, Outcome, Span
from tramontane.claims.verdicts import (
    NOT_EVALUATED,
    NOT_REPRODUCED,
    OUT_OF_REACH,
    REPRODUCED,
    ChoiceVerdict,
    Verdict,
)
from tramontane.errors import InputError, closest
from tramontane.results import datasets, manifest
from tramontane.results.revisions import REVISION, label, newest, newest_members, present
from tramontane.study import SCALES, expand, load_experiment
from tramontane.study.experiments import claims
from tramontane.study.experiments.claims import CLAIMS, Check, Claim, Curve, Judgement, Range, statements
from tramontane.study.experiments.expansion import left, swept
from tramontane.study.reading.project import EXPERIMENTS, GRIDS
from tramontane.study.reading.reading import cached_yaml
from tramontane.study.values.units import TIME, parse_quantity
from tramontane.support.formatting import listed
from tramontane.support.layout import Layout
from tramontane.support.progress_line import with_progress

_PICOSECONDS = 10**12


def evaluate(root: Path, scale: str, only: Iterable[str] = ()) -> list[Verdict]:
    """Return what became of every statement, in the order of the files; shows a progress line.

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
            problem, allowed = f"no statement '{name}'", ", ".join(known) or "none: no file there has statements"
            raise InputError(CLAIMS, "", name, allowed, problem=problem, hint=closest(name, known))
    if not known:
        return []
    judgement = claims.load_judgement(root)
    begun = bool(wanted) or campaign.begun()
    asked = [(name, *found) for name, found in known.items() if not wanted or name in wanted]
    with with_progress(asked, "checking statements") as checked:
        return [_verdict(name, paper, claim, campaign, judgement, begun=begun) for name, paper, claim in checked]


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
        return any(self._layout.datasets.glob("*.nc"))

    def dataset(self, experiment: str) -> xr.Dataset:
        """Return the dataset of an experiment; its ensembles hold members of one model revision at each place.

        Raises
        ------
        Lacking
            If there is none, or only one of the experiment as it was before it was changed.
        """
        if experiment not in self._datasets:
            path = self._layout.dataset(experiment)
            self._datasets[experiment] = newest_members(datasets.read(path)) if path.exists() else None
            if path.exists() and self._has_changed(experiment):
                self._datasets[experiment] = None
        dataset = self._datasets[experiment]
        if dataset is None:
            changed = self._layout.dataset(experiment).exists()
            which = "as it is now: its dataset is older" if changed else "of which there is no dataset"
            raise Lacking(f"experiment {experiment}{' ' if changed else ', '}{which} at scale {self.scale}")
        return dataset

    def _has_changed(self, experiment: str) -> bool:
        """Tell whether an experiment has other points now than those that its dataset was made for."""
        file, planned = self.root / EXPERIMENTS / f"{experiment}.yaml", self._layout.manifest(experiment)
        if not file.exists() or not planned.exists():
            return False
        own = load_experiment(file)
        points = manifest.identities(manifest.read(planned))
        return self.scale not in own.scales or points != expand(own, self.scale).unique().keys()

    def grids(self, experiments: Iterable[str]) -> list[tuple[int, ...]]:
        """Return the grids of some experiments, each once."""
        found: list[tuple[int, ...]] = []
        for experiment in experiments:
            with contextlib.suppress(Lacking):
                text = self.dataset(experiment).attrs.get("grids_json", "[]")
                found += [own for own in map(tuple, json.loads(text)) if own not in found]
        return found

    def command(self, experiments: Sequence[str], needed: Sequence["_Needed"], grid: str | None) -> str:
        """Return what would run the points that lack: at this scale or the next one that has them; empty if none has.

        Parameters
        ----------
        experiments : sequence of str
            Experiments whose points are needed.
        needed : sequence of _Needed
            What of them lacks.
        grid : str, optional
            Grid that is needed.
        """
        for scale in SCALES[SCALES.index(self.scale) :]:
            there = scale == self.scale and all(map(self._complete, experiments))
            if not there and all(self._offers(own, scale, grid) for own in needed):
                return f"tramontane reproduce --scale {scale} --experiments '{' '.join(experiments)}'"
        return ""

    def _offers(self, needed: "_Needed", scale: str, grid: str | None) -> bool:
        """Return whether an experiment has at a scale the coordinates and the process counts that are needed."""
        path = self.root / EXPERIMENTS / f"{needed.experiment}.yaml"
        if not path.exists():
            return False
        loaded = load_experiment(path)
        if scale not in loaded.scales or (grid is not None and grid not in map(str, loaded.scales[scale].values())):
            return False
        dims = swept(loaded, scale)
        known = all(
            any(fnmatchcase(str(value), pattern) for value in dims[dim])
            for dim, pattern in needed.select.items()
            if dim in dims  # others come with the results, such as steps
        )
        if not known or needed.span is None or RANKS not in dims:
            return known
        listed_enough = needed.span.suffices(map(float, dims[RANKS]))  # which takes no time to ask
        return listed_enough and needed.span.suffices(map(float, left(loaded, scale, RANKS, needed.select)))

    def _complete(self, experiment: str) -> bool:
        """Return whether an experiment has a result of every point at this scale."""
        try:
            return not bool((self.dataset(experiment)["status"] == "missing").any())
        except (Lacking, KeyError):
            return False


class _Needed(NamedTuple):
    """A curve that a check needs and has not, or not far enough.

    Attributes
    ----------
    experiment : str
        Where it would be.
    select : mapping
        Coordinates or patterns of them, by dimension.
    span : Span, optional
        Process counts that would do.
    """

    experiment: str
    select: Mapping[str, str]
    span: Span | None


def _verdict(name: str, paper: str, claim: Claim, campaign: Campaign, judgement: Judgement, *, begun: bool) -> Verdict:
    """Return what became of one statement."""
    command = ""
    choices: tuple[ChoiceVerdict, ...] = ()
    revisions: tuple[int, ...] = ()
    older = ""
    margin: Margin | None = None
    if not begun:
        verdict = NOT_EVALUATED
        command = f"tramontane reproduce --scale {campaign.scale}"
        evidence = f"no results at scale {campaign.scale} yet"
    elif claim.out_of_reach is not None:
        verdict, evidence = OUT_OF_REACH, f"needs {claim.out_of_reach}"
    elif claim.lacks is not None:
        verdict, evidence = NOT_EVALUATED, f"lacks {claim.lacks}"
    else:
        found = [_under(choice, values, claim, campaign, judgement) for choice, values in claim.ways]
        verdict, evidence = found[0].verdict, found[0].evidence
        revisions, older, margin = found[0].revisions, found[0].older, found[0].margin
        if len(found) > 1:
            choices = tuple(found)
            evidence = _under_all(found)
    experiments = tuple(sorted({name for _, values in claim.ways for name in claim.experiments(values)}))
    if begun and verdict == NOT_EVALUATED and experiments:
        command = campaign.command(experiments, _needed(claim, campaign, judgement), claim.grid)
    if begun and experiments:
        grids = ", ".join(" x ".join(map(str, own)) for own in campaign.grids(experiments))
        evidence = f"scale {campaign.scale}{f', grid {grids}' if grids else ''}: {evidence}"
    return Verdict(
        id=name,
        paper=paper,
        where=claim.where,
        about=claim.about,
        statement=claim.statement,
        verdict=verdict,
        evidence=evidence,
        scale=campaign.scale,
        experiments=experiments,
        choices=choices,
        command=command,
        note=claim.note or "",
        revisions=revisions,
        older=older,
        margin=margin,
    )


def outcomes(claim: Claim, campaign: Campaign, judgement: Judgement) -> list[Outcome]:
    """Return what the checks of a statement find under the project's own choice."""
    source = _Source(claim, claim.ways[0][1], campaign, judgement)
    return [_outcome(check, source) for check in claim.checks]


def _needed(claim: Claim, campaign: Campaign, judgement: Judgement) -> list[_Needed]:
    """Return the curves of all checks that the project's own choice can't decide."""
    values = claim.ways[0][1]
    source = _Source(claim, values, campaign, judgement)
    found = []
    for check in claim.checks:
        outcome = _outcome(check, source)
        if outcome.holds is None:
            span = outcome.span or _meant(check, source)
            places = [claim.place(name, values) for _, name in check.called()]
            found += [_Needed(experiment, select, span) for experiment, select in places if experiment is not None]
    return found


def _meant(check: Check, source: "_Source") -> Span | None:
    """Return the process counts that a check is about; None where it does not say."""
    if hasattr(check, "ranks"):
        return Span(check.ranks, check.ranks)
    return _span(source, check.between) if hasattr(check, "between") else None


def _under_all(found: Sequence[ChoiceVerdict]) -> str:
    """Return the evidence under all choices; in short where none could be evaluated."""
    if all(item.verdict == NOT_EVALUATED for item in found):
        return f"{found[0].evidence}. Nor could it be under {listed(item.choice for item in found[1:])}"
    return "; ".join(f"under {item.choice}: {item.verdict} ({item.evidence})" for item in found)


def _under(
    choice: str,
    values: Mapping[str, str],
    claim: Claim,
    campaign: Campaign,
    judgement: Judgement,
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
        *_lacks(lacking),
        *(f"{'holds: ' if false or lacking else ''}{outcome.evidence}" for outcome in outcomes if outcome.holds),
    ]
    decided = any(outcome.holds is not None for outcome in outcomes)
    older = label(source.revisions, source.newest) if decided else ""
    if older:
        texts.append(f"Rests on results of model {older}, the simulator's is {source.newest}")
    return ChoiceVerdict(
        choice,
        verdict,
        ". ".join([*texts, *source.about_runs(outcomes)]),
        present(sorted(source.revisions)) if decided else (),
        older,
        None if verdict == NOT_EVALUATED else _margin(false or outcomes),
    )


def _margin(outcomes: Sequence[Outcome]) -> Margin | None:
    """Return the least margin of the checks that decide a verdict: all that fail, or all where none does."""
    found = [outcome.margin for outcome in outcomes if outcome.margin is not None]
    return least(found) if found else None


def _lacks(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield what lacks, with all curves in which it does."""
    for text in dict.fromkeys(outcome.evidence for outcome in outcomes):
        curves = [name for outcome in outcomes if outcome.evidence == text for name in outcome.curves]
        yield f"lacks {listed(curves)} {text}" if curves else f"lacks {text}"


class _Source:
    """Gives the checks of a statement the curves they name."""

    def __init__(self, claim: Claim, values: Mapping[str, str], campaign: Campaign, judgement: Judgement) -> None:
        self.claim, self.values, self.campaign, self.judgement = claim, values, campaign, judgement
        self._members: set[int] = set()
        #: Model revisions of the curves that were given, and the newest one known.
        self.revisions: set[int] = set()
        self.newest: int | None = None

    def _find(self, name: str) -> tuple[xr.Dataset, str, dict[str, str], str]:
        """Return dataset, name, selection and variable of a curve."""
        experiment, select = self.claim.place(name, self.values)
        if experiment is None:
            raise Lacking(f"an experiment for {name}")
        dataset = self.campaign.dataset(experiment)
        if self.claim.grid is not None:
            wanted = tuple(cached_yaml(self.campaign.root / GRIDS)[self.claim.grid]["points"])
            if self.campaign.grids([experiment]) != [wanted]:
                raise Lacking(f"results on the grid {' x '.join(map(str, wanted))}")
        return dataset, name, select, self.claim.curves.get(name, Curve()).variable

    def _note(self, dataset: xr.Dataset, select: Mapping[str, str], variable: str, ranks: int | None = None) -> None:
        """Remember which revisions a curve is of, at one number of processes or all."""
        if REVISION not in dataset:
            return
        own = chosen(dataset, select)
        if ranks is not None and RANKS in own.dims:
            own = chosen(own, {RANKS: str(ranks)})
        extra = [dim for dim in own[variable].dims if dim not in own[REVISION].dims]
        self.revisions |= set(present(own[REVISION].where(own[variable].notnull().any(extra))))
        self.newest = max((known for known in (self.newest, newest(dataset)) if known is not None), default=None)

    def band(self, name: str) -> Band:
        dataset, called, select, variable = self._find(name)
        found = band(dataset, called, select, variable, self.judgement)
        self._members |= set(found.members.astype(int).tolist())
        self._note(dataset, select, variable)
        return found

    def delays(self, name: str, ranks: int) -> distributions.Delays:
        dataset, called, select, _ = self._find(name)
        found = distributions.delays(dataset, called, select, ranks)
        self._note(dataset, select, "delay_packets", ranks)
        return found

    def matrix(self, name: str, ranks: int) -> distributions.Matrix:
        dataset, called, select, _ = self._find(name)
        found = distributions.matrix(dataset, called, select, ranks)
        self._note(dataset, select, "congestion_packets", ranks)
        return found

    def about_runs(self, outcomes: Sequence[Outcome]) -> list[str]:
        """Return what to say about ensembles: whether single runs could have decided it."""
        fragile = sum(outcome.fragile for outcome in outcomes)
        compared = sum(outcome.compared for outcome in outcomes)
        if not self._members or all(outcome.holds is None for outcome in outcomes):
            return []
        low, high = self.judgement.faster_than_band.value, self.judgement.slower_than_band.value
        few, many = min(self._members), max(self._members)
        single = f"read with a band of -{100 * low:g} to +{100 * high:g} %"
        if many == 1:
            return [f"Single runs, {single}"]
        members = f"{many} members" if few == many else f"{few} to {many} members"
        members += f" (single runs {single})" if few == 1 else ""
        if not fragile:
            return [f"Ensembles of {members}; any single runs would have decided alike"] if compared else []
        return [f"Ensembles of {members}; single runs could not have decided it at {fragile} of {compared} places"]


def _outcome(check: Check, source: _Source) -> Outcome:
    """Return what one check finds."""
    try:
        return _CHECKS[type(check)](check, source)
    except Lacking as lacking:
        return Outcome(None, str(lacking), curves=lacking.curves, span=lacking.span)


def _share(check: claims.Share, source: _Source) -> Outcome:
    text = check.above or check.below or ""
    bound = parse_quantity(text, TIME, least=0) / _PICOSECONDS
    own = source.delays(check.of, check.ranks)
    return distributions.share(own, check.ranks, bound, text, more=check.above is not None, stated=check.share)


def _most(source: _Source) -> float:
    return source.judgement.most.value


def _span(source: _Source, bounds: Range = (None, None)) -> Span:
    """Return the process counts between two; without the first from the paper's least, and a decade of them."""
    first, last = bounds
    own = source.judgement
    if first is None:
        return Span(own.first.value, math.inf if last is None else last, decades=own.decades.value)
    return Span(first, math.inf if last is None else last)


#: What carries out each kind of check.
_CHECKS: Mapping[type[Check], Callable[..., Outcome]] = {
    claims.Trend: lambda c, s: comparisons.trend(s.band(c.of), c.way, _span(s, c.between), _most(s)),
    claims.Slower: lambda c, s: comparisons.slower(s.band(c.of), s.band(c.than), c.by, _span(s, c.between), _most(s)),
    claims.Coincide: lambda c, s: comparisons.coincide(
        [s.band(name) for name in c.curves],
        s.judgement.coincide.value if c.within is None else c.within,
        _span(s, c.between),
        _most(s),
    ),
    claims.Apart: lambda c, s: comparisons.apart(
        s.band(c.of), s.band(c.than), c.ratio, _span(s, c.between), every=c.every
    ),
    claims.Meets: lambda c, s: comparisons.meets(s.band(c.of), s.band(c.than), c.at, c.within, _span(s)),
    claims.Jump: lambda c, s: comparisons.jump(s.band(c.of), c.by, _span(s, c.between)),
    claims.Closing: lambda c, s: comparisons.closing(s.band(c.of), s.band(c.than), _span(s, c.between)),
    claims.Shallower: lambda c, s: comparisons.shallower(s.band(c.of), s.band(c.than), _span(s, c.between)),
    claims.Limit: lambda c, s: comparisons.limit(s.band(c.of), c.at),
    claims.Printed: lambda c, s: comparisons.printed(
        s.band(c.of).times(c.runs),
        c.seconds,
        c.within,
        c.fitted,
        [(s.band(name).times(c.runs), times) for name, times in c.fitted_curves.items()],
    ),
    claims.Optimum: lambda c, s: comparisons.optimum(s.band(c.of), c.statistic, c.value, _span(s)),
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
    claims.Computed: lambda c, s: arithmetic.COMPUTATIONS[c.what](c.printed, s.campaign.root),
}
