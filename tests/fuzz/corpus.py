"""The corpus of broken inputs: data in `corpus/`, from which more than a thousand inputs are made."""

import copy
import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.fuzz.draw import BATCH, COMMAND, MANIFEST, PLANNED_FILE, POINT, TABLE, WHERE, Drawn

FOLDER = Path(__file__).parent / "corpus"
_REPEATED = re.compile(r"\{(.[^{}]*|[{}])\*([0-9]+)\}", re.DOTALL)
_ROW = (
    "topo=torus444x1 routing=minimal P=4 cx=2 cy=2 op=transpose what=all alg=ring k=1 w=20 reps=1 nx=8 ny=8 nz=8 "
    "bw_GBs=10 inj_bw_GBs=10 xbar_bw_GBs=70 lat_ns=100 inj_lat_ns=100 mtu=4096 credits=64KB eager=8192B vshort=512B "
    "negligible=0 allocation=first_available seed=42 tspan_s=1e-6 status=ok"
)
_PLACES = {
    "experiment": "configs/experiments/broken.yaml",
    "machine": "configs/machines/broken.yaml",
    "grids": "configs/workloads/grids.yaml",
    "point": "broken.yaml",
    BATCH: PLANNED_FILE,
    MANIFEST: PLANNED_FILE,
}
#: Kind, file, content, and what the line that refuses it says.
_Input = tuple[str, str, bytes, str]


def corpus(root: Path) -> Iterator[Drawn]:
    """Yield all inputs; `root` is the checkout whose files are changed."""
    for number, (kind, file, content, told) in enumerate([*_values(), *_texts(), *_edits(root), *_names(root)]):
        yield Drawn(kind, number, file, content, told=told)
    lines = _read("lines.yaml")
    for number, text in enumerate(lines["where"]):
        yield Drawn(WHERE, number, content=_long(text).encode())
    for number, given in enumerate(lines["commands"]):
        words, told = _told(given, "words")
        yield Drawn(COMMAND, number, words=tuple(map(_long, words)), told=told)


def _read(name: str) -> Any:
    return YAML(typ="safe", pure=True).load((FOLDER / name).read_text(encoding="utf-8"))


def _long(text: str) -> str:
    return _REPEATED.sub(lambda found: found[1] * int(found[2]), text)


def _told(given: Any, what: str) -> tuple[Any, str]:
    """Return an input, and what the line that refuses it says, where that is given."""
    return (given[what], given["told"]) if isinstance(given, dict) else (given, "")


def _changed(data: Any, values: dict[str, Any]) -> bytes:
    result = copy.deepcopy(data)
    for path, value in values.items():
        *outer, last = path.split(".")
        node = result
        for key in outer:
            node = node[int(key)] if isinstance(node, list) else node.setdefault(key, {})
        node[int(last) if isinstance(node, list) else last] = value
    return json.dumps(result, ensure_ascii=False).encode()


def _at(file: str, key: str) -> str:
    """Return how a line about a key, or one inside it, begins."""
    return f"{Path(file).name}: " + re.sub("[.]([0-9]+)", r"[\1]", key)


def _values() -> Iterator[_Input]:
    point, file = YAML(typ="safe", pure=True).load(POINT), _PLACES["point"]
    for kind in _read("values.yaml").values():
        for key in kind["keys"]:
            for value in kind["values"]:
                yield "point", file, _changed(point, {key: value}), _at(file, key)


def _texts() -> Iterator[_Input]:
    for kind, texts in _read("texts.yaml").items():
        for given in texts:
            text, told = _told(given, "text")
            yield kind, _PLACES[kind], _long(text).encode(), told


def _edits(root: Path) -> Iterator[_Input]:
    for kind, given in _read("edits.yaml").items():
        if kind == TABLE:
            yield from _tables(given)
            continue
        file = given["file"]
        data = YAML(typ="safe", pure=True).load((root / file).read_text(encoding="utf-8"))
        for key, values in given["edits"].items():
            for value in values:
                yield kind, file, _changed(data, {key: value}), _at(file, key)
        for more in given.get("more", ()):
            yield kind, file, _changed(data, more["edits"]), more["told"]


def _tables(given: Any) -> Iterator[_Input]:
    row, file = dict(cell.split("=") for cell in _ROW.split()), "broken.csv"
    for column, values in given["edits"].items():
        for value in values:
            yield TABLE, file, _csv({**row, column: value}), f"line 2, {column}: "
    for more in given["more"]:
        yield TABLE, file, _csv({**row, **more["edits"]}), more["told"]
    yield TABLE, file, _csv(row).replace(b"topo,routing", b"topo,topo"), "column 'topo' stands there twice"
    yield TABLE, file, b"", "the file is empty"


def _csv(row: dict[str, str]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([row.keys(), row.values()])
    return text.getvalue().encode()


def _names(root: Path) -> Iterator[_Input]:
    for folder, like in (("experiments", "fig09d-pattern"), ("machines", "torus-S"), ("systems", "generic")):
        content = (root / f"configs/{folder}/{like}.yaml").read_bytes()
        for name in map(_long, _read("lines.yaml")["names"]):
            yield "name", f"configs/{folder}/{name}.yaml", content, "found the file name "
