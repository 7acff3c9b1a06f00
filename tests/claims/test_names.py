"""What statements name has to exist: each misspelt name is one line."""

import shutil
from pathlib import Path

import pytest

from tramontane.errors import InputError
from tramontane.study import validate_file

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("file", "old", "new", "line"),
    [
        (
            "zheng2018",
            "of: burst, than: ring-4}",
            "of: brust, than: ring-4}",
            "claims.Z-5a-3.checks[0].of: found 'brust'; did you mean 'burst'? allowed: a coordinate of series:",
        ),
        (
            "zheng2018",
            "service: round-robin}",
            "servise: round-robin}",
            "claims.Z-5a-2.choices: found '$service'; did you mean 'servise'? allowed: a name that a choice gives",
        ),
        (
            "zheng2018",
            "{experiment: fig05b-topologies}",
            "{experiment: fig05b-topologies, spare: x}",
            "claims.Z-5b.choices.the first nodes and our base parameters: found 'spare'; allowed: a name that is",
        ),
        (
            "zheng2018",
            "experiment: sensitivity-05a-service-order,",
            "experiment: sensitivity-05a-service,",
            "claims.Z-5a-2.experiment: found 'sensitivity-05a-service'; did you mean 'sensitivity-05a-service-order'?",
        ),
        (
            "brown2018",
            "of: messages, than: PSCW",
            "of: message, than: PSCW",
            ".of: found 'message'; did you mean 'messages'? allowed: a curve:",
        ),
        (
            "timestep",
            "network: torus, series: spectral",
            "net: torus, series: spectral",
            "claims.T-1.curves.spectral, torus.select: found 'net'; did you mean 'network'? allowed: a dimension:",
        ),
    ],
)
def test_a_name_that_is_not_there_is_one_line(tmp_path: Path, file: str, old: str, new: str, line: str) -> None:
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    path = tmp_path / "configs" / "claims" / f"{file}.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(InputError) as caught:
        validate_file(path)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)
