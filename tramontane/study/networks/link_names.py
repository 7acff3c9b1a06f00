"""What single links of a network are called: by their class, and by the groups or places of the switches they join."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tramontane.study.networks.network import Network, Nodes

_GROUPED = ("dragonfly", "dragonfly1d", "dragonfly-plus")
"""Networks whose switches are numbered group by group."""
INJECTION = "injection"
"""The class of links from nodes to switches, which networks do not count among their own."""
_PLACED = ("torus", "hyperx")
"""Networks whose switches are numbered along their dimensions, the first one fastest."""


@dataclass(frozen=True)
class LinkNames:
    """Names the links of a network.

    Attributes
    ----------
    topology : str
        The kind of network, as in `machine.topology`.
    net : Network
        The network.
    """

    topology: str
    net: Network

    def switch(self, number: int) -> str:
        """Return what a switch is called: by its place or group where the network has any, else by its number."""
        if sizes := self._sizes:
            place = []
            for size in sizes:
                number, own = divmod(number, size)
                place.append(str(own))
            return f"switch ({', '.join(place)})"
        if self.topology in _GROUPED:
            return f"switch {number} of group {self.group(number)}"
        return f"switch {number}"

    def group(self, switch: int) -> int:
        """Return the group of a switch, in a network whose switches are numbered by groups."""
        return switch * self.net.groups // self.net.switches

    def ends(self, switch: int, port: int) -> tuple[int | None, int | None]:
        """Return the switch behind a port, or the node; the other is None."""
        links = self.net.links_between(switch, switch + 1)
        behind = links.target[links.port == port]
        if len(behind):
            return int(behind[0]), None
        switches, ports = self._nodes
        nodes = np.flatnonzero((switches == switch) & (ports == port))
        return None, int(nodes[0]) if len(nodes) else None

    def name(self, link_class: str, switch: int, port: int) -> str:
        """Return the name of the link that leaves a switch by a port, e.g. "global link, group 3 to 7"."""
        behind, node = self.ends(switch, port)
        if behind is None:
            return f"{link_class} link, {self.switch(switch)} to node {node}"
        if self.topology in _GROUPED and self.group(switch) != self.group(behind):
            groups = f"group {self.group(switch)} to {self.group(behind)}"
            return f"{link_class} link, {groups} (switch {switch} to {behind})"
        if self.topology in _GROUPED:
            return f"{link_class} link, group {self.group(switch)}, switch {switch} to {behind}"
        return f"{link_class} link, {self.switch(switch)} to {self.switch(behind).removeprefix('switch ')}"

    def injection(self, node: int) -> str:
        """Return the name of the link that leaves a node, e.g. "injection link, node 3 to switch (1, 0)"."""
        switch = int(self.net.switches_of(np.array([node]))[0])
        return f"{INJECTION} link, node {node} to {self.switch(switch)}"

    @cached_property
    def _sizes(self) -> Sequence[int]:
        return self.net.extents if self.topology in _PLACED else ()

    @cached_property
    def _nodes(self) -> tuple[Nodes, Nodes]:
        """The switch of each node, and its port there."""
        nodes = np.arange(self.net.nodes)
        return self.net.switches_of(nodes), self.net.node_ports(nodes)
