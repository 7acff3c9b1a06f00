"""A program in words, for people who want to see what a rank does."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tramontane.study.programs import (
    ALL,
    SCOPES,
    Amount,
    Basic,
    CollectiveStep,
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
from tramontane.study.settings import filled
from tramontane.study.units import FRACTION, SIZE, TIME, format_quantity

_OF_STEPS = {"kind", "operation", "name", "communicator", "begin", "decomposition", "one_sided"}
"""Keys that are told in other words, or differ from one number of ranks to the next."""


def lines(program: Program) -> Iterator[str]:
    """Yield the lines of a text: communicators, then the steps of a rank, numbered."""
    yield from _named(program.communicators)
    yield "once:" if program.repeat == 1 else f"{program.repeat} times:"
    yield from _numbered(program.steps, "  ")
    for name, role in program.roles.items():
        yield f"  {name} ({_role(role)}):"
        yield from _named(role.communicators, "    ")
        yield from _numbered(role.steps, "    ")


def _named(communicators: Mapping[str, Communicator], indent: str = "") -> Iterator[str]:
    for name, communicator in communicators.items():
        yield f"{indent}{name}: {_ranks(communicator)}"


def _numbered(steps: Iterable[Basic | Loop], indent: str) -> Iterator[str]:
    for number, step in enumerate(steps, start=1):
        if isinstance(step, Loop):
            yield f"{indent}{number}. {step.times} times:"
            yield from _numbered(step.steps, f"{indent}   ")
        else:
            yield f"{indent}{number}. {_sentence(step)}"


def _sentence(step: Basic) -> str:
    usual: str = step.kind
    match step:
        case Overlap():
            return f"{_exchange(step.exchange)}, and meanwhile {_sentence(step.work)}"
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
            return f"{_exchange(step)}{_begun(step.begin)}"
    return f"{what}{_phase(step.name, usual)}{_begun(getattr(step, 'begin', None))}"


def _begun(label: str | None) -> str:
    return f"; goes on at once, {label} is waited for later" if label else ""


def _amount(step: Amount) -> str:
    if step.total:
        return f"{format_quantity(step.total, SIZE)} in all"
    return f"{format_quantity(filled(step.bytes), SIZE)} each"


def _exchange(step: Any) -> str:
    what = step.operation if isinstance(step, CollectiveStep) else step.kind
    keys = {name: value for name, value in step.canonical().items() if name not in _OF_STEPS}
    told = ", ".join(f"{name} {_value(value)}" for name, value in keys.items())
    among = "" if step.communicator in (None, ALL) else f" among {step.communicator}"
    puts = _puts(step.one_sided) if isinstance(step, PutStep) and step.one_sided else ""
    return f"{what}{among}{f' ({told})' if told else ''}{puts}{_phase(step.name, what)}"


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
        f"{name} {format_quantity(value, FRACTION)}"
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


def _value(value: object) -> str:
    return " x ".join(map(str, value)) if isinstance(value, list) else str(value)
