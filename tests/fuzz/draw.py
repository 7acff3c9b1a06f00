"""Draws broken inputs: valid files with bytes, nodes, types and sizes changed, random expressions and command lines.

The same seed draws the same inputs.
"""

import copy
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

POINT = """\
ranks: 16
workload: {kind: transposition, algorithm: ring-k, radix: 4, grid: [64, 64, 16], decomposition: [4, 4]}
machine: {topology: torus, geometry: [4, 4, 4], nodes_per_switch: 2, routing: minimal, packet: 4096 B, buffer: 64 KB,
  link: {bandwidth: 10 GB/s, latency: 100 ns}, injection: {bandwidth: 10 GB/s, latency: 100 ns, service: fifo},
  crossbar: {bandwidth: 80 GB/s}, protocol: {eager_limit: 8192 B, short_limit: 512 B, negligible_size: 0 B},
  overhead: {send: 1 us, receive: 1 us, send_per_byte: 20 ps}, matching: {posted: 1 ns}, threads: {count: 2,
  lock_time: 1 ns}, unpack: {per_byte: 20 ps, order: fixed}, accelerator: {copy_bandwidth: 50 GB/s, copy_latency: 1 us},
  memory: {bandwidth: 1 TB/s}, processor: {frequency: 2 GHz}, model: default}
allocation: first-available
substrate: simulator
seed: 1
start_jitter: 1 ns
noise: {duration: 25 us, period: 1 ms, pattern: random}
statistics: {congestion: 4}
"""
#: Points of other kinds, and files that points refer to.
EXAMPLES = "tests/fuzz/examples"
#: Kind of an input, and the files it is made from.
SOURCES = {
    "point": ("", *(f"{EXAMPLES}/{name}.yaml" for name in ("program", "roles", "jobs", "pattern", "trace"))),
    "experiment": (
        "configs/experiments/fig05a-alltoall-algorithms.yaml",
        "configs/experiments/fig09d-pattern.yaml",
        "configs/experiments/time-step-spectral.yaml",
        "configs/experiments/monc-epoch.yaml",
        "configs/experiments/interference.yaml",
    ),
    "machine": (
        "configs/machines/torus-S.yaml",
        "configs/machines/base.yaml",
        "configs/machines/fattree-S.yaml",
        "configs/machines/leonardo.yaml",
        "configs/machines/slimfly-S.yaml",
        "configs/machines/xc30.yaml",
    ),
    "grids": ("configs/workloads/grids.yaml",),
    "system": ("configs/systems/generic.yaml", "configs/systems/slurm-local.yaml"),
    "claims": ("configs/claims/brown2018.yaml", "configs/claims/zheng2018.yaml"),
    "judgement": ("configs/claims/judgement.yaml",),
    "references": ("configs/references.yaml",),
    "study": ("configs/samples/zheng2018.yaml", "configs/samples/zheng2018-networks.yaml"),
    "plausible": ("configs/plausible/zheng2018.yaml",),
    "libraries": ("configs/libraries.yaml",),
}
#: Files that are no YAML: what each is made from, where it lies, and what is asked about it: a file that refers to it.
REFERRED = {
    "pattern": ("configs/patterns/icosahedron-16.csv", "configs/patterns/icosahedron-16.csv", "pattern.yaml"),
    "graph": ("configs/machines/slimfly-S.csv", "configs/machines/slimfly-S.csv", "graph.yaml"),
    "trace": (f"{EXAMPLES}/trace.goal", "trace.goal", "trace.yaml"),
}
#: What a benchmark of others printed.
PRINTED, PRINTED_FILE = "printed", "osu.txt"
#: What should be a batch of a plan, or the manifest of an experiment.
BATCH, MANIFEST, PLANNED_FILE = "batch", "manifest", "results/plan/smoke/foreign.json"
#: The commands that read files of these kinds.
READ_BY = {
    PRINTED: ("measured", f"pairwise={PRINTED_FILE}", "--machine=torus-S", "--nodes=4", "--output=measured.csv"),
    BATCH: ("run-batch", PLANNED_FILE),
    MANIFEST: ("collate", PLANNED_FILE, "foreign.nc"),
}
TABLE, WHERE, COMMAND = "table", "where", "command"
KINDS = (*SOURCES, *REFERRED, PRINTED, TABLE, WHERE, COMMAND)

