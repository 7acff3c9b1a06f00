"""Where busy links lie: a map of each network, its links coloured by their load.

On the left are the groups of a network with what links them, on the right the group with the busiest link, as in
:mod:`analysis.utilisation`. All networks have one scale of colours.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import xarray as xr

from analysis import caption, facts
from analysis.figures.links import CLASS, OF_NODES
from analysis.figures.panel import Shown
from analysis.spec import FigureSpec
from analysis.table import Table
from tramontane.results.revisions import MEMBER
from tramontane.study.networks.machines import Machine
from tramontane.study.values.quantities import SINGLE_LINKS

#: The dimension whose values are networks.
MACHINE = "machine"
#: Links of a network that the table names.
NAMED = 10
_NAME = "single_link_name"
_LOAD, _QUEUE, _SWITCH, _PORT = (SINGLE_LINKS[key].name for key in ("load", "peak_queue", "switch", "port"))


def show(dataset: xr.Dataset, spec: FigureSpec) -> Shown:
    """Return two panels for each network, and the links between switches that carry most, by name.

    Parameters
    ----------
    dataset
        A collated dataset with ``statistics: {links: each}``, of one point for each machine, and its members.
    spec
        Its ``figure`` block.

    Raises
    ------
    ValueError
        If no point tells single links, or a machine has several points.
    """
    from analysis.picture import Layout  # noqa: PLC0415 - both use panels of this package
    from analysis.utilisation import by_place, colours_up_to, maps  # noqa: PLC0415

    machines = facts.machines(dataset)
    drawn, rows = {}, []
    for name, links in _networks(dataset):
        layout = Layout(Machine.model_validate(machines[name], context={"canonical": True}))
        own = links.isel(single_link=np.flatnonzero(links[_SWITCH].notnull().values))
        told = zip(own[_SWITCH].values.tolist(), own[_PORT].values.tolist(), own[_LOAD].values.tolist(), strict=True)
        drawn[name] = layout, by_place(layout, {(int(switch), int(port)): load for switch, port, load in told})
        between = links.isel(single_link=np.flatnonzero(~np.isin(links[CLASS].values, list(OF_NODES)))[:NAMED])
        told = zip(*(between[key].values.tolist() for key in (_NAME, _LOAD, _QUEUE)), strict=True)
        rows += [[name, text, f"{100 * load:.1f}", f"{queue / 1000:.1f}"] for text, load, queue in told if load > 0]
    colours = colours_up_to(max(float(loads.max(initial=0.0)) for _, loads in drawn.values()))
    found = [panel for name, (layout, loads) in drawn.items() for panel in maps(layout, loads, colours, name)]
    found[:2] = replace(found[0], letter=spec.letter), replace(found[1], note=caption.gap_note(dataset))
    return Shown(found, Table(["Network", "Link", "Load, %", "Longest queue, KB"], rows))


def _networks(dataset: xr.Dataset) -> Iterator[tuple[str, xr.Dataset]]:
    """Yield the single links of each network, in the first member; those without a result are left out."""
    if _LOAD not in dataset:
        raise ValueError("figure.kind: found 'link-map', but no point tells single links, allowed: another kind")
    first = dataset.isel({MEMBER: 0}) if MEMBER in dataset.dims else dataset
    names = [str(name) for name in first[MACHINE].values] if MACHINE in first.dims else list(facts.machines(dataset))
    for place, name in enumerate(names):
        links = first.isel({MACHINE: place}) if MACHINE in first.dims else first
        links = links[[_LOAD, _QUEUE, _SWITCH, _PORT, _NAME, CLASS]].squeeze(drop=True)
        if links[_LOAD].ndim != 1:
            several = ", ".join(str(dim) for dim in links[_LOAD].dims[:-1])
            raise ValueError(f"figure.kind: 'link-map' needs one point a machine, found several by {several}")
        known = np.isfinite(links[_LOAD].values)
        if known.any():
            yield name, links.isel(single_link=known)
