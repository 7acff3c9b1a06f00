"""Every quantity of a point has bounds: what lies far outside is refused by the name of its key."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from tramontane.errors import InputError
from tramontane.study import Point, load_point
from tramontane.study.values.units import Quantity

POINT: dict[str, Any] = {
    "ranks": 16,
    "machine": {"topology": "torus", "geometry": [4, 4, 2], "nodes_per_switch": 2},
    "workload": {"kind": "halo", "grid": [64, 64, 8]},
}


def quantities(model: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[tuple[str, Quantity]]:
    """Yield the keys of a model, at any depth, that are quantities."""
    for name, field in model.model_fields.items():
        within = [
            field.annotation,
            *(inner for each in get_args(field.annotation) for inner in (each, *get_args(each))),
        ]
        for each in (*field.metadata, *within):
            if isinstance(each, Quantity):
                yield ".".join((*path, name)), each
            elif isinstance(each, type) and issubclass(each, BaseModel) and name != "workload":
                yield from quantities(each, (*path, name))


KEYS = dict(quantities(Point))


def test_there_are_keys() -> None:
    assert {"start_jitter", "machine.link.latency", "machine.node.stripe_above"} <= KEYS.keys()


@pytest.mark.parametrize("number", ["1e39", "-1"])
@pytest.mark.parametrize("key", KEYS)
def test_a_quantity_far_out_is_refused_by_its_key(key: str, number: str, tmp_path: Path) -> None:
    point = copy.deepcopy(POINT)
    *path, last = key.split(".")
    inner = point
    for name in path:
        inner = inner.setdefault(name, {})
    inner[last] = f"{number} {KEYS[key].dimension.base}"
    file = tmp_path / "point.yaml"
    file.write_text(json.dumps(point))
    with pytest.raises(InputError) as refused:
        load_point(file)
    assert refused.value.key == key, str(refused.value)
