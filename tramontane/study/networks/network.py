"""What networks there are and what one of them is like, as the simulator itself knows it.

Each kind of network is one file of ``simulator/``, which ends with a description of it: shapes of its geometry,
routings, and what can't be. Nothing of that is repeated here. It is asked of the compiled extension, and the answers
are kept by machine, because planning asks for the same few networks thousands of times.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tramontane.errors import closest
from tramontane.extension import simulator
from tramontane.study.reading.messages import problem

Nodes = NDArray[np.int64]
Frozen = tuple[int, ...] | tuple[tuple[str, int | tuple[int, ...]], ...]
"""A geometry as a machine keeps it: numbers, or pairs of a mapping's keys and their numbers."""


@dataclass(frozen=True)
class Routing:
    """A routing that a kind of network offers, defined in docs/routing.md.

    Attributes
    ----------
    name : str
        As in `machine.routing`.
    non_minimal, always_non_minimal : bool
        Whether it takes routes that are not minimal, and whether it takes no others.
    fixed : bool
        Whether all packets of a message may take one route, whatever the load.
    asks_no_queue : bool
        Whether packets choose without a look at queues.
    """

    name: str
    non_minimal: bool
    always_non_minimal: bool
    fixed: bool
    asks_no_queue: bool


@dataclass(frozen=True)
class Shape:
    """A way to give the size of a network.

    Attributes
    ----------
    name : str
        Name of networks of this shape, e.g. `fattree3` for a fat tree of three levels.
    text : str
        What its numbers mean.
    keys : tuple of str
        Names of the numbers.
    mapping : bool
        Whether it may be written as a mapping of these keys.
    lists : bool
        Whether each key has a list of numbers; a mere list is that of the first.
    """

    name: str
    text: str
    keys: tuple[str, ...]
    mapping: bool
    lists: bool


@dataclass(frozen=True)
class Family:
    """A kind of network: the value of `machine.topology`.

    Attributes
    ----------
    name : str
        The value.
    shapes : tuple of Shape
        Ways to give its size.
    routings : tuple of Routing
        The first is the default.
    arrangements : tuple of str
        How its global links may be arranged, the default first; without any it has no key `global_links`.
    parallel_links : bool
        Whether it has the key `parallel_links`.
    by_table : bool
        Whether a file says the network, in place of a geometry.
    example : dict
        Keys of a machine that has a small network of this kind.
    """

    name: str
    shapes: tuple[Shape, ...]
    routings: tuple[Routing, ...]
    arrangements: tuple[str, ...]
    parallel_links: bool
    by_table: bool
    example: dict[str, Any]

    @property
    def text(self) -> str:
        """What the numbers of a geometry mean."""
        return "; or ".join(shape.text for shape in self.shapes)


def _families() -> dict[str, Family]:
    return {
        told["name"]: Family(
            told["name"],
            tuple(Shape(**{**shape, "keys": tuple(shape["keys"])}) for shape in told["shapes"]),
            tuple(Routing(**routing) for routing in told["routings"]),
            tuple(told["arrangements"]),
            told["parallel_links"],
            told["by_table"],
            told["example"],
        )
        for told in simulator().families()
    }


FAMILIES = _families()
"""The kinds of networks by name."""

TOPOLOGIES = tuple(FAMILIES)
ROUTINGS = {name: tuple(routing.name for routing in family.routings) for name, family in FAMILIES.items()}
"""Routings each topology offers; the first is the default."""
FIXED = {name: tuple(each.name for each in family.routings if each.fixed) for name, family in FAMILIES.items()}
"""Routings that are the same for all packets of a message, whatever the load, by topology."""
MAPPINGS = {shape.keys: shape.lists for family in FAMILIES.values() for shape in family.shapes if shape.mapping}
"""Keys of geometries that are mappings, and whether each has a list of numbers."""
DEFAULT_NODES: int = simulator().DEFAULT_NODES
"""Nodes of a switch where nothing says their number."""
WITH_PARALLEL_LINKS = tuple(name for name, family in FAMILIES.items() if family.parallel_links)
"""Topologies whose switches may be linked by several links."""
ARRANGEMENTS = tuple(dict.fromkeys(word for family in FAMILIES.values() for word in family.arrangements))
"""How global links may be arranged."""

