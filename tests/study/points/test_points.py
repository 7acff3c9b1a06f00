"""A point: the sample of the design, its canonical form and identity, and the line for each way to get it wrong."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from tramontane.errors import InputError
from tramontane.study import Point, load_point

Line = Callable[..., str]
Write = Callable[..., Path]

CANONICAL: dict[str, Any] = {
    "ranks": 256,
    "workload": {
        "kind": "transposition",
        "algorithm": "ring-k",
        "radix": 4,
        "grid": [1440, 720, 64],
        "decomposition": [16, 16],
    },
    "machine": {
        "topology": "torus",
        "geometry": [8, 8, 8],
        "nodes_per_switch": 2,
        "routing": "minimal",
        "link": {"bandwidth": 10000000000, "latency": 100000},
        "injection": {"bandwidth": 10000000000, "latency": 100000, "service": "fifo"},
        "crossbar": {"bandwidth": 80000000000},
        "logp": {"bandwidth": 10000000000, "hop_latency": 100000, "out_in_latency": 100000},
        "memory": {"bandwidth": 1000000000000},
        "processor": {"frequency": 2000000000},
        "packet": 4096,
        "buffer": 64000,
        "protocol": {"eager_limit": 8192, "short_limit": 512, "negligible_size": 0},
        "model": "default",
    },
    "allocation": "first-available",
    "substrate": "simulator",
    "seed": 1,
    "start_jitter": 0,
}
IDENTITY = "acb47aeae39ca672"
"""Of the sample. It must never change, or all stored results lose their points."""


def read(text: str) -> dict[str, Any]:
    return dict(YAML(typ="safe", pure=True).load(text))


def test_the_sample_has_the_canonical_form_of_the_contract(write: Write, sample: str) -> None:
    point = load_point(write(sample))
    assert point.canonical() == CANONICAL
    text = json.dumps(CANONICAL, sort_keys=True, separators=(",", ":"))
    assert point.id == sha256(text.encode()).hexdigest()[:16] == IDENTITY
    assert list(point.canonical()) == sorted(CANONICAL)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("bandwidth: 10 GB/s", "bandwidth: 10000 MB/s"),
        ("100 ns", "0.1 us"),
        ("64 KB", "64000 B"),
        ("ranks: 256", "ranks: 2.56e2"),
        (", decomposition: [16, 16]", ""),
        ("  link: {bandwidth: 10 GB/s, latency: 100 ns}\n", ""),
        ("  protocol: {eager_limit: 8192 B, short_limit: 512 B, negligible_size: 0 B}\n", ""),
        ("  nodes_per_switch: 2\n  routing: minimal\n", ""),
        ("allocation: first-available\nsubstrate: simulator\nseed: 1\nstart_jitter: 0 ns\n", ""),
        ("  packet: 4096 B", "  extends: base\n  packet: 4096 B"),
        ("  packet: 4096 B", "  description: a note\n  packet: 4096 B"),
        ("  packet: 4096 B", "  logp: {hop_latency: 100 ns}\n  packet: 4096 B"),
    ],
)
def test_spelling_does_not_matter(write: Write, sample: str, old: str, new: str) -> None:
    assert old in sample
    assert load_point(write(sample.replace(old, new))).id == IDENTITY


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ranks: 256", "ranks: 256\nseed: 2"),
        ("  link: {bandwidth: 10 GB/s", "  link: {bandwidth: 11 GB/s"),
        ("64 KB", "64 KiB"),
        ("radix: 4", "radix: 5"),
        ("ring-k, radix: 4", "burst"),
        ("[16, 16]", "[8, 32]"),
        ("start_jitter: 0 ns", "start_jitter: 1 ns"),
        ("routing: minimal", "routing: valiant"),
    ],
)
def test_physics_does(write: Write, sample: str, old: str, new: str) -> None:
    text = sample.replace("seed: 1\n", "") if "seed" in new else sample
    assert old in text
    assert load_point(write(text.replace(old, new))).id != IDENTITY


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "statistics: {congestion: 0}\n"),
        ("", "noise: {duration: 0 s}\n"),
        ("", "steady: {error: 0 %}\n"),
        ("", "noise: {duration: 0 s, period: 1 s, pattern: random}\n"),
        ("  packet: 4096 B", "  overhead: {send: 0 ns}\n  packet: 4096 B"),
    ],
)
def test_what_is_off_is_left_out_of_the_canonical_form(write: Write, sample: str, before: str, after: str) -> None:
    off = load_point(write(sample.replace(before, after) if before else sample + after))
    assert off.id == IDENTITY
    assert off.canonical() == CANONICAL


def test_bruck_of_radix_2_is_bruck(write: Write, sample: str) -> None:
    bruck = sample.replace("ring-k, radix: 4", "bruck")
    assert bruck != sample
    plain, two, three = (
        load_point(write(bruck.replace("bruck", f"bruck{radix}"))) for radix in ("", ", radix: 2", ", radix: 3")
    )
    assert plain.id == two.id != three.id
    assert "radix" not in plain.canonical()["workload"]
    assert three.canonical()["workload"]["radix"] == 3


def test_the_remainder_rule_of_the_paper_is_the_default(write: Write, sample: str) -> None:
    allreduce = "workload: {kind: allreduce, algorithm: recursive-k, radix: 3"
    head = "ranks: 64\nmachine: torus-S\n"
    plain, paper, adjacent = (
        load_point(write(f"{head}{allreduce}{more}}}\n"))
        for more in ("", ", remainder: paper", ", remainder: adjacent")
    )
    assert plain.id == paper.id != adjacent.id
    assert "remainder" not in plain.canonical()["workload"]
    with pytest.raises(InputError, match=r"workload\.remainder: found 'adjacent', but algorithm ring has none"):
        load_point(write(f"{head}workload: {{kind: allreduce, algorithm: ring, remainder: adjacent}}\n"))


def test_what_is_on_belongs_to_the_canonical_form(write: Write, sample: str) -> None:
    on = load_point(write(sample + "statistics: {congestion: 512}\n"))
    assert on.id != IDENTITY
    assert on.canonical() == CANONICAL | {"statistics": {"congestion": 512}}
    assert Point.from_canonical(on.canonical()).id == on.id
    noisy = load_point(write(sample + "noise: {duration: 25 us}\n"))
    noise = {"duration": 25_000_000, "period": 1_000_000_000, "pattern": "periodic"}
    assert noisy.canonical() == CANONICAL | {"noise": noise}
    slow = load_point(write(sample.replace("  packet: 4096 B", "  overhead: {send: 1 us}\n  packet: 4096 B")))
    assert slow.canonical()["machine"] == CANONICAL["machine"] | {"overhead": {"send": 1_000_000, "receive": 0}}
    assert len({IDENTITY, on.id, noisy.id, slow.id}) == 4


def shuffled(value: Any, draw: Callable[[list[str]], list[str]]) -> Any:
    if isinstance(value, dict):
        return {key: shuffled(value[key], draw) for key in draw(list(value))}
    return value


@given(st.data())
def test_order_of_keys_does_not_matter(data: st.DataObject) -> None:
    mixed = shuffled(CANONICAL, lambda keys: data.draw(st.permutations(keys)))
    assert Point.from_canonical(mixed).id == IDENTITY


def test_canonical_form_reads_back() -> None:
    point = Point.from_canonical(CANONICAL)
    assert point.canonical() == CANONICAL
    assert point.id == IDENTITY


TEXT = "ranks: 3\nworkload: {kind: allreduce, algorithm: ring}\n"
TREE = "{nodes_per_leaf: 3, leaves_per_subtree: 2, subtrees: 4}"


@pytest.mark.parametrize(
    ("allocation", "canonical"),
    [
        ("first-available", "first-available"),
        ("random", "random"),
        ("round-robin-groups", "round-robin-groups"),
        ("{nodes: [5, 0, 23]}", {"nodes": [5, 0, 23]}),
    ],
)
def test_allocations_read_back(write: Write, allocation: str, canonical: object) -> None:
    point = load_point(write(f"{TEXT}allocation: {allocation}\nmachine: {{topology: fattree, geometry: {TREE}}}\n"))
    assert point.canonical()["allocation"] == canonical
    assert Point.from_canonical(point.canonical()) == point


@pytest.mark.parametrize(
    ("allocation", "message"),
    [
        (
            "best",
            "allocation: found 'best'; allowed: first-available, random, round-robin-groups, "
            "{nodes: [different numbers]}, {shape: [X, ...]}",
        ),
        ("{shape: [3]}", "allocation.shape: found a shape; allowed: only on a torus"),
        ("randm", "allocation: found 'randm'"),
        ("{nodes: [1, 2, 2]}", "allocation: found {nodes: [1, 2, 2]}"),
        ("{nodes: [1, 2, -1]}", "allocation: found {nodes: [1, 2, -1]}"),
        ("{nodes: [1, 2]}", "allocation.nodes: found 2 nodes; allowed: 3, one for each rank"),
        ("{nodes: [1, 2, 24]}", "allocation.nodes: found 24; allowed: nodes 0 ... 23 of"),
        ("{node: [1, 2, 3]}", "allocation: found {node: [1, 2, 3]}"),
    ],
)
def test_impossible_allocations(write: Write, line: Callable[..., str], allocation: str, message: str) -> None:
    text = f"{TEXT}allocation: {allocation}\nmachine: {{topology: fattree, geometry: {TREE}}}\n"
    assert line(load_point, write(text)).startswith(f"x.yaml: {message}")


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("[3]", "found [3] of 3 switches; allowed: a product of 4, which have the 7 nodes of the job"),
        ("[1, 1, 2, 2]", "found 4 dimensions; allowed: 1 to 3"),
        ("[7, 1]", "found 7 along its dimension 0; allowed: a product of numbers up to 4, 6, the sizes of dimensions"),
    ],
)
def test_shapes_that_do_not_fit(write: Write, line: Callable[..., str], shape: str, message: str) -> None:
    torus = "{topology: torus, geometry: [4, 3, 6], nodes_per_switch: 2}"
    text = f"ranks: 7\n{TEXT[9:]}allocation: {{shape: {shape}}}\nmachine: {torus}\n"
    assert line(load_point, write(text)).startswith(f"x.yaml: allocation.shape: {message}")


def test_three_sizes_of_a_tree_may_be_a_list(write: Write) -> None:
    machines = (f"{{topology: fattree, geometry: {geometry}}}" for geometry in (TREE, "[3, 2, 4]"))
    named, listed = (load_point(write(f"{TEXT}machine: {machine}\n")) for machine in machines)
    assert named.id == listed.id
    canonical = named.canonical()["machine"]
    assert canonical["geometry"] == {"nodes_per_leaf": 3, "leaves_per_subtree": 2, "subtrees": 4}
    assert (canonical["nodes_per_switch"], canonical["routing"]) == (3, "d-mod-k")


def test_a_circulant_dragonfly_reads_back(write: Write) -> None:
    machine = "{topology: dragonfly1d, geometry: [4, 9], global_links: 2}"
    point = load_point(write(f"{TEXT}machine: {machine}\n"))
    canonical = point.canonical()["machine"]
    assert (canonical["global_links"], canonical["arrangement"]) == (2, "circulant")
    assert Point.from_canonical(point.canonical()) == point


def test_a_machine_by_name_is_the_machine_written_out(write: Write) -> None:
    text = "ranks: 64\nworkload: {kind: allreduce, algorithm: rabenseifner}\nmachine: "
    named = load_point(write(text + "torus-S"))
    inline = load_point(write(text + "{topology: torus, geometry: [4, 4, 4], nodes_per_switch: 4}"))
    long = load_point(write(text + "{name: torus-S}"))
    assert named.id == inline.id == long.id
    assert named.machine is not None
    assert inline.machine is not None
    assert (named.machine.label, inline.machine.label) == ("torus-S", "torus 4x4x4, 4 nodes a switch")
    other = load_point(write(text + "{name: torus-S, link: {latency: 1 us}}"))
    assert other.id != named.id
    assert other.canonical()["machine"]["link"] == {"bandwidth": 10**10, "latency": 10**6}
    assert other.canonical()["machine"]["logp"]["hop_latency"] == 10**6


def test_a_named_machine_on_other_base_parameters(write: Write) -> None:
    text = "ranks: 4\nworkload: {kind: allreduce, algorithm: ring}\nmachine: {name: torus-S, extends: base-manual71}"
    machine = load_point(write(text)).canonical()["machine"]
    assert machine["link"] == {"bandwidth": 6 * 10**9, "latency": 100_000}
    assert machine["injection"] == {"bandwidth": 10**10, "latency": 10**6, "service": "fifo"}
    assert (machine["buffer"], machine["geometry"]) == (32_768, [4, 4, 4])
    assert machine["crossbar"]["bandwidth"] == "unlimited"


def test_a_packet_too_large_for_the_buffer_of_a_file_is_told_of_the_packet(write: Write, line: Line) -> None:
    text = (
        "ranks: 16\nmachine: {name: torus-S, packet: 1 GB}\n"
        "workload: {kind: transposition, algorithm: burst, grid: [64, 64, 16]}"
    )
    assert line(load_point, write(text)) == (
        "x.yaml: machine.packet: found 1 GB, more than each of 2 virtual channels has of the buffer of 64 KB, which "
        "would deadlock; allowed: 32000 B or less (torus with minimal routing), or a larger buffer"
    )
    both = line(load_point, write(text.replace("packet", "buffer: 64 KB, packet")))
    assert both.startswith("x.yaml: machine.buffer: found 64 KB for 2 virtual channels, less than a packet of 1 GB")


def test_grid_by_name(write: Write) -> None:
    text = "ranks: 100\nmachine: torus-S\nworkload: {kind: halo, width: 3, grid: paper}"
    assert load_point(write(text)).canonical()["workload"]["grid"] == [28800, 14400, 256]


TRANSPOSITION = "kind: transposition, algorithm: ring-k, radix: 4, grid: [1440, 720, 64], decomposition: [16, 16]"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # keys
        (
            "topology:",
            "topolgy:",
            "machine.topolgy: unknown key 'topolgy'; did you mean 'topology'? allowed: name, ext",
        ),
        ("ranks:", "rank:", "rank: unknown key 'rank'; did you mean 'ranks'? allowed: ranks, workload, machine, alloc"),
        (
            "link: {bandwidth",
            "link: {bandwith",
            "machine.link.bandwith: unknown key 'bandwith'; did you mean 'bandwidth'?",
        ),
        (
            "radix: 4",
            "radix: 4, with: 3",
            "workload.with: unknown key 'with'; allowed: kind, algorithm, radix, grid, decompos",
        ),
        (
            "  packet",
            "  link.latency: 1 ns\n  packet",
            "machine.link.latency: unknown key 'link.latency'; allowed: name",
        ),
        ("ranks: 256\n", "", "ranks: missing; allowed: Number of MPI processes"),
        ("  geometry: [8, 8, 8]\n", "", "machine.geometry: missing; allowed: [X, Y, Z]: switches along each"),
        (f"workload: {{{TRANSPOSITION}}}\n", "", "workload: missing; allowed: What is communicated."),
        ("kind: transposition, ", "", "workload.kind: missing; allowed: transposition, halo, allreduce"),
        (
            ", radix: 4",
            "",
            "workload.radix: missing, but algorithm ring-k needs it; allowed: an integer from 1",
        ),
        # values
        ("torus ", "tors ", "machine.topology: found 'tors'; did you mean 'torus'? allowed: torus, fattree, dragonfly"),
        ("transposition,", "transpose,", "workload.kind: found 'transpose'; did you mean 'transposition'? allowed: tr"),
        ("ring-k", "ring", "workload.algorithm: found 'ring'; did you mean 'ring-k'? allowed: ring-k, burst, bruck"),
        ("ring-k", "burst", "workload.radix: found 4, but algorithm burst has none; allowed: only with ring-k"),
        (
            "routing: minimal",
            "routing: d-mod-k",
            "machine.routing: found 'd-mod-k' for topology torus; allowed: minimal,",
        ),
        (
            "10 GB/s, latency: 100 ns}\n  inj",
            "10, latency: 100 ns}\n  inj",
            "machine.link.bandwidth: found 10 without a un",
        ),
        (
            "latency: 100 ns}\n  inj",
            "latency: 100 B}\n  inj",
            "machine.link.latency: found unit 'B' in '100 B'; allowed",
        ),
        ("buffer: 64 KB", "buffer: 64 kb", "machine.buffer: found unit 'kb' in '64 kb'; did you mean '64 kB'? allowed"),
        ("ranks: 256", "ranks: 0", "ranks: found 0; allowed: a whole number, 1 or more"),
        ("ranks: 256", "ranks: many", "ranks: found 'many'; allowed: a whole number, 1 or more"),
        ("ranks: 256", "ranks: true", "ranks: found true; allowed: a whole number, 1 or more"),
        ("ranks: 256", "ranks: 2.5", "ranks: found 2.5; allowed: a whole number, 1 or more"),
        (
            "seed: 1",
            "seed: 9223372036854775808",
            "seed: found 9223372036854775808; allowed: a whole number, 0 to 2^63 - 1",
        ),
        ("[1440, 720, 64]", "[2147483648, 2, 2]", "[nx, ny, nz], each 1 to 2^31 - 1, or the name of a grid"),
        ("radix: 4", "radix: 1e20", "radix: found 100000000000000000000; allowed: a whole number, 1 to 2^63 - 1"),
        ("[8, 8, 8]", "[18446744073709551616, 1]", "allowed: numbers up to 2^63 - 1; a list of whole numbers, each 1"),
        (
            "first-available",
            "{nodes: [0, 2147483648]}",
            "found {nodes: [0, 2147483648]}; allowed: numbers up to 2^31 - 1; first-available, random, ",
        ),
        (
            "[8, 8, 8]",
            "{switches: [8, 8]}",
            "machine.geometry: found {switches: [8, 8]} for topology torus; allowed: [X, Y, Z]: switches along",
        ),
        ("[8, 8, 8]", "8", "machine.geometry: found 8; allowed: a list of whole numbers"),
        (
            "[1440, 720, 64]",
            "[1440, 720]",
            "workload.grid: found [1440, 720]; allowed: a list of whole numbers [nx, ny",
        ),
        (
            "[1440, 720, 64]",
            "papr",
            "workload.grid: found 'papr'; did you mean 'paper'? allowed: [nx, ny, nz] or a grid",
        ),
        (
            "substrate: simulator",
            "substrate: sst",
            "substrate: found 'sst'; allowed: simulator, mpi, simgrid, sstmacro",
        ),
        (
            "short_limit: 512 B",
            "short_limit: 9 KB",
            "machine.protocol.short_limit: found 9000 B; allowed: at most eager",
        ),
        # what several keys decide
        (
            "ranks: 256",
            "ranks: 1025",
            "ranks: found 1025 ranks on 1024 nodes; allowed: at most 1024, the nodes of torus",
        ),
        (
            "[16, 16]",
            "[16, 17]",
            "workload.decomposition: found [16, 17], that is 272 processes; allowed: cx * cy = 256",
        ),
        (
            "[16, 16]",
            "[128, 2]",
            "workload.decomposition: found cx = 128 > nz = 64; allowed: cx <= nz = 64 and cy <= ny",
        ),
        (
            "buffer: 64 KB",
            "buffer: 8 KB",
            "machine.buffer: found 8000 B for 2 virtual channels, less than a packet of 4096",
        ),
        ("ring-k, radix: 4", "bruck, radix: 1", "workload.radix: found 1; allowed: an integer from 2"),
        ("ring-k, radix: 4", "sliding-window", "workload.radix: missing, but algorithm sliding-window needs it"),
        (
            "ring-k, radix: 4",
            "pairwise, radix: 2",
            "found 2, but algorithm pairwise has none; allowed: only with ring-k, bruck, sliding-window",
        ),
        # options
        ("seed: 1", "noise: {duration: 2 ms}", "noise.duration: found 2 ms; allowed: less than the period, 1 ms"),
        ("seed: 1", "steady: {error: 1 %}", "steady.error: found 1 % with workload transposition; allowed: only with"),
        ("seed: 1", "steady: {error: 0.01}", "steady.error: found 0.01 without a unit; allowed: a number with a unit"),
        ("seed: 1", "steady: {stages: 0 %}", "steady.stages: found 0 %; allowed: more than 0 %, less than 100 %"),
        ("seed: 1", "steady: {stages: 100 %}", "steady.stages: found 100 %; allowed: more than 0 %, less than 100 %"),
        ("seed: 1", "steady: {stages: 50 %}", "steady.stages: found 50 % of 4 stages; allowed: only with more than 32"),
        (
            "seed: 1",
            "steady: {stages: 50 %, error: 1 %}",
            "steady.stages: found 50 % with workload transposition ring-k; allowed: only with transposition ring-k, ",
        ),
        (
            "seed: 1",
            "steady: {stages: 50 %}\nstatistics: {links: by-class}",
            "steady.stages: found 50 % with statistics.links by-class; allowed: only without",
        ),
        ("seed: 1", "steady: {error: 20 %}", "steady.error: found 20 %; allowed: at most 10 %"),
        ("seed: 1", "noise: {period: 1 h}", "noise.period: found unit 'h' in '1 h'; allowed: a number with a unit"),
        ("seed: 1", "noise: {period: 2000 s}", "noise.period: found '2000 s'; allowed: at most 1000 s; "),
        (
            "substrate: simulator",
            "substrate: mpi\nnoise: {duration: 1 us}",
            "noise: found some with substrate mpi; allowed: only with simulator",
        ),
        (
            "model: default",
            "model: pisces-16\n  overhead: {send: 1 us}",
            "machine.overhead: found some with model pisces-16; allowed: none",
        ),
        (
            "eager_limit: 8192 B",
            "expected_eager: none, eager_limit: 8192 B",
            "machine.protocol.expected_eager: found 'none'; allowed: copied, direct",
        ),
        (
            "model: default",
            "threads: {count: 8}",
            "machine.threads.lock_time: missing; allowed: a time, e.g. 100 ns, with 8 threads",
        ),
        (
            "model: default",
            "accelerator: {copy_latency: 1 us}",
            "machine.accelerator.copy_bandwidth: missing; allowed: e.g. 50 GB/s, or nic: device",
        ),
        (
            "model: default",
            "node: {copies: shared}",
            "machine.node.copies: found shared; allowed: own, or beside a memory_bandwidth",
        ),
        (
            "seed: 1",
            "statistics: {congestion: 513}",
            "statistics.congestion: found 513; allowed: a whole number, 0 to 512",
        ),
        # files
        (
            "ranks: 256",
            "ranks: 256\nranks: 16",
            "ranks: key 'ranks' stands there twice (line 2); allowed: each key once",
        ),
        ("[8, 8, 8]", "[8, 8, 8", "x.yaml: not YAML (line"),
    ],
)
def test_mistakes(write: Write, line: Line, sample: str, old: str, new: str, expected: str) -> None:
    assert old in sample
    text = line(load_point, write(sample.replace(old, new, 1)))
    assert text.startswith("x.yaml: ")
    assert expected in text


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "x.yaml: the file is empty; allowed: a mapping of keys to values"),
        ("- 1", "x.yaml: found [1]; allowed: a mapping of keys to values"),
        ("3", "x.yaml: found 3; allowed: a mapping"),
        ("ranks: 4\nworkload: 3\nmachine: torus-S", "x.yaml: workload: found 3; allowed: a mapping of keys to values"),
        ("ranks: 4\nmachine: 3", "x.yaml: machine: found 3; allowed: a mapping of keys to values, or a machine: drag"),
        (
            "machine: torus-X",
            "x.yaml: machine: found machine 'torus-X'; did you mean 'torus-S'? allowed: dragonfly-LS, ",
        ),
        ("machine: {name: torus-S, topology: torus}", "x.yaml: machine.topology: found 'torus'; allowed: either"),
        (
            "machine: {name: torus-S, extends: bas}",
            "x.yaml: machine.extends: found 'bas'; did you mean 'base'? allowed",
        ),
        (
            "machine: {name: torus-S, lnk: {latency: 1 ns}}",
            "x.yaml: machine.lnk: unknown key 'lnk'; did you mean 'link'?",
        ),
    ],
)
def test_mistaken_files(write: Write, line: Line, content: str, expected: str) -> None:
    assert line(load_point, write(content)).startswith(expected)


def test_missing_file(tmp_path: Path, line: Line) -> None:
    assert line(load_point, tmp_path / "none.yaml") == "none.yaml: no such file; allowed: an existing YAML file"
    assert "found a folder" in line(load_point, tmp_path)


def test_the_first_of_several_mistakes_is_the_misspelt_key(write: Write, line: Line, sample: str) -> None:
    text = sample.replace("ranks: 256", "ranks: x").replace("topology", "topolgy").replace("64 KB", "64")
    assert "machine.topolgy: unknown key" in line(load_point, write(text))
    assert line(load_point, write(text)).endswith("(and 2 more mistakes)")


def test_a_count_no_decomposition_fits(write: Write, line: Line) -> None:
    text = "ranks: 251\nmachine: torus-S\nworkload: {kind: transposition, algorithm: burst, grid: [100, 100, 100]}"
    expected = "x.yaml: ranks: found 251, which has no decomposition on the grid 100 x 100 x 100; allowed: a number of"
    assert line(load_point, write(text)).startswith(expected)


def test_a_halo_may_be_bisected(write: Write) -> None:
    text = "ranks: 97\nworkload: {kind: halo, width: 3, grid: [144, 72, 4], decomposition: bisection}\n"
    point = load_point(write(f"{text}machine: torus-M\n"))
    assert point.canonical()["workload"]["decomposition"] == "bisection"
    assert Point.from_canonical(point.canonical()).id == point.id


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        ("width: 3, grid: [9, 9, 4]", "ranks: found 97, too many to bisect 9 x 9 points; allowed: fewer"),
        (
            "width: 60, grid: [144, 72, 4]",
            "workload.width: found 60; allowed: at most 54, so that no process has its own",
        ),
        (
            "width: 3, grid: [144, 72, 4], algorithm: library",
            "found bisection with algorithm library; allowed: [cx, cy]",
        ),
        ("width: 3, grid: [144, 72, 4], decomposition: halves", "each 1 or more, or bisection"),
    ],
)
def test_what_cannot_be_bisected(write: Write, line: Line, workload: str, expected: str) -> None:
    asked = workload if "decomposition" in workload else f"{workload}, decomposition: bisection"
    path = write(f"ranks: 97\nworkload: {{kind: halo, {asked}}}\nmachine: torus-M\n")
    assert expected in line(load_point, path)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (
            "calls: sendrecv, algorithm: library",
            "workload.calls: found sendrecv with algorithm library; allowed: nothing:",
        ),
        (
            "buffers: explicit, algorithm: library-persistent",
            "workload.buffers: found explicit with algorithm library-persistent; allowed: nothing: the library decides",
        ),
        ("buffers: packed", "workload.buffers: found 'packed'; allowed: explicit, datatypes"),
    ],
)
def test_how_a_halo_is_sent_is_said_of_our_own_messages(write: Write, line: Line, keys: str, expected: str) -> None:
    path = write(f"ranks: 4\nworkload: {{kind: halo, width: 3, grid: [144, 72, 4], {keys}}}\nsubstrate: mpi\n")
    assert expected in line(load_point, path)


def test_the_bound_of_the_paper(write: Write, line: Line) -> None:
    """Z is divided by cx: 300 columns do not fit 256 levels (statement Z-T3)."""
    text = (
        "ranks: 30000\nmachine: torus-M\nworkload: {kind: transposition, algorithm: burst, grid: paper, decomposition: "
    )
    expected = "x.yaml: workload.decomposition: found cx = 300 > nz = 256; allowed: cx <= nz = 256 and cy <= ny = 14400"
    assert line(load_point, write(text + "[300, 100]}")) == expected
    assert load_point(write(text + "[100, 300]}")).ranks == 30000


@pytest.mark.parametrize(
    ("machine", "allocation", "line"),
    [
        (
            "{topology: dragonfly, geometry: [4, 4, 4], model: pisces-16}",
            "first-available",
            "machine.model: found pisces-16 for topology dragonfly, which SST/macro 16 has not; allowed: torus,",
        ),
        (
            "{topology: fattree, geometry: [2, 4], model: pisces-16}",
            "first-available",
            "machine.model: found pisces-16 for a full fat tree, which SST/macro 16 has not; allowed: torus,",
        ),
        (
            "{topology: fattree, geometry: {nodes_per_leaf: 4, leaves_per_subtree: 4, subtrees: 2}, model: pisces-16}",
            "first-available",
            "machine.routing: found 'd-mod-k' with model pisces-16; allowed: round-robin",
        ),
        (
            "{topology: torus, geometry: [2, 2, 2], model: pisces-16, injection: {service: round-robin}}",
            "first-available",
            "machine.injection.service: found 'round-robin' with model pisces-16; allowed: fifo",
        ),
        (
            "{topology: fattree, geometry: {nodes_per_leaf: 3, leaves_per_subtree: 2, subtrees: 2}, "
            "routing: round-robin, model: pisces-16}",
            "first-available",
            "machine.geometry: found 3 nodes_per_leaf with model pisces-16; allowed: a multiple of leaves_per_subtree",
        ),
        (
            "{topology: torus, geometry: [2, 2, 2], model: pisces-16, injection: {bandwidth: 9 MB/s}}",
            "first-available",
            "machine.injection.bandwidth: found 9 MB/s with model pisces-16; allowed: 10 MB/s to 200 TB/s",
        ),
        (
            "{topology: torus, geometry: [2, 2, 2], model: pisces-16, link: {bandwidth: 100 TB/s}}",
            "first-available",
            "machine.crossbar.bandwidth: found 800 TB/s with model pisces-16; allowed: 10 MB/s to 200 TB/s",
        ),
        (
            "{topology: torus, geometry: [2, 2, 2], model: pisces-16}",
            "random",
            "allocation: found random with model pisces-16; allowed: first-available",
        ),
    ],
)
def test_pisces_16_is_what_sst_macro_16_has(tmp_path: Path, machine: str, allocation: str, line: str) -> None:
    file = tmp_path / "point.yaml"
    workload = "{kind: allreduce, algorithm: recursive-k, radix: 2}"
    file.write_text(f"ranks: 4\nworkload: {workload}\nmachine: {machine}\nallocation: {allocation}\n")
    with pytest.raises(InputError) as error:
        load_point(file)
    assert f"{file}: {line}" in str(error.value)


@pytest.mark.parametrize(
    ("machine", "line"),
    [
        ("link: {latency: 0 ns}", "machine.link.latency: found '0 ns'; allowed: more than zero"),
        ("logp: {out_in_latency: 0 ns}", "machine.logp.out_in_latency: found '0 ns'; allowed: more than zero"),
        ("buffer: 4 GB", "machine.buffer: found 4 GB; allowed: at most 2147483647 B"),
    ],
)
def test_what_the_simulator_could_not_count_is_refused(tmp_path: Path, machine: str, line: str) -> None:
    file = tmp_path / "point.yaml"
    workload = "{kind: allreduce, algorithm: recursive-k, radix: 2}"
    file.write_text(f"ranks: 4\nworkload: {workload}\nmachine: {{topology: torus, geometry: [2, 2, 2], {machine}}}\n")
    with pytest.raises(InputError) as error:
        load_point(file)
    assert str(error.value).startswith(f"{file}: {line}")


OPTIMAL = "ranks: 8\nmachine: torus-S\nworkload: {{kind: allreduce, algorithm: recursive-k, radix: {}}}\n"


def test_an_optimal_radix_says_what_is_searched(tmp_path: Path) -> None:
    file = tmp_path / "point.yaml"
    file.write_text(OPTIMAL.format("optimal"))
    point = load_point(file)
    workload = point.canonical()["workload"]
    assert workload == {
        "kind": "allreduce",
        "algorithm": "recursive-k",
        "radix": "optimal",
        "radices": [2, 32],
        "exhaustive": False,
        "count": 3,
        "repeats": 50,
    }
    assert type(point).from_canonical(point.canonical()).id == point.id
    file.write_text(OPTIMAL.format("optimal, radices: [2, 32], exhaustive: false"))
    assert load_point(file).id == point.id
    file.write_text(OPTIMAL.format("optimal, radices: [4, 8], exhaustive: true"))
    assert load_point(file).id != point.id


def test_only_the_simulator_searches(tmp_path: Path) -> None:
    file = tmp_path / "point.yaml"
    file.write_text(OPTIMAL.format("optimal") + "substrate: simgrid\n")
    with pytest.raises(InputError, match=r"workload\.radix: found optimal with substrate simgrid"):
        load_point(file)


@pytest.mark.parametrize(
    ("radix", "line"),
    [
        ("best", "workload.radix: found 'best'; allowed: a whole number, 2 or more, or optimal"),
        ("optimum", "workload.radix: found 'optimum'; did you mean 'optimal'? allowed: a whole number, 2 or more, or"),
        ("1", "workload.radix: found 1; allowed: a whole number, 2 or more, or optimal"),
        ("4, radices: [2, 32]", "workload.radices: found radix 4; allowed: only with radix optimal"),
        ("optimal, radices: [8, 4]", "workload.radices: found [8, 4]; allowed: [first, last] with 2 <= first <= last"),
        ("optimal, exhaustive: maybe", "workload.exhaustive: found 'maybe'; allowed: "),
    ],
)
def test_a_mistaken_search_is_one_line(tmp_path: Path, radix: str, line: str) -> None:
    file = tmp_path / "point.yaml"
    file.write_text(OPTIMAL.format(radix))
    with pytest.raises(InputError) as error:
        load_point(file)
    assert str(error.value).startswith(f"{file}: {line}")


def test_a_canonical_point_in_a_file_is_the_point(tmp_path: Path) -> None:
    point, file = Point.from_canonical(CANONICAL), tmp_path / "point.json"
    file.write_text(json.dumps(point.canonical()))
    assert load_point(file) == point
    file.write_text(json.dumps({"id": point.id, "point": point.canonical(), "result": {"time_s": 1.0}}))
    assert load_point(file).id == point.id
    assert load_point(file, "simgrid").id == point.changed(substrate="simgrid").id != point.id


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"machine": CANONICAL["machine"] | {"topology": "klein-bottle"}}, "machine.topology: found 'klein-bottle'"),
        ({"machine": CANONICAL["machine"] | {"packet": -1}}, "machine.packet: found -1; allowed: more than zero"),
        ({"machine": CANONICAL["machine"] | {"buffer": 1.5}}, "machine.buffer: found 1.5 without a unit"),
        ({"ranks": "many"}, "ranks: found 'many'"),
        ({"workload": {"kind": "sort"}}, "workload.kind: found 'sort'; allowed: transposition, halo, allreduce"),
        ({"colour": 1}, "unknown key 'colour'"),
    ],
)
def test_a_bad_canonical_point_is_refused_in_one_line(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    file = tmp_path / "point.json"
    for key, content in (("", CANONICAL | change), ("point.", {"point": CANONICAL | change})):
        file.write_text(json.dumps(content))
        with pytest.raises(InputError) as caught:
            load_point(file)
        line = str(caught.value)
        assert line.startswith(f"{file}: ")
        assert said in line
        assert "\n" not in line
        assert f": {key}" in line


@pytest.mark.parametrize(("text", "said"), [("{", "not JSON"), ("[]", "a mapping of keys to values"), ("", "not JSON")])
def test_a_file_without_a_canonical_point_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "point.json"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        load_point(file)


def test_a_changed_copy_has_an_identity_of_its_own() -> None:
    point = Point.from_canonical(CANONICAL)
    assert point.id == IDENTITY
    assert point.changed(seed=7).id not in (point.id, point.changed(seed=8).id)
    assert point.changed(seed=7).changed(seed=point.seed).id == point.id


def test_ranks_that_are_missing_and_names_in_a_canonical_form_are_told_what_to_do(write: Write, line: Line) -> None:
    missing = write("{machine: torus-S, workload: {kind: halo, width: 3, grid: [64, 64, 8]}}")
    expected = "x.yaml: ranks: missing; allowed: Number of MPI processes: a whole number, 1 or more."
    assert line(load_point, missing).startswith(expected)
    machine = {"topology": "torus", "geometry": [4, 4], "nodes_per_switch": 1}
    named = {"ranks": 4, "machine": machine, "workload": {"kind": "halo", "width": 3, "grid": "tiny"}}
    allowed = "allowed: what it stands for, in canonical form; write YAML for names"
    assert line(load_point, write(json.dumps(named), "p.json")) == f"p.json: workload.grid: found 'tiny'; {allowed}"
    named |= {"machine": "torus-S", "workload": {"kind": "halo", "width": 3, "grid": [64, 64, 8]}}
    assert line(load_point, write(json.dumps(named), "p.json")) == f"p.json: machine: found 'torus-S'; {allowed}"
