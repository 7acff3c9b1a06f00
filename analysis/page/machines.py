"""The networks that a campaign used: the picture of each, and a table of what it consists of."""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import xarray as xr
from markupsafe import Markup

from analysis import facts, picture, style, svg
from analysis.page.experiments import anchor_of
from tramontane.errors import InputError
from tramontane.results.manifest import common
from tramontane.study.networks.machines import Machine
from tramontane.study.networks.network import TOPOLOGIES
from tramontane.study.networks.structure import rows, structure

#: What a table of a network says of quantities, as keys of a machine; experiments may sweep them.
_QUANTITIES = ("link.bandwidth", "link.latency", "injection.bandwidth", "routing")
_CLASSES = "link.classes"


@dataclass(frozen=True)
class Used:
    """A network that experiments used.

    Attributes
    ----------
    anchor, name
        Its place on the page, and what captions call it.
    picture
        Its groups and one of them with all links; None where there is a `remark` why not.
    rows
        Words, and what stands beside them.
    experiments
        Those that used it.
    """

    anchor: str
    name: str
    picture: Markup | None
    remark: str
    rows: Sequence[tuple[str, str]]
    experiments: Sequence[str]


def used(datasets: Mapping[str, xr.Dataset]) -> list[Used]:
    """Return the networks of some datasets, by their names, in order of topology and size.

    Of one with several values of a quantity the table says that it varies. One with several sizes is named only.
    """
    variants: dict[str, dict[str, dict[str, Any]]] = {}
    for experiment, dataset in datasets.items():
        for name, machine in facts.machines(dataset).items():
            variants.setdefault(name, {})[experiment] = machine
    found = []
    for name, each in variants.items():
        machine = common(each.values())
        if machine.get("topology") not in TOPOLOGIES:
            continue  # a real system's
        anchor = anchor_of(name, "machine")
        try:
            network = Machine.model_validate(machine, context={"canonical": True})
        except ValueError:
            kind = [("topology", str(machine["topology"]))]
            found.append((0, Used(anchor, name, None, "Experiments change its size.", kind, list(each))))
            continue
        drawn = _drawn(network, name, anchor)
        remark = "" if drawn else "Too large to be drawn link by link."
        lines = rows(network, structure(network), set(_varied(machine, each.values())))
        found.append((network.facts.nodes, Used(anchor, name, drawn, remark, lines, list(each))))
    return [entry for _, entry in sorted(found, key=lambda entry: (entry[1].rows[0], entry[0], entry[1].name))]


def _varied(machine: Mapping[str, Any], variants: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the quantities that not all experiments, or not all points of one, have in common."""
    for key in (*_QUANTITIES, _CLASSES):
        stated = _states(machine, key)
        # Without classes nothing stands there.
        if not stated and (key != _CLASSES or any(_states(each, key) for each in variants)):
            yield key


def _states(machine: Mapping[str, Any], key: str) -> bool:
    block, _, own = key.rpartition(".")
    return own in (machine.get(block, {}) if block else machine)


def _drawn(machine: Machine, name: str, anchor: str) -> Markup | None:
    try:
        figure = picture.draw(machine, name, tabled=False)
    except InputError:
        return None
    text = io.StringIO()
    with style.context():
        figure.savefig(text, format="svg", metadata={"Date": None})
    return Markup(svg.inline(text.getvalue(), anchor, f"The network {name}"))