PISCES_16: dict[str, tuple[str, ...]] = {shape: tuple(routings) for shape, routings in simulator().PISCES_16.items()}
"""Shapes of networks and their routings that model pisces-16 has, as SST/macro 16."""
PISCES_16_BANDWIDTHS: tuple[int, int] = simulator().PISCES_16_BANDWIDTHS
"""The least and the largest that it has [B/s]."""


_AT_ONCE = 256
"""Switches whose links are looked at together."""


@dataclass(frozen=True)
class Links:
    """Links that leave some switches, one direction each.

    Attributes
    ----------
    source, target : array of int
        Switches.
    link_class : array of int
        Positions in :attr:`Network.link_classes`.
    port : array of int
        Port of the source.
    """

    source: Nodes
    target: Nodes
    link_class: Nodes
    port: Nodes


@dataclass(frozen=True)
class Network:
    """A network: what it consists of, and how far packets travel.

    Attributes
    ----------
    shape : str
        Name of its shape.
    geometry : tuple of int
        The numbers of its geometry, one key after the other.
    spelled : list or dict
        Its geometry in canonical form.
    switches, nodes_per_switch, nodes : int
        Counts; in a fat tree only the lowest level's switches carry nodes.
    ports : int
        Ports of one switch (its radix); the top switches of a full fat tree use only half of theirs, those of a
        one-dimensional dragonfly all but one (SST/macro counts a port to the switch itself).
    port_numbers : int
        Port numbers of a switch, some of which may have no link.
    links : int
        Links between switches.
    groups : int
        Parts of equally many consecutive nodes: the groups of a dragonfly, the subtrees below the top of a fat tree,
        the planes of a torus.
    link_classes : tuple of str
        Names of the kinds of links. The first is that of links to nodes.
    link_rates : tuple of pairs of int
        Bandwidth [B/s] and latency [ps] of each kind, where the network itself says them; else 0.
    virtual_channels : int
        Channels of the routing, by which a link's buffer is divided.
    routing : Routing
        Its rule.
    """

    shape: str
    geometry: tuple[int, ...]
    spelled: list[int] | dict[str, Any]
    switches: int
    nodes_per_switch: int
    nodes: int
    ports: int
    port_numbers: int
    links: int
    groups: int
    link_classes: tuple[str, ...]
    link_rates: tuple[tuple[int, int], ...]
    virtual_channels: int
    routing: Routing
    _built: Any = field(repr=False, compare=False)

    def visits(self, source: Nodes, target: Nodes, *, non_minimal: bool = False) -> Nodes:
        """Return how many switches a packet visits on a shortest path, in a dragonfly with one global link at most.

        Minimal routes of a one-dimensional dragonfly may visit one more: they take any switch of the group that is
        linked to the target's.

        Parameters
        ----------
        source, target : array of int
            Node numbers.
        non_minimal : bool
            Go by random intermediate switches as Valiant's routing draws them, the same at each call.

        Returns
        -------
        array of int
            1 for two nodes of one switch.
        """
        return np.asarray(self._built.visits(source, target, non_minimal), dtype=np.int64)

    def fold(self, shape: tuple[int, ...], nodes: int, nics: int = 1) -> Nodes:
        """Return the nodes of a job whose switches have a shape, folded into a torus as docs/routing.md says.

        Parameters
        ----------
        shape : tuple of int
            Switches along each dimension of the job.
        nodes : int
            Nodes of the job.
        nics : int
            Interfaces of a node, each of which is a node of the topology.

        Raises
        ------
        PydanticCustomError
            With key, what was found and what is allowed, if the shape does not fit.
        """
        try:
            return np.asarray(self._built.fold(shape, nodes, nics), dtype=np.int64)
        except simulator().Refusal as refusal:
            raise problem(refusal.problem, refusal.allowed, key=f"allocation.{refusal.key}") from None

    def links_between(self, first: int, last: int) -> Links:
        """Return the links to other switches that leave those from `first` to before `last`."""
        return Links(**self._built.links(first, last))

    def link_counts(self) -> dict[str, int]:
        """Return how many links of each class there are, one direction each; a node has one that leads to it."""
        numbers = np.zeros(len(self.link_classes), dtype=np.int64)
        numbers[0] = self.nodes
        for first in range(0, self.switches, _AT_ONCE):
            kinds = self.links_between(first, min(first + _AT_ONCE, self.switches)).link_class
            numbers += np.bincount(kinds, minlength=len(numbers))
        return dict(zip(self.link_classes, numbers.tolist(), strict=True))

    def switches_of(self, nodes: Nodes) -> Nodes:
        """Return the switch of each node."""
        return np.asarray(self._built.switches_of(np.ascontiguousarray(nodes, dtype=np.int64)))

    def node_ports(self, nodes: Nodes) -> Nodes:
        """Return the port of its switch that leads to each node."""
        return np.asarray(self._built.node_ports(np.ascontiguousarray(nodes, dtype=np.int64)))

    @property
    def size(self) -> str:
        """The geometry in few words, e.g. "8x8x8" or "4 leaves, 4 spines, ..."."""
        if not self.spelled:
            return f"of {self.switches} switches"
        if isinstance(self.spelled, list):
            return "x".join(map(str, self.spelled))
        said = {key: told if isinstance(told, list) else [told] for key, told in self.spelled.items()}
        return ", ".join(f"{'x'.join(map(str, numbers))} {key}" for key, numbers in said.items())

    @property
    def extents(self) -> list[int]:
        """Sizes of the dimensions along which switches are numbered; none where they are not."""
        sizes: list[int] = []
        for size in self.geometry:
            if sizes and math.prod(sizes) == self.switches:
                break
            sizes.append(size)
        return sizes if math.prod(sizes) == self.switches else []

    def switches_near(self, own: int) -> int:
        """Return about how many switches minimal routes among the nodes of the first `own` switches meet, at most."""
        return int(self._built.switches_near(own))


