"""The closed-form model of the predictions, on made-up rows whose costs are known."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model() -> ModuleType:
    spec = importlib.util.spec_from_file_location("predict_measured", ROOT / "validation" / "predict_measured.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(nodes: int) -> pd.DataFrame:
    sizes = [4, 64, 1024, 16384, 262144, 4194304]
    return pd.DataFrame(
        {
            "machine": "mare_nostrum",
            "shape": str(nodes),
            "nodes": nodes,
            "operation": "alltoall",
            "algorithm": "pairwise",
            "bytes": sizes,
        }
    )


def test_known_costs_at_another_size(model: ModuleType) -> None:
    def truth(table: pd.DataFrame) -> np.ndarray:
        nodes, size = table.nodes.to_numpy(dtype=float), table.bytes.to_numpy(dtype=float)
        return np.asarray((nodes - 1) * (2.0 + 0.01 * np.sqrt(size) + 1e-4 * size))

    given, wanted = rows(16), rows(64)
    given["median_us"] = truth(given)
    np.testing.assert_allclose(model.predict(given, wanted), truth(wanted), rtol=0.1)


def test_no_prediction_without_a_row_of_the_algorithm(model: ModuleType) -> None:
    given = rows(16).assign(median_us=1.0)
    assert model.predict(given, rows(64).assign(algorithm="bruck")).isna().all()


@pytest.mark.parametrize(
    ("shape", "nodes", "sides"),
    [("4x4x4", 64, [4, 4, 4]), ("64x64", 4096, [16, 16, 16]), ("32x256", 8192, [16, 16, 32])],
)
def test_folding(model: ModuleType, shape: str, nodes: int, sides: list[int]) -> None:
    assert model.sides(shape, nodes) == sides