_DEEP: Any = 1
for _ in range(60):
    _DEEP = [_DEEP]
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 3, 2.5, -0.0, 1e300, 1e-300, 10**9, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 10**30),
    *(
        "",
        " ",
        "x",
        "0",
        "-1",
        "1e9",
        "1e999",
        "nan",
        "inf",
        "0020",
        "1_0",
        "٣",
        "１０ GB/s",
        "²",
        "10 GB/s",
        "1e99 GB/s",
    ),
    *("1e-99 s", "1e999999999 s", "9" * 80 + " B", "-1 ns", "1 ns", "1000 ps", "0 B", "1 TB", "1 KiB", "0.3 ps", "1 s"),
    *(
        "all",
        "none",
        "optimal",
        "bisection",
        "library",
        "$x",
        "$machine",
        "a.b",
        "../../x",
        "/etc/passwd",
        "a b",
        "a'b",
    ),
    *(
        "é",
        "\n",
        "\t",
        "\\",
        "{}",
        "[]",
        "*a",
        "&a",
        "!!int 1",
        "torus",
        "torus-S",
        "dragonfly",
        "tiny",
        "generic",
        "mpi",
    ),
    *(
        "ranks > 3",
        "ranks >",
        "9**9**9",
        "'%99999999d' % 1",
        "[0]*10**9",
        "(" * 300,
        "a" * 3000,
        "[",
        "(a+)+$",
        '"',
        "A=B",
    ),
    *(
        [],
        [1],
        [0, 0, 0],
        [1, 1, 1],
        [10**9] * 3,
        [2**31 - 1] * 3,
        ["x"],
        [None],
        [[1, 2]],
        [{}],
        list(range(400)),
        _DEEP,
    ),
    *({}, {"a": 1}, {"decades": [1, 10**9]}, {"decades": 3}, {"decades": [1, 100], "steps": [0]}, {"name": "torus-S"}),
    *(
        {"kind": "halo"},
        {"kind": "halo", "width": 10**6, "grid": "tiny"},
        {"": 1},
        {"nodes": [0, 0]},
        {"nodes": [2**31]},
    ),
)
KEYS = (
    "x",
    "ranks",
    "machine",
    "workload.radix",
    "a.b.c",
    "machine.link",
    "1",
    "",
    "extends",
    "name",
    "$x",
    "member",
    "kind",
)
SNIPPETS = (
    *(
        b"[",
        b"{",
        b"}",
        b"]",
        b": ",
        b"- ",
        b"\n",
        b"\t",
        b"\x00",
        b"\xff",
        b"\xc3\xa9",
        b"&a ",
        b"*a",
        b"<<: *a\n",
        b"!!int ",
    ),
    *(
        b"'",
        b'"',
        b"#",
        b"%YAML 1.1\n---\n",
        b"---\n",
        b"? ",
        b"|\n",
        b">\n",
        b"0x",
        b"e999999",
        b"9" * 5000,
        b"[" * 500,
    ),
    *(
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        b'"\\uD800"',
        b".inf",
        b"~",
        b"1_000",
        b"0020",
        b"\r\n",
        b"\xe2\x80\xa8",
        b"$x",
    ),
)
WORDS = (
    *(
        "ranks",
        "member",
        "series",
        "grid",
        "nope",
        "True",
        "None",
        "1",
        "0",
        "2",
        "10**9",
        "3.5",
        "1e999",
        "'burst'",
        "''",
    ),
    *(
        "[1, 2]",
        "(",
        ")",
        "[",
        "]",
        "+",
        "-",
        "*",
        "/",
        "//",
        "%",
        "**",
        "==",
        "!=",
        "<",
        ">",
        "in",
        "not",
        "and",
        "or",
        "is",
    ),
    *(
        "if",
        "else",
        "for",
        "lambda",
        "max(",
        "len(",
        "str(",
        "int(",
        "round(",
        ".format(",
        ".__class__",
        "f'{1:>99}'",
        ",",
    ),
    *("open('x')", "__import__('os')", "'%0999999999d'", "[0]", "10**400", "²", "é", "\\", "\x00", ":=", "~", "@", "'"),
)
COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "validate": ((), ()),
    "describe": (("fig09d",), ("--scale",)),
    "picture": (("torus-S",), ("--output",)),
    "timeline": (("program.yaml",), ("--output", "--ranks", "--threads")),
    "utilisation": (("nope.yaml",), ("--output", "--threads")),
    "goal": (("program.yaml",), ("--output",)),
    "extrapolate": (("trace.goal", "trace.goal"), ("--ranks", "--output", "--grid", "--collectives")),
    "estimate": (("fig09d",), ("--scale", "--where", "--json")),
    "compare": (
        ("nope.csv",),
        ("--model", "--against", "--members", "--jitter", "--cores", "--dataset", "--predictions"),
    ),
    "measured": (("pairwise=osu.txt", "--machine=torus-S"), ("--machine", "--nodes", "--output", "--shape", "--date")),
    "calibrate": ((), ("--output", "--system", "--partition", "--environment", "--ranks", "--measured", "--machine")),
    "reproduce": ((), ("--scale", "--experiments", "--memory", "--profile", "--where", "--threads", "--cores")),
    "plan": (("--scale=smoke", "--experiments=nope"), ("--scale", "--experiments", "--cores", "--memory")),
    "publish": (("--experiments=nope",), ("--experiments", "--scale", "--least")),
    "new-experiment": ((), ()),
    "claims": ((), ("--scale",)),
    "verify": (("nope",), ("--scale", "--sample", "--seed")),
    "archive": (("nope.zip",), ("--scale",)),
    "run": (("nope.yaml",), ("--substrate", "--memory", "--threads", "--device", "--checkpoint")),
    "run-batch": (("nope.json",), ("--threads",)),
    "collate": (("nope.json", "x.nc"), ()),
    "pattern from-partition": (
        ("--output=x.csv", "--icosahedron=4", "--cells=hexagons", "--parts=4"),
        (
            "--output",
            "--bytes",
            "--grid",
            "--icosahedron",
            "--cells",
            "--parts",
            "--partition",
            "--width",
            "--messages",
        ),
    ),
    "pattern elements": (
        ("--output=x.csv", "--cubed-sphere=4", "--parts=6"),
        ("--output", "--cubed-sphere", "--mesh", "--parts", "--partition", "--neighbours", "--points", "--bytes"),
    ),
    "pattern from-matrix": (("osu.txt", "--output=x.csv"), ("--output",)),
    "graph slim-fly": (("5", "--output=x.csv"), ("--output", "--parallel")),
    "graph polarfly": (("3", "--output=x.csv"), ("--output", "--parallel")),
    "graph jellyfish": (
        ("--output=x.csv", "--switches=20", "--links=3"),
        ("--output", "--switches", "--links", "--seed"),
    ),
    "graph from-machine": (("torus-S", "--output=x.csv"), ("--output",)),
}
"""Commands with arguments that cost little, and options that take a broken value: each line has a mistake, mostly."""
BROKEN_WORDS = (
    *(
        "",
        " ",
        "nope",
        "²",
        "１GB",
        "inf",
        "-infGB",
        "1e400GB",
        "1e999999999 s",
        "-1",
        "nan",
        "../x",
        "/nowhere/x",
        "a b",
    ),
    *(
        "\n",
        "é",
        "--",
        "-x",
        "9" * 400,
        "'",
        "[",
        "0x10",
        "1_0GB",
        "all all",
        "x" * 5000,
        "$(touch x)",
        "; touch x",
        "0 s x",
    ),
)


