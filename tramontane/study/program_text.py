"""A program in words, for people who want to see what a rank does."""

from collections.abc import Iterable, Iterator
from typing import Any

from tramontane.study.programs import (
    ALL,
    SCOPES,
    Basic,
    CollectiveStep,
    Communicator,
    End,
    Loop,
    OneSided,
    Overlap,
    Program,
    PutStep,
    Work,
)
from tramontane.study.units import FRACTION, TIME, format_quantity

_OF_STEPS = {"kind", "operation", "name", "communicator", "begin", "decomposition", "one_sided"}
"""Keys that are told in other words, or differ from one number of ranks to the next."""


def lines(program: Program) -> Iterator[str]:
    """Yield the lines of a text: communicators, then the steps of a rank, numbered."""
    for name, communicator in program.communicators.items():
        yield f"{name}: {_ranks(communicator)}"
    yield "once:" if program.repeat == 1 else f"{program.repeat} times:"
    yield from _numbered(program.steps, "  ")


def _numbered(steps: Iterable[Basic | Loop], indent: str) -> Iterator[str]:
    for number, step in enumerate(steps, start=1):
        if isinstance(step, Loop):
            yield f"{indent}{number}. {step.times} times:"
            yield from _numbered(step.steps, f"{indent}   ")
        else:
            yield f"{indent}{number}. {_sentence(step)}"


def _sentence(step: Basic) -> str:
    match step:
        case Work():
            return f"{_work(step)}{_phase(step.name, 'work')}"
        case End():
            return f"wait for {step.of}{_phase(step.name, step.of)}"
        case Overlap():
            return f"{_exchange(step.exchange)}, and meanwhile {_sentence(step.work)}"
        case _:
            begun = f"; goes on at once, {step.begin} is waited for later" if step.begin else ""
            return f"{_exchange(step)}{begun}"


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
