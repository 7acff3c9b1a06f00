"""Whatever stands in a file, the answer is a result or one line; never a traceback."""

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from tests.fuzz.draw import places
from tramontane.errors import InputError
from tramontane.study import validate_file

# Coverage would take most of the time, and see nothing that other tests don't execute.
pytestmark = pytest.mark.no_cover

ROOT = Path(__file__).parents[2]
FILES = [
    "configs/experiments/fig05a-alltoall-algorithms.yaml",
    "configs/experiments/fig09a-halo-widths.yaml",
    "configs/machines/torus-S.yaml",
]
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, 0, -1, 3, 2.5, 1e300, 10**30, "", "x", "$machine", "$nothing", "a.b", "10 GB/s", "ranks > 3"),
        *("ranks >", [], [1], ["x"], [[1, 2]], [None], [{}], {}, {"a": 1}, {"decades": [1, 100]}, {"decades": 3}),
        *({"decades": [1, 10**30]}, {"name": 3}, {"name": "torus-S"}, {"kind": "halo"}, {"kind": []}, {"": 1}, "\n"),
        *("é", {"machine": {"name": None}}, [10**9, 10**9], [10**9, 10**9, 10**9]),
    ]
)


def read(path: Path) -> dict[str, Any]:
    return dict(YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8")))


def broken(data: dict[str, Any], draw: Any) -> dict[str, Any]:
    """Replace, remove, add or rename something anywhere."""
    result = copy.deepcopy(data)
    *outer, last = draw(st.sampled_from(places(result)))
    node: Any = result
    for key in outer:
        node = node[key]
    action = draw(st.sampled_from(["replace", "remove", "add", "rename"]))
    if action == "replace" or not isinstance(node, dict):
        node[last] = draw(ODD)
    elif action == "remove":
        del node[last]
    elif action == "add":
        node[draw(st.sampled_from(["x", "ranks", "machine", "workload.radix", "a.b.c", "machine.link", "1"]))] = draw(
            ODD
        )
    else:
        node[f"{last}x"] = node.pop(last)
    return result


def refusal(file: Path) -> str | None:
    """Return the line that refuses a file; None if it is valid."""
    try:
        validate_file(file)
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", [*FILES, "point"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_broken_files_end_in_one_line(name: str, tmp_path: Path, sample: str, data: st.DataObject) -> None:
    content = YAML(typ="safe", pure=True).load(sample) if name == "point" else read(ROOT / name)
    for _ in range(data.draw(st.integers(1, 3))):
        content = broken(content, data.draw) if places(content) else content
    folder = tmp_path / "configs" / name.split("/")[1] if "/" in name else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "configs/machines/base.yaml", folder)
    file = folder / f"{Path(name).stem}.yaml"
    file.write_text(json.dumps(content), encoding="utf-8")
    line = refusal(file)
    assert line is None or ("\n" not in line and "allowed: " in line)
