"""Programs and jobs in words, for people who want to see what a rank does."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

from tramontane.study.networks.mapping import in_words
from tramontane.study.values.settings import Settings, filled
from tramontane.study.values.units import FRACTION, SIZE, TIME, Dimension, Quantity, format_quantity
from tramontane.study.workloads.jobs import Jobs
from tramontane.study.workloads.programs import (
    ALL,
    SCOPES,
    Amount,
    Basic,
    Communicator,
    End,
    Loop,
    Notify,
    OfStorage,
    OneSided,
    Overlap,
    Program,
    PutStep,
    Receive,
    Role,
    Send,
    Work,
)
from tramontane.study.workloads.workloads import Collective, Communication
from tramontane.support.formatting import plural

_OF_STEPS = {"kind", "operation", "name", "communicator", "begin", "decomposition", "one_sided"}
"""Keys that are told in other words, or differ from one number of ranks to the next."""
_SHORT = 12
"""Digits of a digest that tell tables apart."""

_WEIGHTS = {"senders", "receivers", "groups"}
"""Keys with a number for each rank or group."""

Origins = Mapping[str, Mapping[str, Any]]
"""From what tables were made, by digest, as `patterns.origins` tells it."""


def lines(program: Program, origins: Origins | None = None) -> Iterator[str]:
    """Yield the lines of a text: communicators, then the steps of a rank, numbered.

    Parameters
    ----------
    program : Program
        The program.
    origins : dict, optional
        From what its tables were made; a table that is not in it is told by its digest.
    """
    known = origins or {}
    yield from _named(program.communicators)
    yield "once:" if program.repeat == 1 else f"{program.repeat} times:"
    yield from _numbered(program.steps, "  ", known)
    for name, role in program.roles.items():
        yield f"  {name} ({_role(role)}):"
        yield from _named(role.communicators, "    ")
        yield from _numbered(role.steps, "    ", known)


def lines_of_jobs(jobs: Jobs, rule: str, origins: Origins | None = None) -> Iterator[str]:
    """Yield the lines of a text: what each job has, and what it communicates or the program of its ranks.

    Parameters
    ----------
    jobs : Jobs
        The jobs.
    rule : str
        The allocation of jobs that have none of their own.
    origins : dict, optional
        As for `lines`.
    """
    for job in jobs.jobs:
        allocation = in_words(job.allocation) if job.allocation else rule
        start = format_quantity(job.start, TIME)
        head = f"{job.name} ({plural(job.ranks, 'rank')}, start {start}, allocation {allocation}):"
        if isinstance(job.workload, Program):
            yield head
            yield from (f"  {line}" for line in lines(job.workload, origins))
        else:
            yield f"{head} {_operation(job.workload)}{_keys(job.workload, origins or {})}"


def _named(communicators: Mapping[str, Communicator], indent: str = "") -> Iterator[str]:
    for name, communicator in communicators.items():
        yield f"{indent}{name}: {_ranks(communicator)}"


def _numbered(steps: Iterable[Basic | Loop], indent: str, origins: Origins) -> Iterator[str]:
    for number, step in enumerate(steps, start=1):
        if isinstance(step, Loop):
            yield f"{indent}{number}. {step.times} times:"
            yield from _numbered(step.steps, f"{indent}   ", origins)
        else:
            yield f"{indent}{number}. {_sentence(step, origins)}"


def _sentence(step: Basic, origins: Origins) -> str:
    usual: str = step.kind
    match step:
        case Overlap():
            return f"{_exchange(step.exchange, origins)}, and meanwhile {_sentence(step.work, origins)}"
        case Work():
            what = _work(step)
        case End():
            what, usual = f"wait for {step.of}", step.of
        case Send():
            partners = {"cyclic": "in turn", "block": "by blocks", "all": "each to all"}[step.partners]
            what = f"send {_amount(step)} to {step.target}, {partners}"
        case Receive():
            what = f"receive from {step.source}"
        case Notify():
            among = "" if step.communicator in (None, ALL) else f" among {step.communicator}"
            what = f"notify ranks at {', '.join(f'{offset:+}' for offset in step.offsets)}{among}"
        case OfStorage():
            by = "" if step.communicator in (None, ALL) else f" by {step.communicator}"
            what = f"{step.kind} {_amount(step)}{by}"
        case _:
            return f"{_exchange(step, origins)}{_begun(step.begin)}"
    return f"{what}{_phase(step.name, usual)}{_begun(getattr(step, 'begin', None))}"


def _begun(label: str | None) -> str:
    return f"; goes on at once, {label} is waited for later" if label else ""


def _amount(step: Amount) -> str:
    if step.total:
        return f"{format_quantity(step.total, SIZE)} in all"
    return f"{format_quantity(filled(step.bytes), SIZE)} each"


def _exchange(step: Any, origins: Origins) -> str:
    what = _operation(step)
    among = "" if step.communicator in (None, ALL) else f" among {step.communicator}"
    puts = _puts(step.one_sided) if isinstance(step, PutStep) and step.one_sided else ""
    return f"{what}{among}{_keys(step, origins)}{puts}{_phase(step.name, what)}"


def _operation(workload: Any) -> str:
    return str(workload.operation if isinstance(workload, Collective) else workload.kind)


def _keys(workload: Communication, origins: Origins) -> str:
    told = [
        _table(value, origins) if name == "table" else f"{name} {_told(workload, name, value)}"
        for name, value in workload.canonical().items()
        if name not in _OF_STEPS
    ]
    return f" ({', '.join(told)})" if told else ""


def _told(workload: Communication, name: str, value: Any) -> str:
    if name not in _WEIGHTS:
        return _value(value, _dimension(workload, name))
    mean = sum(value) / len(value)
    return f"of {len(value)} weights, {min(value) / mean:.3g} to {max(value) / mean:.3g} times their mean"


def _table(digest: str, origins: Origins) -> str:
    origin, short = origins.get(digest, {}), f"table {digest[:_SHORT]}"
    if "file" not in origin:
        return f"table from {origin['made_from']}" if "made_from" in origin else short
    alike = sum(other.get("file") == origin["file"] for other in origins.values())  # its content changed, or its folder
    return f"file {origin['file']}{f', {short}' if alike > 1 else ''}"


def _dimension(settings: Settings, name: str) -> Dimension | None:
    """Return the dimension of a key, if it is a quantity; of one that may be left out, the mark is inside the union."""
    field = type(settings).model_fields[name]
    inside = (mark for option in get_args(field.annotation) for mark in getattr(option, "__metadata__", ()))
    return next((mark.dimension for mark in (*field.metadata, *inside) if isinstance(mark, Quantity)), None)


def _puts(one_sided: OneSided) -> str:
    scope = one_sided.scope or SCOPES.get(one_sided.synchronisation)
    among = f" of {'all ranks' if scope == 'all' else scope}" if scope else ""
    opens = ", windows open for the next time at once" if one_sided.opens else ""
    return f" by puts, {one_sided.synchronisation}{among}{opens}"


def _work(step: Work) -> str:
    amounts = [format_quantity(step.time, TIME)] if step.time else []
    amounts += [f"{format_quantity(step.per_point, TIME)} a grid point"] if step.per_point else []
    grid = f" of {_value(list(step.grid))}" if step.grid and step.per_point else ""
    spread = [
        f"{name} {_value(value, FRACTION)}"
        for name, value in (("imbalance", step.imbalance), ("noise", step.noise))
        if value
    ]
    return f"work for {' and '.join(amounts)}{grid}{', ' if spread else ''}{', '.join(spread)}"


def _phase(name: str | None, usual: str) -> str:
    return f": {name}" if name and name != usual else ""


def _role(role: Role) -> str:
    rule = {key: value for key, value in role.canonical().items() if key not in ("communicators", "steps")}
    match rule:
        case {"others": _}:
            return "all other ranks"
        case {"ranks": ranks}:
            return f"ranks {', '.join(map(str, ranks))}"
        case {"consecutive": size, "group": group}:
            return f"group {group} of {size} consecutive ranks"
        case {"every": groups, "group": group}:
            return f"ranks that are {group} modulo {groups}"
        case _:
            return _ranks(Communicator.model_validate(rule))


def _ranks(communicator: Communicator) -> str:
    match communicator.canonical():
        case {"consecutive": size}:
            return f"groups of {size} consecutive ranks"
        case {"every": groups}:
            return f"{groups} groups of ranks that are {groups} apart"
        case {"leaders": size}:
            return f"the first of each {size} consecutive ranks"
        case {"range": [first, ranks]}:
            return f"ranks {first} to {first + ranks - 1}"
        case _:
            raise ValueError("a communicator without a rule")


def _value(value: Any, dimension: Dimension | None = None) -> str:
    if dimension is FRACTION:  # 12.5 %, as people write it, and not a whole number of millionths
        return f"{float(value / FRACTION.units['%']):.10g} %"
    if dimension:
        return format_quantity(value, dimension)
    return " x ".join(map(str, value)) if isinstance(value, list) else str(value)
