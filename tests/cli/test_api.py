"""Points from Python: ``tramontane.simulate``."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tramontane
from tramontane.errors import InputError
from tramontane.study import load_point

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
    ],
)
def test_bad_points_are_one_line(given: Any, told: str) -> None:
    with pytest.raises(InputError) as error:
        tramontane.simulate(given)
    assert str(error.value).startswith(told)
    assert "\n" not in str(error.value)


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys, tramontane; print([name for name in sys.modules if name.startswith('tramontane.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = tramontane.simulat
