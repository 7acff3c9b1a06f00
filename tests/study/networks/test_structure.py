"""What pictures of networks count, against closed forms."""

from pathlib import Path
from typing import Any

import pytest

from tramontane.study import load_point
from tramontane.study.networks.machines import Machine
from tramontane.study.networks.network import FAMILIES
from tramontane.study.networks.structure import rows, structure

WORK = "{kind: allreduce, algorithm: ring}"


def machine(**keys: Any) -> Machine:
    return Machine.model_validate({"name": "drawn", **keys})


@pytest.mark.parametrize(
    "family", [each for each in FAMILIES.values() if not each.by_table], ids=lambda each: each.name
)
def test_links_that_are_looked_at_are_those_of_the_closed_form(family: Any) -> None:
    net = machine(**family.example).facts
    found = net.links_between(0, net.switches)
    assert len(found.source) == 2 * net.links
    pairs = list(zip(found.source.tolist(), found.target.tolist(), strict=True))
    assert sorted(pairs) == sorted((b, a) for a, b in pairs)


@pytest.mark.parametrize(
    ("keys", "longest", "links"),
    [
        # Half the nodes of a ring of 8 planes of 4 x 4 switches: two cuts of 16 links each.
        ({"topology": "torus", "geometry": [4, 4, 8]}, 2 + 2 + 4, 32),
        # A full fat tree: as many links as half its nodes.
        ({"topology": "fattree", "geometry": [3, 4]}, 4, 32),
        # 2 x 2 switches in each of 6 groups, a link from each to its like in all others: 3 x 3 x 4.
        ({"topology": "dragonfly", "geometry": [2, 2, 6]}, 3, 36),
        ({"topology": "hyperx", "geometry": [4, 4]}, 2, 16),
    ],
)
def test_longest_route_and_cut_are_those_of_the_closed_forms(keys: dict[str, Any], longest: int, links: int) -> None:
    drawn = machine(**keys, link={"bandwidth": "10 GB/s"})
    found = structure(drawn)
    assert (found.longest, found.exact) == (longest, True)
    assert found.cut is not None
    assert found.cut.bandwidth == links * 10**10
    classes = 2 if drawn.topology == "fattree" else 1  # of each link: up and down
    assert sum(found.links.values()) == classes * drawn.facts.links


def test_a_cut_knows_the_bandwidths_of_classes() -> None:
    links = {"bandwidth": "10 GB/s", "classes": {"global": {"bandwidth": "25 GB/s"}}}
    found = structure(machine(topology="dragonfly", geometry=[2, 2, 6], link=links))
    assert found.cut is not None
    assert found.cut.bandwidth == 36 * 25 * 10**9


@pytest.mark.parametrize("rate", [12_083_700_000, 12_083_700_001, 200_000_000_000_000])
def test_a_cut_of_a_tree_is_found_whatever_its_rates_have_in_common(rate: int) -> None:
    """Half the nodes have 36 / 2 times 18 leaves of 12 links up, and no level above is narrower."""
    shape = {"down": [24, 18, 36], "up": [1, 12, 18]}
    links = {"bandwidth": f"{rate} B/s", "classes": {"up-1": {"bandwidth": f"{rate - 1} B/s"}}}
    found = structure(machine(topology="fattree", geometry=shape, link=links))
    assert found.cut is not None
    assert found.cut.bandwidth == pytest.approx(18 * 18 * 12 * rate, rel=1e-4)


def test_nodes_are_counted_whole_where_they_have_several_interfaces() -> None:
    keys: dict[str, Any] = {"topology": "torus", "geometry": [4, 4, 8], "nodes_per_switch": 4}
    one, two = (machine(**keys, node={"nics": nics}) for nics in (1, 2))
    table = {nics: dict(rows(net, structure(net))) for nics, net in ((1, one), (2, two))}
    assert "interfaces of a node" not in table[1]
    said = {"nodes": "256", "interfaces of a node": "2", "nodes of a switch": "2"}
    assert table[2] == table[1] | said


@pytest.mark.parametrize(
    ("nodes", "bandwidth", "smaller"),
    [
        ((1, 1, 6, 6), 40, 6),  # a, b, c | d
        ((6, 6, 1, 1), 10, 6),  # a | b, c, d
        ((1, 1, 1, 1), 10, 2),  # a, b | c, d
        ((0, 5, 0, 5), 10, 5),  # b | d, which c may belong to
    ],
)
@pytest.mark.usefixtures("tables")
def test_a_graph_is_cut_between_halves_of_its_nodes(
    tmp_path: Path, nodes: tuple[int, ...], bandwidth: int, smaller: int
) -> None:
    rows_ = ["source,target,class,bandwidth", "a,b,x,10 GB/s", "b,c,y,10 GB/s", "c,d,z,40 GB/s"]
    rows_ += [f"{at}{number},{at},node," for at, many in zip("abcd", nodes, strict=True) for number in range(many)]
    file = tmp_path / "x.csv"
    file.write_text("\n".join(rows_) + "\n")
    point = tmp_path / "p.yaml"
    point.write_text(f"ranks: 2\nmachine: {{topology: graph, file: x.csv}}\nworkload: {WORK}\n")
    found = structure(load_point(point).network)
    assert found.cut is not None
    assert found.cut.bandwidth == bandwidth * 10**9
    assert found.cut.per_node == pytest.approx(bandwidth * 10**9 / smaller)
    assert found.longest == (3 if nodes[0] else 2)
    table = dict(rows(load_point(point).network, found))
    least, most = (choose(each for each in nodes if each) for choose in (min, max))
    assert table["nodes of a switch"] == (str(most) if least == most else f"{least} to {most}")
    assert load_point(point).network.label == f"graph of 4 switches, {sum(nodes)} nodes"


def test_a_class_without_links_is_said_to_have_none() -> None:
    one_group = machine(topology="dragonfly", geometry=[5, 1, 1])
    table = dict(rows(one_group, structure(one_group)))
    assert (table["local"], table["global"]) == ("10 of 10 GB/s, 100 ns", "0 of 10 GB/s, 100 ns")


def test_a_size_says_which_number_is_which() -> None:
    groups = {"leaves": 4, "spines": 2, "nodes_per_leaf": 1, "groups": 3, "global_links": 5}
    made = Machine.model_validate({"topology": "dragonfly-plus", "geometry": groups})
    said = "4 leaves, 2 spines, 1 nodes_per_leaf, 3 groups, 5 global_links"
    assert made.facts.size == dict(rows(made, structure(made)))["size"] == said
    assert made.label == f"dragonfly-plus {said}, 1 node a switch"