def network(machine: Mapping[str, Any]) -> Network:
    """Return the network of a machine.

    Parameters
    ----------
    machine : mapping
        Of the keys of a canonical machine, `topology` and `geometry` are needed; of a graph its `table`, as a path.

    Raises
    ------
    PydanticCustomError
        With key, what was found and what is allowed, if there can't be such a network.
    """
    parallel = tuple((machine.get("parallel_links") or {}).items())
    others = (machine.get(key) for key in _OTHERS)
    return _network(str(machine["topology"]), frozen(machine.get("geometry") or ()), parallel, *others)


_OTHERS = ("table", "nodes_per_switch", "global_links", "arrangement", "routing")


def frozen(geometry: Sequence[Any] | Mapping[str, Any]) -> Frozen:
    """Return a geometry as it is kept: its numbers, or pairs of the keys of a mapping and their numbers."""
    if isinstance(geometry, Mapping):
        return tuple((key, tuple(value) if isinstance(value, list) else value) for key, value in geometry.items())
    return tuple(geometry)


@lru_cache(maxsize=1024)
def _network(topology: str, geometry: Frozen, parallel: tuple[tuple[str, int], ...], *others: Any) -> Network:
    given = {"topology": topology, "geometry": _thawed(geometry) or None, **dict(zip(_OTHERS, others, strict=True))}
    given["parallel_links"] = dict(parallel)
    extension = simulator()
    try:
        built = extension.Network(given)
    except extension.Refusal as refusal:
        found = given.get(refusal.key)
        hint = closest(found, refusal.allowed.split(", ")) if isinstance(found, str) else None
        raise problem(refusal.problem, refusal.allowed, key=refusal.key, hint=hint) from None
    family, name = FAMILIES[topology], given["routing"]
    routing = next((each for each in family.routings if each.name == name), family.routings[0])
    return Network(**built.facts(), routing=routing, _built=built)


def _thawed(geometry: Frozen) -> list[int] | dict[str, Any]:
    numbers = [item for item in geometry if isinstance(item, int)]
    pairs = {item[0]: item[1] for item in geometry if not isinstance(item, int)}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in pairs.items()} or numbers
