"""A comparison in words and tables, and as plain data."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tramontane.comparison.measured import COMPATIBLE, Comparison, LeftOut, Options
from tramontane.comparison.statistics import AXES, NEAR, Ordering, Summary, agreement
from tramontane.study.values.units import TIME, format_quantity
from tramontane.support.formatting import plural
from tramontane.support.tables import table

#: Deviations below are those of ten printed digits.
SMALLEST = 1e-8
_HEAD = ("n", "median", "90 %", "95 %", "worst", "orderings", "agree")


def as_data(comparison: Comparison) -> dict[str, Any]:
    """Return what ``tramontane compare --json`` prints."""
    summary = comparison.summary
    return {
        "n": summary.n,
        "median_ratio": summary.median_ratio,
        "p95_deviation": summary.p95_deviation,
        "worst_deviation": summary.worst_deviation,
        "ordering_agreement": agreement(comparison.pairs),
        "groups": [
            {
                "topology": group.topology,
                "routing": group.routing,
                "workload": group.workload,
                "algorithm": group.algorithm,
                "n": own.n,
                "median_ratio": own.median_ratio,
                "p90_deviation": own.p90_deviation,
                "p95_deviation": own.p95_deviation,
                "worst_deviation": own.worst_deviation,
                "ordering_agreement": agreement(pairs),
            }
            for group, (own, pairs) in comparison.groups().items()
        ],
    }


def as_text(comparison: Comparison) -> str:
    """Return what ``tramontane compare`` prints."""
    groups = comparison.groups()
    rows = [
        (group.topology, group.routing, group.workload, group.algorithm, *_cells(own, pairs))
        for group, (own, pairs) in groups.items()
    ]
    rows.append(("all", "", "", "", *_cells(comparison.summary, comparison.pairs)))
    columns = ("topology", "routing", "workload", "algorithm", *_HEAD)
    parts = [heading(comparison), table(columns, rows, right=range(4, len(columns)))]
    parts.append(_parts(comparison.parts()))
    if comparison.pairs:
        parts.append(_axes(comparison.pairs))
    return "\n\n".join([*parts, *left_out(comparison)])


def heading(comparison: Comparison) -> str:
    """Return what is compared with what, in a sentence."""
    options = comparison.options
    theirs = "times as measured" if options.against == "row" else _model(options, COMPATIBLE)
    return f"{comparison.source.name}: {_model(options, options.model)} over {theirs}; deviations are |ratio - 1|"


def _model(options: Options, model: str) -> str:
    parts = [f"median of {options.size(model)} members"] if options.size(model) > 1 else []
    parts += [f"starts up to {format_quantity(options.skew(model), TIME)} apart"] if options.skew(model) else []
    return f"model {model} ({', '.join(parts)})" if parts else f"model {model}"


def left_out(comparison: Comparison) -> list[str]:
    """Return which rows have no ratio of their own: a paragraph each for those repeated, skipped and failed."""
    repeated = f"repeated: {plural(comparison.repeats, 'row')} of a point that another row has; the median counts"
    return [
        *([repeated] if comparison.repeats else []),
        *(
            "\n".join([f"{what}: {plural(len(rows), 'row')}", *_reasons(rows)])
            for what, rows in (("skipped", comparison.skipped), ("failed", comparison.failed))
            if rows
        ),
    ]


def _reasons(rows: Iterable[LeftOut]) -> list[str]:
    lines: dict[str, list[int]] = {}
    for entry in rows:
        lines.setdefault(entry.reason, []).append(entry.row.line)
    return [f"  line{'s' if len(found) > 1 else ''} {_spans(found)}: {reason}" for reason, found in lines.items()]


def _spans(numbers: Sequence[int]) -> str:
    """Return rising numbers with runs joined, e.g. "2, 5-8"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _parts(summaries: Mapping[str, Summary]) -> str:
    rows = [(name, *_cells(own, ())[: len(_HEAD) - 2], _share(own.near)) for name, own in summaries.items()]
    columns = ("rows with", *_HEAD[:-2], f"within {NEAR:.0%}".replace("%", " %"))
    return table(columns, rows, right=range(1, len(columns)))


def _axes(pairs: Sequence[Ordering]) -> str:
    rows = []
    for axis in AXES:
        own = [pair for pair in pairs if pair.axis == axis]
        rows.append((axis, len(own), _share(agreement(own))))
    return table(("orderings by", "n", "agree"), rows, right=(1, 2))


def _cells(summary: Summary, pairs: Sequence[Ordering]) -> tuple[object, ...]:
    deviations = (summary.p90_deviation, summary.p95_deviation, summary.worst_deviation)
    ratio = "-" if summary.median_ratio is None else f"{summary.median_ratio:.4f}"
    return summary.n, ratio, *map(_percent, deviations), len(pairs), _share(agreement(pairs))


def _percent(value: float | None) -> str:
    """Return a deviation in per cent; small ones with one digit, down to what the digits of a file can show."""
    if value is None:
        return "-"
    if value < SMALLEST:
        return "0 %" if value == 0 else f"< {100 * SMALLEST:.0e} %"
    return f"{100 * value:.1f} %" if value >= 0.001 else f"{100 * value:.1g} %"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"
