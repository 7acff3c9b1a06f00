"""Points from Python: ``tramontane.simulate``."""

import ast
import os
import pydoc
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tramontane
from tramontane.errors import InputError
from tramontane.study import load_point
from tramontane.substrates.isolation import PointError
from tramontane.substrates.single import TooLargeError

POINT: dict[str, Any] = {
    "ranks": 64,
    "machine": "torus-S",
    "workload": {"kind": "transposition", "algorithm": "ring-k", "radix": 4, "grid": [64, 64, 16]},
}


def test_a_point_is_a_mapping_a_file_or_a_point(tmp_path: Path) -> None:
    file = tmp_path / "point.yaml"
    file.write_text(str(POINT).replace("'", ""), encoding="utf-8")
    results = [tramontane.simulate(given) for given in (POINT, file, str(file), load_point(file))]
    assert len({result.id for result in results}) == 1
    assert len({result.time_s for result in results}) == 1
    assert results[0].data["messages"] == results[0].messages
    assert results[0].messages is not None


def test_numbers_and_arrays_of_numpy_stand_for_numbers_and_lists() -> None:
    workload = {**POINT["workload"], "radix": np.uint8(4), "grid": np.array([64, 64, 16])}
    given = {**POINT, "ranks": np.int64(64), "seed": np.array(1), "workload": workload}
    assert tramontane.simulate(given, threads=np.int64(2)).id == tramontane.simulate({**POINT, "seed": 1}).id
    with pytest.raises(InputError, match="ranks: found true; allowed: a whole number, 1 or more"):
        tramontane.simulate({**POINT, "ranks": np.bool_(True)})


def test_a_path_stands_for_its_text(tmp_path: Path) -> None:
    table = tmp_path / "halo.csv"
    table.write_text("source,target,bytes\n0,1,8\n")
    of_path, of_text = ({**POINT, "workload": {"kind": "pattern", "file": file}} for file in (table, str(table)))
    assert tramontane.simulate(of_path).id == tramontane.simulate(of_text).id


def with_key(key: object) -> dict[Any, Any]:
    keys: dict[Any, Any] = {key: 6}
    return keys | POINT


def deep(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(levels):
        found = {"a": found}
    return found


ENDLESS: dict[str, Any] = {**POINT, "seed": []}
ENDLESS["seed"].append(ENDLESS)


def test_the_result_has_the_dataset_of_a_campaign() -> None:
    result = tramontane.simulate({**POINT, "statistics": {"links": "by-class"}})
    dataset = result.dataset
    assert dataset["time_s"].item() == result.time_s
    assert dataset["time_s"].attrs["units"] == "s"
    assert dict(zip(dataset["phase"].values.tolist(), dataset["phase_time_s"].values.tolist(), strict=True)) == (
        result.phases
    )
    assert "dimension-1" in dataset["link"].values


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({**POINT, "machine": "torus-SS"}, "point: machine: found machine 'torus-SS'; did you mean 'torus-S'?"),
        ({"rnks": 3}, "point: rnks: unknown key 'rnks'; did you mean 'ranks'?"),
        ("nowhere.yaml", "nowhere.yaml: no such file"),
        (with_key(5), "point: 5: unknown key '5'; allowed: ranks, workload"),
        (with_key((1, 2)), "point: (top level): found key [1, 2]; allowed: keys that are words"),
        ({**POINT, "workload": {None: 6}}, "point: workload: found key nothing; allowed: keys that are words"),
        (ENDLESS, "point: seed[0].seed[0]"),
        ({**POINT, "workload": deep(500)}, "point: workload.a.a"),
        ({**POINT, "machine": {"name": "torus-S", "packet": {4}}}, "point: machine.packet: found {4}; allowed: "),
        (None, "point: found nothing; allowed: a Point, a mapping, or the path of a file"),
        (5, "point: found 5; allowed: a Point, a mapping, or the path of a file"),
        ([1], "point: found [1]; allowed: a Point, a mapping, or the path of a file"),
        (b"abc", "point: found b'abc'; allowed: a Point, a mapping, or the path of a file"),
    ],
)
def test_bad_points_are_one_line(given: Any, told: str) -> None:
    with pytest.raises(InputError) as error:
        tramontane.simulate(given)
    assert str(error.value).startswith(told)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("threads", [0, 65, 2.5, "2", None, True, 10**30])
def test_threads_are_a_whole_number(threads: Any) -> None:
    with pytest.raises(InputError, match=r"simulate: threads: found .*; allowed: a whole number, 1 to 64"):
        tramontane.simulate(POINT, threads=threads)


def test_another_substrate_for_a_point_may_be_a_mistake_too(tmp_path: Path) -> None:
    file = tmp_path / "point.yaml"
    file.write_text(str(POINT).replace("'", ""), encoding="utf-8")
    with pytest.raises(InputError, match="point: substrate: found 'nope'; allowed: simulator"):
        tramontane.simulate(load_point(file), substrate="nope")


def test_a_working_directory_that_is_gone_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(InputError, match="working directory: No such file or directory; allowed: one that exists"):
        tramontane.simulate(POINT)


def test_errors_are_the_package_s_own() -> None:
    with pytest.raises(tramontane.InputError):
        tramontane.simulate(None)
    assert (tramontane.PointError, tramontane.TooLargeError) == (PointError, TooLargeError)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = tramontane.Nothing


def test_notebooks_complete_what_is_not_imported_yet() -> None:
    code = "import tramontane; print(*dir(tramontane))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"simulate", "Result", "InputError", "PointError", "TooLargeError"} <= set(done.stdout.split())


def test_help_shows_what_the_package_offers() -> None:
    shown = pydoc.plain(pydoc.render_doc(tramontane))
    for name in ("simulate(point", "class Result", "class InputError", "class PointError", "class TooLargeError"):
        assert name in shown


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys, tramontane; print([name for name in sys.modules if name.startswith('tramontane.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = tramontane.simulat


@pytest.mark.long
def test_type_checkers_know_what_a_user_imports(tmp_path: Path) -> None:
    """The package imports it only when it is asked for."""
    script = tmp_path / "users.py"
    script.write_text(
        "import tramontane\n"
        "from tramontane import InputError, simulate\n"
        "time: float = tramontane.simulate('point.yaml').time_s\n"
        "simulate('point.yaml', treads=2)\n"
        "tramontane.simulate('point.yaml').tine_s\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", script.name],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(Path(tramontane.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    mistakes = [line.partition(": error: ")[2] for line in done.stdout.splitlines() if ": error: " in line]
    assert len(mistakes) == 2, done.stdout
    assert '"treads"' in mistakes[0]
    assert '"tine_s"' in mistakes[1]
    stub = ast.parse(Path(tramontane.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    told = {alias.name: node.module for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert told == vars(tramontane)["_MODULES"]
