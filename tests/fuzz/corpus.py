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

from tests.fuzz.draw import COMMAND, POINT, TABLE, WHERE, Drawn

FOLDER = Path(__file__).parent / "corpus"
_REPEATED = re.compile(r"\{(.[^{}]*|[{}])\*([0-9]+)\}", re.DOTALL)
_ROW = (
    "topo=torus444x1 routing=minimal P=4 cx=2 cy=2 op=transpose what=all alg=ring k=1 w=20 reps=1 nx=8 ny=8 nz=8 "
    "bw_GBs=10 inj_bw_GBs=10 xbar_bw_GBs=70 lat_ns=100 inj_lat_ns=100 mtu=4096 credits=64KB eager=8192B vshort=512B "
    "negligible=0 allocation=first_available seed=42 tspan_s=1e-6 status=ok"
)
_PLACES = {"machine": "configs/machines/broken.yaml", "grids": "configs/workloads/grids.yaml", "point": "broken.yaml"}


def corpus(root: Path) -> Iterator[Drawn]:
    """Yield all inputs; `root` is the checkout whose files are changed."""
    for number, (kind, file, content) in enumerate([*_values(), *_texts(), *_edits(root), *_names(root)]):
        yield Drawn(kind, number, file, content)
    lines = _read("lines.yaml")
    for number, text in enumerate(lines["where"]):
        yield Drawn(WHERE, number, content=_long(text).encode())
    for number, words in enumerate(lines["commands"]):
        yield Drawn(COMMAND, number, words=tuple(map(_long, words)))


def _read(name: str) -> Any:
    return YAML(typ="safe", pure=True).load((FOLDER / name).read_text(encoding="utf-8"))


def _long(text: str) -> str:
    return _REPEATED.sub(lambda found: found[1] * int(found[2]), text)


def _changed(data: Any, keys: list[str], value: Any) -> bytes:
    result = copy.deepcopy(data)
    node = result
    for key in keys[:-1]:
        node = node[int(key)] if isinstance(node, list) else node.setdefault(key, {})
    node[keys[-1]] = value
    return json.dumps(result, ensure_ascii=False).encode()


def _values() -> Iterator[tuple[str, str, bytes]]:
    point = YAML(typ="safe", pure=True).load(POINT)
    for kind in _read("values.yaml").values():
        for key in kind["keys"]:
            for value in kind["values"]:
                yield "point", _PLACES["point"], _changed(point, key.split("."), value)


def _texts() -> Iterator[tuple[str, str, bytes]]:
    for kind, texts in _read("texts.yaml").items():
        for text in texts:
            yield kind, _PLACES[kind], _long(text).encode()


def _edits(root: Path) -> Iterator[tuple[str, str, bytes]]:
    for kind, given in _read("edits.yaml").items():
        if kind == TABLE:
            row = dict(cell.split("=") for cell in _ROW.split())
            for column, values in given["edits"].items():
                for value in values:
                    yield kind, "broken.csv", _csv({**row, column: value})
            yield kind, "broken.csv", _csv(row).replace(b"topo,routing", b"topo,topo")
            yield kind, "broken.csv", b""
            continue
        data = YAML(typ="safe", pure=True).load((root / given["file"]).read_text(encoding="utf-8"))
        for key, values in given["edits"].items():
            for value in values:
                yield kind, given["file"], _changed(data, key.split("."), value)


def _csv(row: dict[str, str]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([row.keys(), row.values()])
    return text.getvalue().encode()


def _names(root: Path) -> Iterator[tuple[str, str, bytes]]:
    for folder, like in (("experiments", "fig09d-pattern"), ("machines", "torus-S"), ("systems", "generic")):
        content = (root / f"configs/{folder}/{like}.yaml").read_bytes()
        for name in map(_long, _read("lines.yaml")["names"]):
            yield "name", f"configs/{folder}/{name}.yaml", content
