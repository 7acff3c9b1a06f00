"""Tables of verdicts and times in a Markdown page, which are made anew in place."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tramontane.campaign.plan import check_scale
from tramontane.claims import maps, published_studies, share_tables
from tramontane.claims.crossings import crossings
from tramontane.claims.evaluation import evaluate
from tramontane.claims.times import times
from tramontane.claims.verdicts import Verdict
from tramontane.errors import InputError, why_unread
from tramontane.study.reading.project import EXPERIMENTS
from tramontane.support.files import write_if_changed
from tramontane.support.layout import Layout
from tramontane.support.tables import markdown

_MOST = 100
#: Least and largest number of words of each kind, the scale among them.
_WORDS = {
    "claims": (1, _MOST),
    "verdicts": (1, _MOST),
    "times": (2, 2),
    "crossings": (2, 2),
    "shares": (2, 3),
    "map": (1 + maps.WORDS, _MOST),
}

_FIRST = rf"<!-- (?P<kind>{'|'.join(_WORDS)}): (?P<asked>[^>\n]*?) -->\n"
#: A marked line and what stands up to its end; without `end` where that of the next table, or none, comes first.
_MARKED = re.compile(
    rf"{_FIRST}(?:(?:(?!<!-- (?:{'|'.join(_WORDS)}): [^>\n]*? -->\n).)*?(?P<end><!-- end -->))?", flags=re.DOTALL
)

#: What a table of a page shows: verdicts or times, the scale, and which ones.
Asked = tuple[str, str, tuple[str, ...]]


def fill(page: Path, root: Path, tell: Callable[[str], None] = lambda line: None) -> tuple[int, bool]:
    """Make the tables of a page anew; return how many, and whether one of them has changed.

    A table stays as it is where nothing that it needs has run here at that scale, and its study is not published: hours
    of work are not asked of whoever fills the other tables.

    Parameters
    ----------
    page, root : Path
        The page, and the checkout.
    tell : callable, optional
        Is given a line for each table that stays.

    Raises
    ------
    InputError
        If the page has no table, or one that can't be made.
    """
    tables = {}
    for kind, scale, names in asked(page):
        check_scale(scale)
        if kind in ("times", "crossings", "map") and _has_not_run(root, scale, names[0]):
            tell(f"nothing of {names[0]} has run at scale {scale}; the table stays as it is")
        elif kind == "times":
            tables[kind, scale, names] = times(root, scale, *names)
        elif kind == "crossings":
            tables[kind, scale, names] = crossings(root, scale, *names)
        elif kind == "map":
            tables[kind, scale, names] = maps.ratios(root, scale, names)
        elif kind == "shares":
            size = _draws(names[1], page) if len(names) == 2 else None
            try:
                found = published_studies.known(names[0], root, scale, size, source=str(page))
            except published_studies.NothingRunError as error:
                tell(f"{error}; the table stays as it is")
                continue
            tables[kind, scale, names] = share_tables.markdown(found)
        else:
            verdicts = evaluate(root, scale, names)
            if any(own.experiments for own in verdicts) and not any(Layout(root, scale).datasets.glob("*.nc")):
                tell(f"nothing has run at scale {scale}; the table of {kind} stays as it is")
                continue
            tables[kind, scale, names] = table_of(verdicts, evidence=kind == "claims")
    return len(tables), write_if_changed(page, filled(page, tables))


def _has_not_run(root: Path, scale: str, experiment: str) -> bool:
    """Return whether an experiment of the project, not one that is misspelt, has no results at a scale."""
    return (root / EXPERIMENTS / f"{experiment}.yaml").exists() and not Layout(root, scale).dataset(experiment).exists()


def _draws(text: str, page: Path) -> int:
    """Return the number of draws that a table of shares asks for (InputError)."""
    if not re.fullmatch("[0-9]{1,9}", text):
        raise InputError(page, "shares", text, "a number of draws")
    return int(text)


def table_of(verdicts: Sequence[Verdict], *, evidence: bool = True) -> str:
    """Return a Markdown table with a row for each statement, with or without the numbers that say so."""
    columns = 6 if evidence else 5
    rows = [
        (own.id, f"{own.paper}, {own.where}", own.statement, own.marked, own.measured, own.evidence)[:columns]
        for own in verdicts
    ]
    return markdown(("claim", "where", "statement", "verdict", "margin", "evidence")[:columns], rows)


def asked(page: Path) -> list[Asked]:
    """Return what the tables of a page show.

    A table stands between a first line and ``<!-- end -->``. The first line is ``<!-- claims: laptop Z-5b Z-5c -->``
    (no statement means all), ``verdicts`` instead of ``claims`` for a table without evidence, or
    ``<!-- times: laptop fig05b-topologies -->``; ``crossings`` likewise; a ``map`` names more
    (:mod:`tramontane.claims.maps`).

    Raises
    ------
    InputError
        If the page has no such table.
    """
    try:
        marked = list(_MARKED.finditer(page.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(page, "", None, "a Markdown page", problem=why_unread(error)) from None
    allowed = (
        "<!-- claims: SCALE [IDS] -->, verdicts: the same, times or crossings: SCALE EXPERIMENT, "
        f"shares: SCALE SAMPLE [DRAWS], or map: SCALE {maps.EXPECTED}; a line <!-- end --> after it"
    )
    if not marked:
        raise InputError(page, "", None, allowed, problem="no table of claims or times")
    for match in marked:
        if match["end"] is None:  # what stands up to the end of another table would be lost
            raise InputError(page, "", None, allowed, problem=f"no end after {match[0].strip()}")
    found = [(match["kind"], match["asked"].split()) for match in marked]
    for kind, words in found:
        if not words:
            raise InputError(page, "", None, allowed, problem="a table without a scale")
        if not _WORDS[kind][0] <= len(words) <= _WORDS[kind][1]:
            raise InputError(page, "", " ".join(words), allowed)
    return [(kind, words[0], tuple(words[1:])) for kind, words in found]


def filled(page: Path, tables: Mapping[Asked, str]) -> str:
    """Return the text of a page with those tables made anew that `tables` has, by what their first lines ask for."""

    def replace(match: re.Match[str]) -> str:
        scale, *names = match["asked"].split()
        asked_for = (match["kind"], scale, tuple(names))
        if asked_for not in tables:
            return match[0]
        return f"<!-- {match['kind']}: {' '.join([scale, *names])} -->\n\n{tables[asked_for]}\n\n<!-- end -->"

    return _MARKED.sub(replace, page.read_text(encoding="utf-8"))