@dataclass(frozen=True)
class Drawn:
    """A broken input.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    number : int
        Which one of its seed.
    file : str
        Where it is to lie below a project; of expressions and command lines nothing.
    content : bytes
        What the file holds, or the expression.
    words : tuple of str
        The command line.
    told : str
        What the line that refuses it says; of what is drawn nothing.
    """

    kind: str
    number: int
    file: str = ""
    content: bytes = b""
    words: tuple[str, ...] = ()
    told: str = ""


def draw(seed: int, count: int, root: Path) -> Iterator[Drawn]:
    """Yield `count` inputs; `root` is the checkout whose files are broken."""
    for number in range(count):
        generator = random.Random(f"{seed}-{number}")
        kind = generator.choice(KINDS)
        if kind == WHERE:
            yield Drawn(kind, number, content=_expression(generator).encode(errors="surrogatepass"))
        elif kind == COMMAND:
            yield Drawn(kind, number, words=_line(generator))
        elif kind == TABLE:
            yield Drawn(kind, number, "drawn.csv", _cells(generator, root))
        elif kind in REFERRED or kind == PRINTED:
            source, place, _ = REFERRED.get(kind, (f"{EXAMPLES}/{PRINTED_FILE}", PRINTED_FILE, ""))
            yield Drawn(kind, number, place, _tokens(generator, (root / source).read_bytes()))
        else:
            name = generator.choice(SOURCES[kind])
            text = (root / name).read_text(encoding="utf-8") if name else POINT
            broken = _bytes(generator, text.encode()) if generator.random() < 0.3 else _nodes(generator, text)
            yield Drawn(kind, number, "drawn.yaml" if kind == "point" else name, broken)


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of everything inside `node`."""
    keys = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else []
    return [found for key in keys for found in [(*path, key), *places(node[key], (*path, key))]]


def _nodes(generator: random.Random, text: str) -> bytes:
    data = YAML(typ="safe", pure=True).load(text)
    for _ in range(generator.choice((1, 1, 1, 2, 4))):
        inside = places(data)
        if not inside:
            break
        *outer, last = generator.choice(inside)
        node: Any = data
        for key in outer:
            node = node[key]
        action = generator.choice(("replace", "replace", "replace", "remove", "add", "rename", "copy", "double"))
        if action == "remove":
            del node[last]
        elif action == "add" and isinstance(node, dict):
            node[generator.choice(KEYS)] = copy.deepcopy(generator.choice(ODD))
        elif action == "rename" and isinstance(node, dict):
            node[f"{last}{generator.choice(('x', ' ', '.', '/', 'é'))}"] = node.pop(last)
        elif action == "copy":
            *elsewhere, end = generator.choice(inside)
            other: Any = data
            for key in elsewhere:
                other = other[key]
            node[last] = copy.deepcopy(other[end])
        elif action == "double" and isinstance(node, list):
            node.extend(copy.deepcopy(node))
        else:
            node[last] = copy.deepcopy(generator.choice(ODD))
    return json.dumps(data, ensure_ascii=False, indent=1).encode(errors="surrogatepass")


def _tokens(generator: random.Random, content: bytes) -> bytes:
    """Change words and numbers of a text, or its lines, or else its bytes."""
    if generator.random() < 0.3:
        return _bytes(generator, content)
    for _ in range(generator.choice((1, 1, 1, 2, 4))):
        if generator.random() < 0.3:
            lines = content.splitlines(keepends=True)
            line = generator.randrange(len(lines))
            action = generator.choice(("remove", "double", "swap"))
            if action == "remove":
                del lines[line]
            elif action == "double":
                lines *= generator.choice((2, 3))
            else:
                other = generator.randrange(len(lines))
                lines[line], lines[other] = lines[other], lines[line]
            content = b"".join(lines)
        else:
            words = re.split(rb"(\W+)", content)
            at = 2 * generator.randrange(len(words) // 2 + 1)
            words[at] = str(generator.choice((*ODD, *map(bytes.decode, words[::2][:40])))).encode(errors="replace")
            content = b"".join(words)
        if not content:
            break
    return content


def _bytes(generator: random.Random, content: bytes) -> bytes:
    for _ in range(generator.choice((1, 1, 2, 5))):
        at = generator.randrange(len(content) + 1)
        until = min(len(content), at + generator.choice((0, 0, 1, 3, 20)))
        new = generator.choice((*SNIPPETS, bytes([generator.randrange(256)]), content[at : at + 200], b""))
        content = content[:at] + new + content[until:]
    return content


def _cells(generator: random.Random, root: Path) -> bytes:
    lines = (root / "validation/sstmacro-16.0.csv").read_text(encoding="utf-8").splitlines()
    rows = [lines[0].split(","), *(line.split(",") for line in generator.sample(lines[1:], 2))]
    for _ in range(generator.choice((1, 1, 2, 3))):
        row = generator.choice((0, 1, 1, 1, 2))
        column = generator.randrange(len(rows[row]))
        odd = generator.choice((*ODD, *generator.choice(rows)))
        action = generator.choice(("replace", "replace", "replace", "remove", "swap"))
        if action == "remove":
            del rows[row][column]
        elif action == "swap":
            other = generator.randrange(len(rows[row]))
            rows[row][column], rows[row][other] = rows[row][other], rows[row][column]
        else:
            rows[row][column] = str(odd)
    content = "\n".join(",".join(row) for row in rows).encode(errors="surrogatepass")
    return _bytes(generator, content) if generator.random() < 0.2 else content


def _expression(generator: random.Random) -> str:
    words = [generator.choice(WORDS) for _ in range(generator.choice((1, 2, 3, 3, 5, 8)))]
    text = generator.choice((" ", "")).join(words) * generator.choice((1, 1, 1, 1, 300))
    return f"{generator.choice(('ranks == ', 'not ', ''))}{text}"


def _line(generator: random.Random) -> tuple[str, ...]:
    command = generator.choice(list(COMMANDS))
    odd = generator.choice(BROKEN_WORDS)
    arguments, options = COMMANDS[command]
    # What is not looked at first must not set a campaign going.
    end = {"reproduce": ("--no-run", "--experiments=nope"), "calibrate": ("--output=nope.txt",)}.get(command, ())
    if not options or generator.random() < 0.4:
        words = [odd if word[0] != "-" else word for word in arguments]
        ends = ("--nope",) if end or command == "claims" else ()
        return (*command.split(), *words, *(() if odd in words else (odd,)), *ends)
    return (*command.split(), *arguments, f"{generator.choice(options)}={odd}", *end)
